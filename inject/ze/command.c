// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "command.h"
#include "completion.h"
#include "objects.h"

/* Lowest bits of the word that the begin of a call leaves for its end. */
#define RECORDED 1ul
#define NODE	 2ul /* the command stays in a list, recorded or not */
#define BITS	 (RECORDED | NODE)

static struct inject_function functions[] = {
#define FUNCTION(name, class) [INJECT_##name] = { #name, class, 0 },
	INJECT_ZE_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* False: not recorded. */
static bool begin_call(enum inject_ze_function function, uint32_t context)
{
	struct inject_thread *thread = inject_session_takes_calls() ?
					       inject_call_enter(&functions[function], context) :
					       NULL;

	if (thread)
		inject_thread_leave(thread);
	return thread;
}

/* Writes the record of the call. */
static void finish_call(struct inject_thread *thread, ze_result_t result)
{
	inject_call_finish_here(thread, inject_now(), (int32_t)result);
}

/* Whether the call that ends is the one that began: another capture may have begun since. */
static bool is_recorded(struct inject_thread *thread, void *mine)
{
	return (uintptr_t)mine & RECORDED && inject_call_ends(thread, thread->call.correlation);
}

static bool wants_times(void)
{
	return !(inject_session.record & GPUMON_RECORD_NO_TIMES);
}

static void *mine_of(const void *object, bool is_call, bool is_node)
{
	return (void *)((uintptr_t)object | (is_call ? RECORDED : 0) | (is_node ? NODE : 0));
}

static void *object_of(void *mine)
{
	return (void *)((uintptr_t)mine & ~BITS);
}

void inject_ze_append_begin(enum inject_ze_function function, ze_command_list_handle_t handle,
			    ze_event_handle_t *signal, void **mine)
{
	struct inject_ze_their_event *theirs;
	struct inject_ze_event *own = NULL;
	struct inject_ze_list *list;
	bool is_call;
	int kept;

	*mine = NULL;
	list = inject_ze_list_find(handle);
	if (!atomic_load_explicit(&inject_session.is_open, memory_order_acquire)) {
		/* A capture that begins later sees it run. */
		*mine = mine_of(NULL, false, list && !list->queue);
		return;
	}
	if (!inject_call_is_asked_for(functions[function].class))
		return;
	kept = errno;
	is_call = begin_call(function, list ? list->context->id : INJECT_ZE_ID(0));
	/* Commands of a list may run in a window that is still to come. */
	if (list && wants_times() && (is_call || !list->queue)) {
		if (!*signal) {
			own = inject_ze_event_take(list->context);
			*signal = own ? own->handle : NULL;
		} else {
			theirs = inject_ze_their_event_find(*signal);
			/* Used again without a reset. */
			if (theirs && atomic_load(&theirs->waited))
				inject_ze_completion_their_event(theirs);
		}
	}
	*mine = mine_of(own, is_call, list && !list->queue);
	errno = kept;
}

/* Place at which the driver will write the times. */
static void set_signal(struct inject_ze_command *command, ze_event_handle_t signal,
		       struct inject_ze_event *own)
{
	struct inject_ze_their_event *theirs = own || !signal ? NULL :
								inject_ze_their_event_find(signal);

