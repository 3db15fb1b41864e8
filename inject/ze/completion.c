// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "command.h"
#include "completion.h"
#include "session/session.h"

/* A time of a driver may be later than now by this much. */
#define FUTURE_NS 1000000u

/* The shortest of so many is taken. */
#define TRIES 3

static uint64_t looks;

/* Clocks of devices are measured again from now on. One thread at a time, here and below. */
static void begin_look(void)
{
	looks++;
}

static uint64_t to_ns(const struct inject_ze_device *device, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000000 / device->hertz);
}

/* Asks for the device's time; the middle of the call is the host's. */
static bool measure_clock(struct inject_ze_device *device)
{
	uint64_t best = UINT64_MAX, before, after, host, now;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		before = inject_now();
		if (inject_ze.zeDeviceGetGlobalTimestamps(device->handle, &host, &now) !=
		    ZE_RESULT_SUCCESS)
			return false;
		after = inject_now();
		if (after - before >= best)
			continue;
		best = after - before;
		device->now_cycles = now & device->time_mask;
		device->now_ns = before + best / 2;
	}
	device->measured = looks;
	inject_clock_set(&device->clock,
			 (int64_t)(device->now_ns - to_ns(device, device->now_cycles)),
			 best / 2 + to_ns(device, 1) + 1);
	return true;
}

/* How many cycles ago. A time after the device's last one was measured is no time long ago. */
static bool find_age(struct inject_ze_device *device, uint64_t cycles, uint64_t *age)
{
	if (device->measured != looks && !measure_clock(device))
		return false;
	*age = (device->now_cycles - cycles) & device->kernel_mask;
	if (*age <= device->kernel_mask / 2)
		return true;
	if (!measure_clock(device))
		return false;
	*age = (device->now_cycles - cycles) & device->kernel_mask;
	return true;
}

/**
 * find_times - times of an event that was signalled
 * @device: that did it
 * @event: of the driver
 * @begin_ns: begin of the call that it is of
 * @times: set, with flags where they are not known or not possible
 */
static void find_times(struct inject_ze_device *device, ze_event_handle_t event, uint64_t begin_ns,
		       struct inject_times *times)
{
	ze_kernel_timestamp_result_t result = { 0 };
	uint64_t start, end, age, ago, took;

	*times = (struct inject_times){ .flags = GPUMON_WORK_UNTIMED };
	if (!device->hertz ||
	    inject_ze.zeEventQueryKernelTimestamp(event, &result) != ZE_RESULT_SUCCESS)
		return;
	start = result.global.kernelStart & device->kernel_mask;
	end = result.global.kernelEnd & device->kernel_mask;
	if ((!start && !end) || !find_age(device, end, &age))
		return;
	times->flags = GPUMON_WORK_BAD_TIMES;
	ago = to_ns(device, age);
	took = to_ns(device, (end - start) & device->kernel_mask);
	/* Long ago, or an end before its start, which is a very long time. */
	if (ago >= device->now_ns || took >= device->now_ns - ago)
		return;
	end = device->now_ns - ago;
	start = end - took;
	if (start + device->clock.error + FUTURE_NS < begin_ns)
		return;
	*times = (struct inject_times){ .start = start, .end = end };
}

/* After a wait of the program, commands that have not ended are asked for so often. */
#define COMMAND_TRIES 64

/* Taken by the library's thread, and by the program's where it destroys something. */
static struct inject_guard completing = INJECT_GUARD;
static struct inject_ze_pending *waiting;
static size_t waiting_count, waiting_room, holes;

/* Operations of lists that were executed again before their times had been read. */
static uint64_t overtaken;

static void take_all(void)
{
	const struct inject_ze_pending *more;
	size_t count;

	more = inject_ze_pending_take(&count);
	if (!count)
		return;
	if (!inject_grow((void **)&waiting, &waiting_room, waiting_count + count,
			 sizeof(*waiting))) {
		if (atomic_load(&inject_session.is_open))
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, count);
		return;
	}
	memcpy(waiting + waiting_count, more, count * sizeof(*more));
	waiting_count += count;
}

static uint32_t name_id(struct inject_thread *thread, struct inject_ze_name *name)
{
	return name ? inject_string_again(thread, &name->id, name->text) :
		      inject_intern_string(thread, "[unknown kernel]");
}

