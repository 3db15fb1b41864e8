// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <pthread.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/operation.h"
#include "completion.h"
#include "session/session.h"

/* A time of a driver may be later than now by this much, if its clock is not known well. */
#define FUTURE_NS 1000000u

/* How long a thread that asks waits for another one that has the lock, and one in a callback of the driver. */
#define ASK_NS	    10000000u
#define CALLBACK_NS 1000000u

/* From this number of unfinished commands on, a look at all of them takes some time. */
#define MANY 1024

/*
 * How many commands of a queue without order are asked for that have not ended, where the program has waited
 * for others: there may be thousands.
 */
#define TRIES_MAX 64

/*
 * Number of other queues that are looked at, and in each of them of commands that have not ended.
 */
#define OTHERS_MAX   16
#define OTHERS_TRIES 4

/*
 * How long a thread that has waited waits for another one. Not without an end: a program that waits within a
 * callback of its driver, which OpenCL does not allow, may have a lock that the library's thread waits for.
 */
#define WAITED_NS 1000000000u

/* A look at the system's clocks is good for that long. */
#define SAMPLE_NS 10000000u

/**
 * struct inject_opencl_waiting - a command that was read from its block
 * @next: of its queue, or free
 * @kept: the command
 */
struct inject_opencl_waiting {
	struct inject_opencl_waiting *next;
	struct inject_opencl_kept kept;
};

/* Entries are made in pieces of this number, and used again. */
#define PIECE 512

/* The lock protects all of this, and the lists of queues. */
static struct inject_guard completing = INJECT_GUARD;
static struct inject_opencl_waiting *free_entries;
static struct inject_opencl_queue *busy_queues;
static size_t waiting_count;
static uint64_t sample_ns;

static bool make_entries(void)
{
	struct inject_opencl_waiting *piece;
	unsigned int i;

	piece = inject_memory_take(PIECE * sizeof(*piece));
	if (!piece)
		return false;
	for (i = 0; i < PIECE; i++) {
		piece[i].next = free_entries;
		free_entries = &piece[i];
	}
	return true;
}

static bool add_waiting(const struct inject_opencl_kept *kept)
{
	struct inject_opencl_queue *queue = kept->queue;
	struct inject_opencl_waiting *entry;

	if (!free_entries && !make_entries())
		return false;
	entry = free_entries;
	free_entries = entry->next;
	entry->kept = *kept;
	entry->next = NULL;
	if (!queue->waiting)
		queue->waiting_end = &queue->waiting;
	*queue->waiting_end = entry;
	queue->waiting_end = &entry->next;
	if (!queue->is_busy) {
		queue->is_busy = true;
		queue->next_busy = busy_queues;
		busy_queues = queue;
	}
	waiting_count++;
	return true;
}

/* @at: where the list of the queue refers to it. */
static void remove_waiting(struct inject_opencl_queue *queue, struct inject_opencl_waiting **at)
{
	struct inject_opencl_waiting *entry = *at;

	*at = entry->next;
	if (queue->waiting_end == &entry->next)
		queue->waiting_end = at;
	entry->next = free_entries;
	free_entries = entry;
	waiting_count--;
}

/* Without memory the rest stays in its block. */
static bool take_commands(struct inject_opencl_block *block)
{
	uint32_t used = atomic_load_explicit(&block->used, memory_order_acquire);

	for (; block->read < used; block->read++)
		if (!add_waiting(&block->commands[block->read]))
			return false;
	return true;
}

static void take_all_commands(void)
{
	static struct inject_opencl_block *full;
	struct inject_thread *thread;
	struct inject_opencl_block *block;

	while (full || (full = inject_opencl_command_full())) {
		if (!take_commands(full))
			return;
		inject_opencl_command_give_back(full);
		full = NULL;
	}
	for (thread = inject_thread_first(); thread; thread = thread->next) {
		block = __atomic_load_n(&thread->commands, __ATOMIC_ACQUIRE);
		if (block && !take_commands(block))
			return;
	}
}

