// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "capture.h"
#include "ring_trim.h"

/* Ids wrap around. */
static bool is_before(uint32_t id, uint32_t other)
{
	return (int32_t)(id - other) < 0;
}

static void see_launch(struct gpumon_ring_trim *trim, const struct gpumon_record *record)
{
	struct gpumon_record_launch launch;
	uint32_t api;

	gpumon_record_copy(&launch, sizeof(launch), record);
	api = GPUMON_API_OF(launch.context);
	if (api >= GPUMON_APIS || !launch.correlation)
		return;
	if (!trim->known[api] || is_before(launch.correlation, trim->first[api]))
		trim->first[api] = launch.correlation;
	trim->known[api] = true;
}

void gpumon_ring_trim_look(struct gpumon_ring_trim *trim, const void *records, size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)((const uint8_t *)records + at);

		if (gpumon_record_check(record, size - at) == GPUMON_RECORD_IMPOSSIBLE)
			return;
		if (record->type == GPUMON_RECORD_LAUNCH)
			see_launch(trim, record);
		at += record->size;
	}
}

static bool is_left(const struct gpumon_ring_trim *trim, uint32_t correlation, uint32_t context)
{
	uint32_t api = GPUMON_API_OF(context);

	return correlation && api < GPUMON_APIS && trim->known[api] &&
	       is_before(correlation, trim->first[api]);
}

void gpumon_ring_count(struct gpumon_record_dropped *counts, const struct gpumon_record *record)
{
	counts->records++;
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		if (record->flags & GPUMON_LAUNCH_CAPTURED)
			counts->captured++;
		else
			counts->launches++;
		break;
	case GPUMON_RECORD_KERNEL:
		counts->kernels++;
		break;
	case GPUMON_RECORD_COPY:
		counts->copies++;
		break;
	case GPUMON_RECORD_SET:
		counts->sets++;
		break;
	default:
		break;
	}
}

size_t gpumon_ring_trim_apply(const struct gpumon_ring_trim *trim, void *records, size_t size,
			      struct gpumon_record_dropped *dropped)
{
	struct gpumon_work_fields work;
	uint8_t *base = records;
	size_t used = 0;

	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)(base + at);
		uint32_t length = record->size;

		if (gpumon_record_check(record, size - at) == GPUMON_RECORD_IMPOSSIBLE)
			break;
		if (gpumon_work_fields(record, &work) &&
		    is_left(trim, work.correlation, work.context)) {
			gpumon_ring_count(dropped, record);
		} else {
			memmove(base + used, record, length);
			used += length;
		}
		at += length;
	}
	return used;
}