static void write_operation(struct inject_thread *thread, const struct inject_ze_pending *pending,
			    const struct inject_ze_node *node, const struct inject_times *times,
			    struct inject_totals *totals)
{
	const struct inject_ze_command *command = node ? &node->command : &pending->command;
	struct inject_operation operation = {
		.correlation = pending->correlation,
		.device = pending->queue->device->id,
		.context = pending->queue->context->id,
		.stream = pending->queue->id,
		.graph = node ? pending->list->id : 0,
		.node = node ? node->id : 0,
		.bytes = command->bytes,
		.record = command->record,
		.from = command->from,
		.to = command->to,
	};
	unsigned int i;

	if (!thread)
		return;
	operation.name = command->record == GPUMON_RECORD_KERNEL ? name_id(thread, command->name) :
								   command->value;
	for (i = 0; i < 3; i++) {
		operation.grid[i] = command->grid[i];
		operation.local[i] = command->local[i];
		operation.global[i] = (uint64_t)command->grid[i] * command->local[i];
	}
	inject_operation_write(thread, &operation, times, totals);
}

/* False: no event, or one that the program has destroyed. */
static bool has_signal(const struct inject_ze_command *command)
{
	return command->signal &&
	       (!command->theirs || atomic_load(&command->theirs->version) == command->version);
}

static bool has_ended(const struct inject_ze_pending *pending, uint16_t *flags)
{
	ze_result_t result = ZE_RESULT_SUCCESS;

	if (inject_session.record & GPUMON_RECORD_NO_TIMES) {
		*flags = GPUMON_WORK_UNTIMED;
		return true;
	}
	if (pending->is_done)
		return true;
	if (!pending->list) {
		if (has_signal(&pending->command))
			result = inject_ze.zeEventQueryStatus(pending->command.signal);
	} else {
		if (!pending->fence)
			return false;
		result = inject_ze.zeFenceQueryStatus(pending->fence);
	}
	if (result == ZE_RESULT_NOT_READY)
		return false;
	if (result != ZE_RESULT_SUCCESS)
		*flags = GPUMON_WORK_FAILED;
	return true;
}

static void ask_times(const struct inject_ze_pending *pending,
		      const struct inject_ze_command *command, struct inject_times *times)
{
	*times = (struct inject_times){ .flags = GPUMON_WORK_UNTIMED };
	if (has_signal(command))
		find_times(pending->queue->device, command->signal, pending->begin_ns, times);
}

static void write_execution(struct inject_thread *thread, const struct inject_ze_pending *pending,
			    uint16_t flags, struct inject_totals *totals)
{
	struct inject_ze_list *list = pending->list;
	struct inject_times times;
	uint32_t i;

	for (i = 0; i < list->node_count; i++) {
		times = (struct inject_times){ .flags = flags };
		if (!flags && atomic_load(&list->executions) == pending->execution)
			ask_times(pending, &list->nodes[i].command, &times);
		/* Executed again: before they were read, or meanwhile. */
		if (!flags && atomic_load(&list->executions) != pending->execution) {
			times = (struct inject_times){ .flags = GPUMON_WORK_UNTIMED };
			overtaken++;
		}
		write_operation(thread, pending, &list->nodes[i], &times, totals);
	}
}

/* Writes what is known of an operation by now, and gives its event or fence back. */
static void end_pending(struct inject_thread *thread, const struct inject_ze_pending *pending,
			uint16_t flags, struct inject_totals *totals)
{
	const struct inject_ze_command *command = &pending->command;
	struct inject_times times = { .flags = flags };

	if (pending->list) {
		atomic_fetch_sub(&inject_ze_executions, 1);
		write_execution(thread, pending, flags, totals);
		if (pending->own_fence && !(flags & GPUMON_WORK_UNFINISHED))
			inject_ze_fence_done(pending->own_fence);
	} else {
		if (!flags)
			ask_times(pending, command, &times);
		write_operation(thread, pending, NULL, &times, totals);
		if (command->theirs)
			atomic_fetch_sub(&command->theirs->waited, 1);
		/* An event that is still to be signalled cannot be used for another command. */
		if (command->own && !(flags & GPUMON_WORK_UNFINISHED))
			inject_ze_event_give_back(command->own);
	}
	if (thread)
		inject_clock_write(thread, &pending->queue->device->clock,
				   pending->queue->device->id);
}