	command->own = own;
	if (theirs && theirs->is_timed) {
		command->theirs = theirs;
		command->version = atomic_load(&theirs->version);
	}
	if (own || command->theirs)
		command->signal = signal;
}

static void add_node(struct inject_thread *thread, struct inject_ze_list *list,
		     const struct inject_ze_command *command, bool is_call)
{
	struct gpumon_record_graph_node record = {
		.head = { .type = GPUMON_RECORD_GRAPH_NODE, .size = sizeof(record) },
		.graph = list->id,
	};
	struct inject_ze_node *node = inject_ze_node_add(list);
	struct inject_call *call;

	if (!node) {
		if (thread)
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
		return;
	}
	node->command = *command;
	if (command->theirs)
		atomic_store(&command->theirs->is_in_list, true);
	if (!thread)
		return;
	call = &thread->call;
	record.node = node->id;
	if (is_call) {
		/* Each execution of the list has this stack, so --sample does not leave it out. */
		if (call->is_unsampled)
			call->stack = inject_call_path(thread);
		call->is_unsampled = false;
		call->is_captured = true;
		record.stack = call->stack;
	} else if (inject_session.record & GPUMON_RECORD_STACKS) {
		record.stack = inject_call_path(thread);
	}
	inject_append(thread, &record);
}

static void add_command(struct inject_thread *thread, struct inject_ze_list *list,
			const struct inject_ze_command *command)
{
	const struct inject_ze_pending pending = {
		.queue = list->queue,
		.command = *command,
		.begin_ns = thread->call.start_ns,
		.correlation = thread->call.correlation,
	};

	if (atomic_load_explicit(&list->queue->generation, memory_order_relaxed) !=
	    atomic_load_explicit(&inject_session.generation, memory_order_relaxed))
		inject_ze_records_queue(thread, list->queue);
	if (command->theirs)
		atomic_fetch_add(&command->theirs->waited, 1);
	if (!inject_ze_pending_add(&pending) && command->theirs)
		atomic_fetch_sub(&command->theirs->waited, 1);
}

void inject_ze_append_end(ze_command_list_handle_t handle, ze_event_handle_t signal,
			  ze_result_t result, const struct inject_ze_command *described, void *mine)
{
	struct inject_ze_event *own = object_of(mine);
	struct inject_ze_command command = *described;
	struct inject_ze_list *list;
	struct inject_thread *thread;
	int kept = errno;
	bool is_call;

	list = inject_ze_list_find(handle);
	thread = inject_thread_enter(true);
	is_call = thread && is_recorded(thread, mine);
	set_signal(&command, signal, own);
	if (result == ZE_RESULT_SUCCESS && list && !list->queue)
		add_node(thread, list, &command, is_call);
	else if (result == ZE_RESULT_SUCCESS && list && is_call)
		add_command(thread, list, &command);
	else if (result == ZE_RESULT_SUCCESS && is_call)
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
	if (is_call && list && list->queue && list->queue->is_synchronous)
		thread->call.class |= INJECT_CLASS_WAITS;
	if (is_call && command.record == GPUMON_RECORD_KERNEL && command.name)
		thread->call.name =
			inject_string_again(thread, &command.name->id, command.name->text);
	if (is_call)
		finish_call(thread, result);
	if (thread)
		inject_thread_leave(thread);
	if (result != ZE_RESULT_SUCCESS && own)
		inject_ze_event_give_back(own);
	if (is_call && list && list->queue && list->queue->is_synchronous)
		inject_ze_completion_after_wait(NULL);
	errno = kept;
}

void inject_ze_execute_begin(ze_command_queue_handle_t handle, uint32_t count,
			     ze_command_list_handle_t *lists, ze_fence_handle_t *fence, void **mine)
{
	struct inject_ze_queue *queue;
	struct inject_ze_fence *own = NULL;
	struct inject_ze_list *list;
	bool is_call, is_known = false;
	uint32_t i;
	int kept;

	*mine = NULL;
	if (!atomic_load_explicit(&inject_session.is_open, memory_order_acquire))
		return;
	kept = errno;
	queue = inject_ze_queue_find(handle);
	is_call = begin_call(INJECT_zeCommandQueueExecuteCommandLists,
			     queue ? queue->context->id : INJECT_ZE_ID(0));
	/* Times of earlier executions that were not read yet may change from now on. */
	for (i = 0; lists && i < count; i++) {
		list = inject_ze_list_find(lists[i]);
		if (!list)
			continue;
		is_known = true;
		atomic_fetch_add(&list->executions, 1);
	}
	/* If no list waited for the fence, it would be given back while it is in use. */
	if (queue && is_call && is_known && !*fence && wants_times()) {
		own = inject_ze_fence_take(queue);
		*fence = own ? own->handle : NULL;
	}
	*mine = mine_of(own, is_call, false);
	errno = kept;
}

static void add_executions(struct inject_thread *thread, struct inject_ze_queue *queue,
			   uint32_t count, ze_command_list_handle_t *lists, ze_fence_handle_t fence,
			   struct inject_ze_fence *own)
{
	struct inject_ze_pending pending = {
		.queue = queue,
		.fence = fence,
		.own_fence = own,
		.begin_ns = thread->call.start_ns,
		.correlation = thread->call.correlation,
	};
	uint32_t i;

