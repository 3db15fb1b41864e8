// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "intern.h"
#include "open_ranges.h"

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

	/* Of those beyond, the domain is not known: the last one it is, most likely. */
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