static bool is_any(const struct inject_ze_pending *pending, const void *argument)
{
	(void)pending;
	(void)argument;
	return true;
}

/**
 * end_if_chosen - write one of @waiting, if a call of the program is about it
 * @thread: caller, or NULL
 * @pending: it may have no queue any more: it was written
 * @is_chosen: whether @argument is about it; others are not asked for, as there may be many
 * @flags: for one that has not ended: it is written without times. 0: it stays
 * @totals: that it is added to
 *
 * Return: false if it stays.
 */
static bool end_if_chosen(struct inject_thread *thread, const struct inject_ze_pending *pending,
			  bool (*is_chosen)(const struct inject_ze_pending *pending,
					    const void *argument),
			  const void *argument, uint16_t flags, struct inject_totals *totals)
{
	uint16_t failed = 0;

	if (!pending->queue)
		return true;
	if (!is_chosen(pending, argument))
		return false;
	if (has_ended(pending, &failed))
		flags = failed;
	else if (!flags)
		return false;
	end_pending(thread, pending, flags, totals);
	return true;
}

/* Takes all chosen commands off the list, under the lock, which makes room. */
static void look_at_all(struct inject_thread *thread,
			bool (*is_chosen)(const struct inject_ze_pending *pending,
					  const void *argument),
			const void *argument, uint16_t flags)
{
	struct inject_totals totals = { 0 };
	size_t i, kept = 0;

	take_all();
	begin_look();
	for (i = 0; i < waiting_count; i++)
		if (!end_if_chosen(thread, &waiting[i], is_chosen, argument, flags, &totals))
			waiting[kept++] = waiting[i];
	waiting_count = kept;
	holes = 0;
	if (thread)
		inject_totals_add(&totals);
}

/* An entry that was written leaves a hole in front of later ones that have not ended. */
static void make_hole(size_t at)
{
	holes += waiting[at].queue != NULL;
	waiting[at].queue = NULL;
}

/* Moves the rest together if it is behind everything else, or half of all. */
static void close_holes(void)
{
	size_t i, kept = 0;

	for (; waiting_count && !waiting[waiting_count - 1].queue; holes--)
		waiting_count--;
	if (holes <= waiting_count / 2)
		return;
	for (i = 0; i < waiting_count; i++)
		if (waiting[i].queue)
			waiting[kept++] = waiting[i];
	waiting_count = kept;
	holes = 0;
}

/*
 * Looks at the commands from the last one on, until @left says that there is no other: a program
 * waits for the command that it has launched just now, and the older ones may be many thousand by
 * the next look at all.
 */
static void look_at_last(struct inject_thread *thread,
			 bool (*is_chosen)(const struct inject_ze_pending *pending,
					   const void *argument),
			 const void *argument, uint16_t flags, const _Atomic uint32_t *left)
{
	struct inject_totals totals = { 0 };
	size_t i;

	take_all();
	begin_look();
	for (i = waiting_count; i-- > 0 && atomic_load(left);)
		if (end_if_chosen(thread, &waiting[i], is_chosen, argument, flags, &totals))
			make_hole(i);
	close_holes();
	if (thread)
		inject_totals_add(&totals);
}

void inject_ze_completion_look(struct inject_thread *thread)
{
	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_all(thread, is_any, NULL, 0);
	inject_guard_give(&completing);
}

void inject_ze_completion_end(struct inject_thread *thread, unsigned int settle_ms)
{
	uint64_t until = inject_now() + settle_ms * 1000000ull;

	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_all(thread, is_any, NULL, 0);
	while (thread && waiting_count && inject_now() < until) {
		inject_sleep(10000000);
		look_at_all(thread, is_any, NULL, 0);
	}
	look_at_all(thread, is_any, NULL, GPUMON_WORK_UNFINISHED);
	if (thread && overtaken)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"%llu operations of command lists have no times: their list was executed again before they could be read",
			(unsigned long long)overtaken);
	overtaken = 0;
	inject_guard_give(&completing);
}

