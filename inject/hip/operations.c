// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "channel/intern.h"
#include "channel/operation.h"
#include "devices.h"
#include "operations.h"

/* Number of entries at first. */
#define ROOM 1024

/*
 * Ids of calls follow one another, so that each one's place is its id, and a place is taken only if
 * that many calls were made since. The table then doubles.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inject_hip_launch *table;
static size_t room, most, count;

static struct inject_hip_launch *place(struct inject_hip_launch *in, size_t size,
				       uint64_t correlation)
{
	return &in[(uint32_t)correlation & (size - 1)];
}

void inject_hip_launches_reserve(uint32_t mib)
{
	pthread_mutex_lock(&lock);
	most = ((size_t)mib << 20) / sizeof(*table);
	pthread_mutex_unlock(&lock);
}

/* Two that had places of their own have so in a larger table. */
static bool grow(void)
{
	size_t new_room = room ? 2 * room : ROOM, i;
	struct inject_hip_launch *new_table;

	if (new_room > most)
		return false;
	new_table = inject_memory_take(new_room * sizeof(*table));
	if (!new_table)
		return false;
	for (i = 0; i < room; i++)
		if (table[i].correlation)
			*place(new_table, new_room, table[i].correlation) = table[i];
	inject_memory_give(table, room * sizeof(*table));
	table = new_table;
	room = new_room;
	return true;
}

bool inject_hip_launch_add(const struct inject_hip_launch *launch)
{
	bool has_room = true;

	pthread_mutex_lock(&lock);
	while (has_room && (!room || place(table, room, launch->correlation)->correlation))
		has_room = grow();
	if (has_room) {
		*place(table, room, launch->correlation) = *launch;
		count++;
	}
	pthread_mutex_unlock(&lock);
	return has_room;
}

bool inject_hip_launch_take(uint64_t correlation, struct inject_hip_launch *launch)
{
	struct inject_hip_launch *found;
	bool is_there = false;

	pthread_mutex_lock(&lock);
	if (room) {
		found = place(table, room, correlation);
		is_there = found->correlation == correlation;
		if (is_there) {
			*launch = *found;
			found->correlation = 0;
			count--;
		}
	}
	pthread_mutex_unlock(&lock);
	return is_there;
}

void inject_hip_launch_name(uint64_t correlation, uint32_t name)
{
	pthread_mutex_lock(&lock);
	if (room && place(table, room, correlation)->correlation == correlation)
		place(table, room, correlation)->name = name;
	pthread_mutex_unlock(&lock);
}

size_t inject_hip_launches_count(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

bool inject_hip_launch_take_any(struct inject_hip_launch *launch)
{
	static size_t next;
	bool is_there;

	pthread_mutex_lock(&lock);
	is_there = count;
	for (; is_there; next++) {
		if (next >= room)
			next = 0;
		if (table[next].correlation)
			break;
	}
	if (is_there) {
		*launch = table[next];
		table[next].correlation = 0;
		count--;
	}
	pthread_mutex_unlock(&lock);
	return is_there;
}

void inject_hip_launches_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (room)
		memset(table, 0, room * sizeof(*table));
	count = 0;
}

/* Error of a driver's times, beside the error of the clock. */
#define WRONG_NS 1000000u

/* OpenCL's numbers of commands, in which the library says what a copy is. */
#define READ_BUFFER	0x11f3
#define WRITE_BUFFER	0x11f4
#define COPY_BUFFER	0x11f5
#define READ_IMAGE	0x11f6
#define WRITE_IMAGE	0x11f7
#define COPY_IMAGE	0x11f8
#define IMAGE_TO_BUFFER 0x11f9
#define BUFFER_TO_IMAGE 0x11fa
#define READ_RECTANGLE	0x1201
#define WRITE_RECTANGLE 0x1202
#define COPY_RECTANGLE	0x1203
#define FILL_BUFFER	0x1207
#define FILL_IMAGE	0x1208

static const struct {
	uint32_t kind;
	uint8_t from;
	uint8_t to;
} copies[] = {
	{ READ_BUFFER, GPUMON_PLACE_DEVICE, GPUMON_PLACE_UNKNOWN },
	{ WRITE_BUFFER, GPUMON_PLACE_UNKNOWN, GPUMON_PLACE_DEVICE },
	{ COPY_BUFFER, GPUMON_PLACE_DEVICE, GPUMON_PLACE_DEVICE },
	{ READ_RECTANGLE, GPUMON_PLACE_DEVICE, GPUMON_PLACE_UNKNOWN },
	{ WRITE_RECTANGLE, GPUMON_PLACE_UNKNOWN, GPUMON_PLACE_DEVICE },
	{ COPY_RECTANGLE, GPUMON_PLACE_DEVICE, GPUMON_PLACE_DEVICE },
	{ READ_IMAGE, GPUMON_PLACE_ARRAY, GPUMON_PLACE_UNKNOWN },
	{ WRITE_IMAGE, GPUMON_PLACE_UNKNOWN, GPUMON_PLACE_ARRAY },
	{ COPY_IMAGE, GPUMON_PLACE_ARRAY, GPUMON_PLACE_ARRAY },
	{ IMAGE_TO_BUFFER, GPUMON_PLACE_ARRAY, GPUMON_PLACE_DEVICE },
	{ BUFFER_TO_IMAGE, GPUMON_PLACE_DEVICE, GPUMON_PLACE_ARRAY },
};