	if (atomic_load_explicit(&queue->generation, memory_order_relaxed) !=
	    atomic_load_explicit(&inject_session.generation, memory_order_relaxed))
		inject_ze_records_queue(thread, queue);
	/* Holds the fence until all lists have been added. */
	if (own)
		atomic_store(&own->waited, 1);
	for (i = 0; i < count; i++) {
		pending.list = inject_ze_list_find(lists[i]);
		if (!pending.list) {
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
			continue;
		}
		if (!thread->call.graph)
			thread->call.graph = pending.list->id;
		pending.execution = atomic_fetch_add(&pending.list->executions, 1) + 1;
		if (own)
			atomic_fetch_add(&own->waited, 1);
		if (inject_ze_pending_add(&pending))
			atomic_fetch_add(&inject_ze_executions, 1);
		else if (own)
			atomic_fetch_sub(&own->waited, 1);
	}
	if (own)
		inject_ze_fence_done(own);
}

void inject_ze_execute_end(ze_command_queue_handle_t handle, uint32_t count,
			   ze_command_list_handle_t *lists, ze_fence_handle_t fence,
			   ze_result_t result, void *mine)
{
	struct inject_ze_fence *own = object_of(mine);
	struct inject_ze_queue *queue;
	struct inject_thread *thread;
	int kept;

	if (!mine)
		return;
	kept = errno;
	queue = inject_ze_queue_find(handle);
	thread = inject_thread_enter(true);
	if (thread) {
		if (is_recorded(thread, mine)) {
			if (result == ZE_RESULT_SUCCESS && queue)
				add_executions(thread, queue, count, lists, fence, own);
			if (queue && queue->is_synchronous)
				thread->call.class |= INJECT_CLASS_WAITS;
			finish_call(thread, result);
		}
		inject_thread_leave(thread);
	}
	if (result != ZE_RESULT_SUCCESS && own)
		inject_ze_fence_give_back(own);
	if (result == ZE_RESULT_SUCCESS && queue && queue->is_synchronous)
		inject_ze_completion_after_wait(queue);
	errno = kept;
}

void inject_ze_other_begin(enum inject_ze_function function, void **mine)
{
	int kept = errno;

	*mine = NULL;
	if (inject_call_is_wanted(functions[function].class))
		*mine = mine_of(NULL, begin_call(function, INJECT_ZE_ID(0)), false);
	errno = kept;
}

/* With no time to wait it is a question, which a program may ask again and again. */
void inject_ze_wait_begin(enum inject_ze_function function, uint64_t timeout, void **mine)
{
	*mine = NULL;
	if (timeout || inject_session.record & GPUMON_RECORD_ALL_CALLS)
		inject_ze_other_begin(function, mine);
}

void inject_ze_other_end(void *mine)
{
	struct inject_thread *thread = mine ? inject_thread_enter(true) : NULL;
	int kept = errno;

	if (thread && is_recorded(thread, mine))
		finish_call(thread, ZE_RESULT_SUCCESS);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

void inject_ze_list_empty(struct inject_ze_list *list)
{
	uint32_t i;

	for (i = 0; i < list->node_count; i++)
		if (list->nodes[i].command.own)
			inject_ze_event_give_back(list->nodes[i].command.own);
	list->node_count = 0;
}
