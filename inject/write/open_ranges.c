// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "intern.h"
#include "open_ranges.h"

void inject_open_ranges_push(struct inject_thread *thread, const struct inject_range *range)
{
	if (thread->range_depth < INJECT_RANGES)
		thread->ranges[thread->range_depth] = *range;
	thread->range_depth++;
}

void inject_open_ranges_pop(struct inject_thread *thread)
{
	thread->range_depth -= thread->range_depth > 0;
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
	for (i = 0; i < thread->range_depth && i < INJECT_RANGES; i++) {
		record.time_ns = thread->ranges[i].time_ns;
		record.domain = inject_intern_string(thread, thread->ranges[i].domain);
		record.text = inject_intern_string(thread, thread->ranges[i].text);
		record.color = thread->ranges[i].color;
		inject_append(thread, &record);
	}
}
