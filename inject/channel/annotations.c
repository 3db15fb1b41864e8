// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "annotations.h"
#include "base/utf8.h"
#include "intern.h"

struct inject_range *inject_open_ranges_push(struct inject_thread *thread,
					     const struct inject_range *range)
{
	if (thread->ranges_beyond || thread->range_count == INJECT_RANGES) {
		thread->ranges_beyond++;
		return NULL;
	}
	thread->ranges[thread->range_count] = *range;
	return &thread->ranges[thread->range_count++];
}

bool inject_open_ranges_pop(struct inject_thread *thread, const void *handle)
{
	uint32_t at = thread->range_count, window;

	/* The domain of a range beyond the room is not known: most likely the last one ends. */
	if (thread->ranges_beyond) {
		thread->ranges_beyond--;
		return false;
	}
	while (at && thread->ranges[at - 1].handle != handle)
		at--;
	if (!at)
		return false;
	window = thread->ranges[at - 1].window;
	thread->range_count--;
	memmove(&thread->ranges[at - 1], &thread->ranges[at],
		(thread->range_count - (at - 1)) * sizeof(thread->ranges[0]));
	return window && window == atomic_load(&inject_session.generation);
}

void inject_open_ranges_write(struct inject_thread *thread)
{
	struct gpumon_record_range record = {
		.head = { .type = GPUMON_RECORD_RANGE, .size = sizeof(record) },
		.kind = GPUMON_RANGE_PUSH,
		.tid = thread->tid,
	};
	unsigned int i;

	if (!(inject_session.record & GPUMON_RECORD_RANGES))
		return;
	for (i = 0; i < thread->range_count; i++) {
		record.time_ns = thread->ranges[i].time_ns;
		record.domain = inject_intern_string(thread, thread->ranges[i].domain);
		record.text = inject_intern_string(thread, thread->ranges[i].text);
		record.color = thread->ranges[i].color;
		inject_append(thread, &record);
	}
}

/* Threads that the program names itself are few: a linear search does. */
#define THREADS	    512
#define NAME_LENGTH 64

/**
 * struct named - a thread that was named
 * @tid: 0 while the entry is free, BUSY while it is written
 */
struct named {
	_Atomic uint32_t tid;
	char text[NAME_LENGTH];
};

#define BUSY UINT32_MAX

static struct named named[THREADS];
/* Entries beyond were never used. */
static _Atomic uint32_t places;

static struct named *find_named_thread(uint32_t tid)
{
	uint32_t count = atomic_load(&places);

	for (uint32_t i = 0; i < count; i++)
		if (atomic_load_explicit(&named[i].tid, memory_order_acquire) == tid)
			return &named[i];
	return NULL;
}

/* The entry of a thread, or a free one, marked BUSY so that no other thread writes to it. */
static struct named *take_named_thread(uint32_t tid)
{
	struct named *name = find_named_thread(tid);
	uint32_t expected = tid, at;

	if (name && atomic_compare_exchange_strong(&name->tid, &expected, BUSY))
		return name;
	for (at = 0; at < THREADS; at++) {
		expected = 0;
		if (!atomic_compare_exchange_strong(&named[at].tid, &expected, BUSY))
			continue;
		for (expected = atomic_load(&places);
		     expected <= at && !atomic_compare_exchange_weak(&places, &expected, at + 1);)
			;
		return &named[at];
	}
	return NULL;
}

static void write_thread(struct inject_thread *thread, uint32_t tid, uint32_t name)
{
	const struct gpumon_record_thread record = {
		.head = { .type = GPUMON_RECORD_THREAD, .size = sizeof(record) },
		.tid = tid,
		.name = name,
	};

	inject_append(thread, &record);
}

void inject_name_thread(uint32_t tid, const char *text, const wchar_t *wide)
{
	char buffer[NAME_LENGTH] = "";
	struct inject_thread *thread;
	struct named *name;

	if (wide)
		inject_utf8(wide, buffer, sizeof(buffer));
	else if (text)
		memcpy(buffer, text, strnlen(text, sizeof(buffer) - 1));
	if (!tid || tid == BUSY || !buffer[0])
		return;
	name = take_named_thread(tid);
	if (name) {
		memcpy(name->text, buffer, sizeof(buffer));
		atomic_store_explicit(&name->tid, tid, memory_order_release);
	}
	thread = inject_thread_enter(true);
	if (!thread)
		return;
	write_thread(thread, tid, inject_intern_string(thread, buffer));
	inject_thread_leave(thread);
}

void inject_names_introduce(struct inject_thread *thread)
{
	const struct named *name = atomic_load(&places) ? find_named_thread(thread->tid) : NULL;

	write_thread(thread, thread->tid, name ? inject_intern_string(thread, name->text) : 0);
}

void inject_names_leave(uint32_t tid)
{
	struct named *name = atomic_load(&places) ? find_named_thread(tid) : NULL;

	if (name)
		atomic_compare_exchange_strong(&name->tid, &tid, 0);
}