static uint64_t ask_time(cl_event event, cl_profiling_info what)
{
	cl_ulong time = 0;

	if (inject_opencl.clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL) !=
	    CL_SUCCESS)
		return 0;
	return time;
}

/* An end before its start, a start before its call, an end that is still to come. */
static bool are_possible(const struct inject_opencl_kept *kept, const struct inject_clock *clock,
			 const struct inject_times *device, const struct inject_times *times)
{
	uint64_t error = clock->error < UINT64_MAX / 4 ? clock->error : UINT64_MAX / 4;

	return device->start && device->end >= device->start &&
	       (!device->queued || device->queued <= device->start) && times->end >= times->start &&
	       times->start + error + FUTURE_NS >= kept->begin_ns &&
	       times->end <= inject_now() + error + FUTURE_NS;
}

static void ask_times(const struct inject_opencl_kept *kept, struct inject_times *times)
{
	struct inject_clock *clock = &kept->queue->device->clock;
	struct inject_times device;

	if (!kept->queue->is_timed || inject_session.record & GPUMON_RECORD_NO_TIMES) {
		times->flags = GPUMON_WORK_UNTIMED;
		return;
	}
	device.queued = ask_time(kept->event, CL_PROFILING_COMMAND_QUEUED);
	device.submitted = ask_time(kept->event, CL_PROFILING_COMMAND_SUBMIT);
	device.start = ask_time(kept->event, CL_PROFILING_COMMAND_START);
	device.end = ask_time(kept->event, CL_PROFILING_COMMAND_END);
	if (!device.queued && !device.start && !device.end) {
		times->flags = GPUMON_WORK_UNTIMED;
		return;
	}
	inject_clock_learn(clock, kept->begin_ns, kept->end_ns, device.queued);
	times->queued = inject_clock_convert(clock, device.queued);
	times->submitted = inject_clock_convert(clock, device.submitted);
	times->start = inject_clock_convert(clock, device.start);
	times->end = inject_clock_convert(clock, device.end);
	if (!are_possible(kept, clock, &device, times))
		*times = (struct inject_times){ .flags = GPUMON_WORK_BAD_TIMES };
}

static uint32_t count_groups(uint64_t global, uint32_t local)
{
	uint64_t groups = local ? (global + local - 1) / local : 0;

	return groups <= UINT32_MAX ? (uint32_t)groups : 0;
}

/* Once in a capture, where its program uses them. */
static void say_of_buffers(struct inject_thread *thread)
{
	static _Atomic uint32_t said_in;

	if (!inject_first_in_capture(&said_in))
		return;
	inject_session_note(
		thread, 0,
		"kernels in an OpenCL command buffer have no times of their own, and the buffer has the one that its driver gives: pocl gives that of a marker behind the kernels");
}

static void write_command(struct inject_thread *thread, const struct inject_opencl_kept *kept,
			  const struct inject_times *times, struct inject_totals *totals)
{
	struct inject_operation operation = {
		.correlation = kept->correlation,
		.name = kept->name,
		.device = kept->queue->device->id,
		.context = kept->queue->context,
		.stream = kept->queue->id,
		.graph = kept->graph,
		.bytes = kept->bytes,
		.record = kept->record,
		.copy_kind = kept->copy_kind,
		.from = kept->from,
		.to = kept->to,
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		operation.global[i] = kept->global[i];
		operation.local[i] = kept->local[i];
		operation.grid[i] = count_groups(kept->global[i], kept->local[i]);
	}
	inject_operation_write(thread, &operation, times, totals);
	if (kept->graph)
		say_of_buffers(thread);
}

/* False: it has not ended. */
static bool finish_if_complete(struct inject_thread *thread, const struct inject_opencl_kept *kept,
			       struct inject_totals *totals)
{
	struct inject_times times = { 0 };
	cl_int status = CL_COMPLETE;

