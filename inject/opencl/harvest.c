// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>

#include "base/grow.h"
#include "harvest.h"
#include "write/operation.h"

/* What a driver says of a time may be later than now by this, if its clock is not known well. */
#define FUTURE_NS 1000000u

/* How often a thread that asks waits for another one, 0.1 ms each time. */
#define ASK_TRIES 100

/* From this number of unfinished commands on, a look at all of them takes some time. */
#define MANY 1024

/* Commands that were read from blocks, and had not ended at the last look. */
static pthread_mutex_t harvesting = PTHREAD_MUTEX_INITIALIZER;
static struct inject_kept *waiting;
static size_t waiting_count, waiting_room;
static uint64_t looks;

/* Without memory the rest stays in its block. */
static bool take_commands(struct inject_block *block)
{
	uint32_t used = atomic_load_explicit(&block->used, memory_order_acquire);

	for (; block->read < used; block->read++) {
		if (!inject_grow((void **)&waiting, &waiting_room, waiting_count + 1,
				 sizeof(*waiting)))
			return false;
		waiting[waiting_count++] = block->commands[block->read];
	}
	return true;
}

static void take_all_commands(void)
{
	static struct inject_block *full;
	struct inject_thread *thread;
	struct inject_block *block;

	while (full || (full = inject_command_full())) {
		if (!take_commands(full))
			return;
		inject_command_give_back(full);
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
static bool are_possible(const struct inject_kept *kept, const struct inject_clock *clock,
			 const struct inject_times *device, const struct inject_times *times)
{
	uint64_t error = clock->error < UINT64_MAX / 4 ? clock->error : UINT64_MAX / 4;

	return device->start && device->end >= device->start &&
	       (!device->queued || device->queued <= device->start) && times->end >= times->start &&
	       times->start + error + FUTURE_NS >= kept->begin_ns &&
	       times->end <= inject_now() + error + FUTURE_NS;
}

static void ask_times(const struct inject_kept *kept, struct inject_times *times)
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

static void write_command(struct inject_thread *thread, const struct inject_kept *kept,
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
}

/* False: it has not ended. */
static bool harvest_command(struct inject_thread *thread, const struct inject_kept *kept,
			    struct inject_totals *totals)
{
	struct inject_times times = { 0 };
	cl_int status = CL_COMPLETE;

	/* In order: what comes behind one that has not ended has not, either. */
	if (kept->queue->in_order && kept->queue->blocked == looks)
		return false;
	if (inject_opencl.clGetEventInfo(kept->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					 sizeof(status), &status, NULL) != CL_SUCCESS)
		status = CL_COMPLETE;
	if (status > CL_COMPLETE) {
		kept->queue->blocked = looks;
		return false;
	}
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

/* Under the lock. */
static void look_at_commands(struct inject_thread *thread)
{
	struct inject_totals totals = { 0 };
	size_t i, kept = 0;

	looks++;
	take_all_commands();
	if (waiting_count)
		inject_clock_sample();
	for (i = 0; i < waiting_count; i++)
		if (!harvest_command(thread, &waiting[i], &totals))
			waiting[kept++] = waiting[i];
	waiting_count = kept;
	if (thread)
		inject_totals_add(&totals);
}

void inject_harvest(struct inject_thread *thread)
{
	pthread_mutex_lock(&harvesting);
	look_at_commands(thread);
	pthread_mutex_unlock(&harvesting);
}

void inject_harvest_end(struct inject_thread *thread, unsigned int settle_ms, bool program_goes_on)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t until = inject_now() + settle_ms * 1000000ull;
	const struct inject_times none = { .flags = GPUMON_WORK_UNFINISHED };
	struct inject_totals totals = { 0 };
	size_t i;

	pthread_mutex_lock(&harvesting);
	look_at_commands(thread);
	while (thread && waiting_count && inject_now() < until) {
		nanosleep(&pause, NULL);
		look_at_commands(thread);
	}
	for (i = 0; i < waiting_count; i++) {
		if (thread)
			write_command(thread, &waiting[i], &none, &totals);
		/* At the end of the program the driver may be gone half. */
		if (program_goes_on)
			inject_opencl.clReleaseEvent(waiting[i].event);
	}
	waiting_count = 0;
	if (thread)
		inject_totals_add(&totals);
	pthread_mutex_unlock(&harvesting);
}

/* Whether the thread of the program that has the lock can be cancelled. */
static int cancel_state;

/*
 * In the program's thread. The driver is asked with the lock taken, which a thread that is cancelled there
 * would not give back.
 */
static bool take_lock(unsigned int tries)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (pthread_mutex_trylock(&harvesting)) {
		if (!tries--) {
			pthread_setcancelstate(state, NULL);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	cancel_state = state;
	return true;
}

static void give_lock(void)
{
	int state = cancel_state;

	pthread_mutex_unlock(&harvesting);
	pthread_setcancelstate(state, NULL);
}

void inject_harvest_now(bool is_asked)
{
	struct inject_thread *thread;

	if (!take_lock(is_asked ? ASK_TRIES : 0))
		return;
	if (is_asked || waiting_count < MANY) {
		thread = inject_thread_enter(true);
		/* A signal handler that interrupts this library writes nothing. */
		if (thread || !atomic_load(&inject_session.is_open))
			look_at_commands(thread);
		if (thread)
			inject_thread_leave(thread);
	}
	give_lock();
}

cl_uint inject_harvest_references(cl_event event)
{
	cl_uint count = 0;
	size_t i;

	if (!take_lock(ASK_TRIES))
		return 0;
	for (i = 0; i < waiting_count; i++)
		count += waiting[i].event == event;
	give_lock();
	return count;
}

void inject_harvest_forked(void)
{
	struct inject_thread *thread;
	struct inject_block *block;

	pthread_mutex_init(&harvesting, NULL);
	waiting_count = 0;
	inject_commands_forked();
	for (thread = inject_thread_first(); thread; thread = thread->next) {
		block = thread->commands;
		thread->commands = NULL;
		if (block)
			inject_command_give_back(block);
	}
}