/* How long after the window copies are waited for. */
#define COPIES_NS 1000000000u

static _Atomic uint64_t window_ended_ns;

void inject_hip_operations_window(bool on)
{
	atomic_store(&window_ended_ns, on ? 0 : inject_now());
}

static bool may_run(void)
{
	return atomic_load_explicit(&inject_session.recording, memory_order_relaxed) ||
	       inject_hip_launches_count() ||
	       inject_now() - atomic_load(&window_ended_ns) < COPIES_NS;
}

bool inject_hip_operation_is_wanted(uint32_t operation)
{
	return atomic_load_explicit(&inject_session.is_open, memory_order_acquire) &&
	       !(inject_session.record & GPUMON_RECORD_NO_TIMES) &&
	       (operation == INJECT_HIP_KERNEL || operation == INJECT_HIP_COPY) && may_run();
}

static void set_copy(struct inject_operation *operation, const struct inject_hip_record *record)
{
	size_t i;

	operation->bytes = record->bytes;
	operation->record = GPUMON_RECORD_COPY;
	if (record->kind == FILL_BUFFER || record->kind == FILL_IMAGE)
		operation->record = GPUMON_RECORD_SET;
	for (i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (copies[i].kind == record->kind) {
			operation->from = copies[i].from;
			operation->to = copies[i].to;
		}
}

static void set_launch(struct inject_operation *operation, const struct inject_hip_launch *launch)
{
	operation->record = GPUMON_RECORD_KERNEL;
	operation->name = launch->name;
	memcpy(operation->grid, launch->grid, sizeof(operation->grid));
	memcpy(operation->local, launch->local, sizeof(operation->local));
	memcpy(operation->global, launch->global, sizeof(operation->global));
}

/* An end before its start, a start before its call, an end that is still to come. */
static void set_times(struct inject_times *times, const struct inject_hip_record *record,
		      uint64_t call_ns)
{
	uint32_t node = (uint32_t)record->node;
	uint64_t slack = inject_hip_time_error(node) + WRONG_NS;

	times->start = inject_hip_time(node, record->begin_ns);
	times->end = inject_hip_time(node, record->end_ns);
	if (!times->start || times->end < times->start || times->start + slack < call_ns ||
	    times->end > inject_now() + slack)
		*times = (struct inject_times){ .flags = GPUMON_WORK_BAD_TIMES };
}

static void write_record(struct inject_thread *thread, const struct inject_hip_record *record)
{
	struct inject_operation operation = {
		.correlation = (uint32_t)record->correlation,
		.device = inject_hip_device_id((uint32_t)record->node),
		.context = inject_hip_context_id((uint32_t)record->node),
		.stream = inject_hip_stream_id(record->queue),
	};
	struct inject_hip_launch launch = { .device = -1 };
	struct inject_totals totals = { 0 };
	struct inject_times times = { 0 };

	if (record->operation == INJECT_HIP_KERNEL) {
		/* The launch of a graph is not kept, and one call may launch several kernels. */
		inject_hip_launch_take(record->correlation, &launch);
		set_launch(&operation, &launch);
		if (record->name)
			operation.name = inject_intern_string(thread, record->name);
	} else {
		set_copy(&operation, record);
	}
	inject_hip_device_seen(thread, (uint32_t)record->node, record->queue, launch.device);
	set_times(&times, record, launch.begin_ns);
	inject_operation_write(thread, &operation, &times, &totals);
	inject_totals_add(&totals);
}

void inject_hip_operation_ended(const struct inject_hip_record *record)
{
	struct inject_thread *thread;
	int kept = errno;

	thread = inject_thread_enter(true);
	if (!thread) {
		errno = kept;
		return;
	}
	/* The call of the operation is not in this capture. */
	if (record->correlation >> 32 != atomic_load(&inject_session.generation))
		;
	else if (record->node < 0 || record->node >= INJECT_HIP_NODES)
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
	else
		write_record(thread, record);
	inject_thread_leave(thread);
	errno = kept;
}

void inject_hip_operation_untimed(struct inject_thread *thread,
				  const struct inject_hip_launch *launch, uint16_t flags)
{
	const struct inject_times times = { .flags = flags };
	uint32_t node = inject_hip_device_node(launch->device);
	struct inject_operation operation = {
		.correlation = (uint32_t)launch->correlation,
		.device = inject_hip_device_id(node),
		.context = inject_hip_context_id(node),
		.stream = inject_hip_stream_id(0),
	};
	struct inject_totals totals = { 0 };

	inject_hip_device_seen(thread, node, 0, launch->device);
	set_launch(&operation, launch);
	inject_operation_write(thread, &operation, &times, &totals);
	inject_totals_add(&totals);
}