	if (inject_opencl.clGetEventInfo(kept->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					 sizeof(status), &status, NULL) != CL_SUCCESS)
		status = CL_COMPLETE;
	if (status > CL_COMPLETE)
		return false;
	if (thread) {
		if (status < 0)
			times.flags = GPUMON_WORK_FAILED;
		else
			ask_times(kept, &times);
		write_command(thread, kept, &times, totals);
		inject_clock_write(thread, &kept->queue->device->clock, kept->queue->device->id);
	}
	inject_opencl.clReleaseEvent(kept->event);
	return true;
}

static bool is_one_of(cl_event event, cl_uint count, const cl_event *events)
{
	while (count-- > 0)
		if (events[count] == event)
			return true;
	return false;
}

/*
 * In a queue that keeps the order, commands behind one that has not ended have not ended, either.
 * @tries: how many commands that have not ended are asked for otherwise, apart from @events.
 */
static void look_at_queue(struct inject_thread *thread, struct inject_opencl_queue *queue,
			  size_t tries, cl_uint count, const cl_event *events)
{
	struct inject_opencl_waiting **at = &queue->waiting;
	struct inject_totals totals = { 0 };

	while (*at && (tries || count)) {
		if (!tries && !is_one_of((*at)->kept.event, count, events)) {
			at = &(*at)->next;
			continue;
		}
		if (finish_if_complete(thread, &(*at)->kept, &totals)) {
			remove_waiting(queue, at);
			continue;
		}
		if (queue->in_order)
			break;
		tries -= tries > 0;
		at = &(*at)->next;
	}
	if (thread)
		inject_totals_add(&totals);
}

static void sample_clocks(uint64_t at_least_ns)
{
	uint64_t now;

	if (!waiting_count)
		return;
	now = inject_now();
	if (sample_ns && now - sample_ns < at_least_ns)
		return;
	sample_ns = now;
	inject_clock_sample();
}

/* Under the lock. */
static void look_at_commands(struct inject_thread *thread)
{
	struct inject_opencl_queue **at = &busy_queues, *queue;

	take_all_commands();
	sample_clocks(0);
	while ((queue = *at)) {
		look_at_queue(thread, queue, SIZE_MAX, 0, NULL);
		if (queue->waiting) {
			at = &queue->next_busy;
			continue;
		}
		queue->is_busy = false;
		*at = queue->next_busy;
	}
}

void inject_opencl_completion_look(struct inject_thread *thread)
{
	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_commands(thread);
	inject_guard_give(&completing);
}

/* Commands that have not ended by now. */
static void end_queue(struct inject_thread *thread, struct inject_opencl_queue *queue,
		      bool program_goes_on, struct inject_totals *totals)
{
	const struct inject_times none = { .flags = GPUMON_WORK_UNFINISHED };

	while (queue->waiting) {
		if (thread)
			write_command(thread, &queue->waiting->kept, &none, totals);
		/* At the end of the program the driver may be half gone. */
		if (program_goes_on)
			inject_opencl.clReleaseEvent(queue->waiting->kept.event);
		remove_waiting(queue, &queue->waiting);
	}
	queue->is_busy = false;
}

void inject_opencl_completion_end(struct inject_thread *thread, unsigned int settle_ms,
				  bool program_goes_on)
{
	uint64_t until = inject_now() + settle_ms * 1000000ull;
	struct inject_totals totals = { 0 };

	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_commands(thread);
	while (thread && waiting_count && inject_now() < until) {
		inject_sleep(10000000);
		look_at_commands(thread);
	}
	for (; busy_queues; busy_queues = busy_queues->next_busy)
		end_queue(thread, busy_queues, program_goes_on, &totals);
	if (thread)
		inject_totals_add(&totals);
	inject_guard_give(&completing);
}

void inject_opencl_completion_now(bool is_asked)
{
	struct inject_thread *thread;

	if (!inject_guard_take(&completing, is_asked ? ASK_NS : 0))
		return;
	if (is_asked || waiting_count < MANY) {
		thread = inject_thread_enter(true);
		/* A signal handler that interrupts this library writes nothing. */
		if (thread || !atomic_load(&inject_session.is_open))
			look_at_commands(thread);
		if (thread)
			inject_thread_leave(thread);
	}
	inject_guard_give(&completing);
}