/* False: a signal handler that interrupts this library writes nothing. */
static bool begin_in_program(struct inject_thread **thread)
{
	*thread = inject_thread_enter(true);
	return (*thread || (inject_self && !atomic_load(&inject_self->inside))) &&
	       inject_guard_take(&completing, INJECT_FOR_EVER);
}

static void end_in_program(struct inject_thread *thread)
{
	inject_guard_give(&completing);
	if (thread)
		inject_thread_leave(thread);
}

static bool is_of(const struct inject_ze_pending *pending, const void *gone)
{
	return pending->queue == gone || pending->list == gone || pending->queue->context == gone;
}

bool inject_ze_completion_before(const void *gone)
{
	struct inject_thread *thread;

	if (!begin_in_program(&thread))
		return false;
	look_at_all(thread, is_of, gone, GPUMON_WORK_UNFINISHED);
	end_in_program(thread);
	return true;
}

/* A command that signals the event is written without times. Lists are asked if they have ended. */
static bool is_for(const struct inject_ze_pending *pending, const void *theirs)
{
	return !pending->list && pending->command.theirs == theirs;
}

static bool is_execution(const struct inject_ze_pending *pending, const void *argument)
{
	(void)argument;
	return pending->list;
}

void inject_ze_completion_their_event(struct inject_ze_their_event *theirs)
{
	struct inject_thread *thread;

	if (!begin_in_program(&thread))
		return;
	look_at_last(thread, is_for, theirs, GPUMON_WORK_UNTIMED, &theirs->waited);
	if (atomic_load(&theirs->is_in_list))
		look_at_last(thread, is_execution, NULL, 0, &inject_ze_executions);
	end_in_program(thread);
}

static bool is_done_by(const struct inject_ze_pending *pending, const void *fence)
{
	return pending->list && !pending->own_fence && pending->fence == fence;
}

/* The program's fence. It may reset only one that was signalled: what it stands for is done. */
void inject_ze_completion_fence(ze_fence_handle_t fence)
{
	struct inject_thread *thread;
	size_t i;

	if (!atomic_load(&inject_ze_executions) || !begin_in_program(&thread))
		return;
	take_all();
	for (i = 0; i < waiting_count; i++)
		if (is_done_by(&waiting[i], fence))
			waiting[i].is_done = true;
	look_at_last(thread, is_done_by, fence, 0, &inject_ze_executions);
	end_in_program(thread);
}

static bool is_command(const struct inject_ze_pending *pending, const void *argument)
{
	(void)argument;
	return !pending->list;
}

/*
 * Commands of immediate lists, the last ones first: the program waits for what it has appended just now. What
 * has ended leaves, so it is asked once; of what has not, so many are asked each time.
 */
static void look_at_last_commands(struct inject_thread *thread)
{
	struct inject_totals totals = { 0 };
	unsigned int tries = COMMAND_TRIES;
	size_t i;

	for (i = waiting_count; i-- > 0 && tries;) {
		if (!waiting[i].queue || waiting[i].list)
			continue;
		if (end_if_chosen(thread, &waiting[i], is_command, NULL, 0, &totals))
			make_hole(i);
		else
			tries--;
	}
	close_holes();
	inject_totals_add(&totals);
}

void inject_ze_completion_after_wait(const struct inject_ze_queue *queue)
{
	struct inject_thread *thread;
	size_t i;

	/* No capture, and nothing of an earlier one. */
	if (!atomic_load_explicit(&inject_session.is_open, memory_order_acquire) &&
	    !atomic_load(&inject_ze_executions))
		return;
	if (!begin_in_program(&thread))
		return;
	take_all();
	for (i = 0; queue && i < waiting_count; i++)
		if (waiting[i].queue == queue && waiting[i].list && !waiting[i].fence)
			waiting[i].is_done = true;
	if (atomic_load(&inject_ze_executions))
		look_at_last(thread, is_execution, NULL, 0, &inject_ze_executions);
	else if (waiting_count)
		begin_look();
	if (thread)
		look_at_last_commands(thread);
	end_in_program(thread);
}

void inject_ze_completion_forked(void)
{
	inject_guard_forked(&completing);
	waiting_count = 0;
	holes = 0;
	overtaken = 0;
}