/* NULL: nothing is recorded, or a signal handler has interrupted this library. */
static struct inject_thread *begin_waited(uint64_t wait_ns)
{
	struct inject_thread *thread = NULL;

	if (atomic_load_explicit(&inject_session.is_open, memory_order_acquire))
		thread = inject_thread_enter(true);
	if (thread && (thread->ours || !inject_guard_take(&completing, wait_ns))) {
		inject_thread_leave(thread);
		return NULL;
	}
	if (thread) {
		take_all_commands();
		sample_clocks(SAMPLE_NS);
	}
	return thread;
}

/* The commands that were waited for may have waited for commands of other queues. */
static void look_at_others(struct inject_thread *thread)
{
	unsigned int left = OTHERS_MAX;
	struct inject_opencl_queue *queue;

	for (queue = busy_queues; queue && left; queue = queue->next_busy, left--)
		if (queue->waiting)
			look_at_queue(thread, queue, OTHERS_TRIES, 0, NULL);
}

static void end_waited(struct inject_thread *thread)
{
	look_at_others(thread);
	inject_guard_give(&completing);
	inject_thread_leave(thread);
}

void inject_opencl_completion_waited(cl_command_queue handle, cl_uint count, const cl_event *events)
{
	struct inject_opencl_queue *queue = inject_opencl_queue_find(handle);
	int kept = errno;
	struct inject_thread *thread = queue ? begin_waited(WAITED_NS) : NULL;

	if (thread) {
		look_at_queue(thread, queue, events ? TRIES_MAX : SIZE_MAX, count, events);
		end_waited(thread);
	}
	errno = kept;
}

static struct inject_opencl_queue *queue_of(cl_event event)
{
	cl_command_queue handle = NULL;

	/* An event of the program itself has none. */
	if (inject_opencl.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle,
					 NULL) != CL_SUCCESS)
		return NULL;
	return handle ? inject_opencl_queue_find(handle) : NULL;
}

static void look_after_wait(uint64_t wait_ns, cl_uint count, const cl_event *events)
{
	struct inject_opencl_queue *queue, *last = NULL;
	int kept = errno;
	struct inject_thread *thread = begin_waited(wait_ns);
	cl_uint i;

	for (i = 0; thread && i < count; i++) {
		queue = queue_of(events[i]);
		if (!queue || queue == last)
			continue;
		look_at_queue(thread, queue, TRIES_MAX, count, events);
		last = queue;
	}
	if (thread)
		end_waited(thread);
	errno = kept;
}

void inject_opencl_completion_waited_for(cl_uint count, const cl_event *events)
{
	look_after_wait(WAITED_NS, count, events);
}

void inject_opencl_completion_told(cl_event event)
{
	look_after_wait(CALLBACK_NS, 1, &event);
}

static cl_uint count_references(const struct inject_opencl_queue *queue, cl_event event)
{
	const struct inject_opencl_waiting *entry;
	cl_uint count = 0;

	for (entry = queue->waiting; entry; entry = entry->next)
		count += entry->kept.event == event;
	return count;
}

cl_uint inject_opencl_completion_references(cl_event event)
{
	const struct inject_opencl_queue *queue;
	cl_uint count = 0;

	if (!inject_guard_take(&completing, ASK_NS))
		return 0;
	for (queue = busy_queues; queue; queue = queue->next_busy)
		count += count_references(queue, event);
	inject_guard_give(&completing);
	return count;
}

void inject_opencl_completion_forked(void)
{
	struct inject_thread *thread;
	struct inject_opencl_block *block;

	inject_guard_forked(&completing);
	for (; busy_queues; busy_queues = busy_queues->next_busy) {
		while (busy_queues->waiting)
			remove_waiting(busy_queues, &busy_queues->waiting);
		busy_queues->is_busy = false;
	}
	inject_opencl_commands_forked();
	for (thread = inject_thread_first(); thread; thread = thread->next) {
		block = thread->commands;
		thread->commands = NULL;
		if (block)
			inject_opencl_command_give_back(block);
	}
}
