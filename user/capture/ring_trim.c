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

/* Whether an operation is removed. */
static bool trims_record(const struct gpumon_ring_trim *trim, const struct gpumon_record *record,
			 struct gpumon_record_dropped *dropped)
{
	union {
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	} of;
	uint64_t *count = NULL;
	bool trims;

	gpumon_record_copy(&of, sizeof(of), record);
	switch (record->type) {
	case GPUMON_RECORD_KERNEL:
		trims = is_left(trim, of.kernel.correlation, of.kernel.context);
		count = &dropped->kernels;
		break;
	case GPUMON_RECORD_COPY:
		trims = is_left(trim, of.copy.correlation, of.copy.context);
		count = &dropped->copies;
		break;
	case GPUMON_RECORD_SET:
		trims = is_left(trim, of.set.correlation, of.set.context);
		count = &dropped->sets;
		break;
	case GPUMON_RECORD_GRAPH:
		trims = is_left(trim, of.graph.correlation, of.graph.context);
		break;
	default:
		return false;
	}
	dropped->records += trims;
	if (count)
		*count += trims;
	return trims;
}

size_t gpumon_ring_trim_apply(const struct gpumon_ring_trim *trim, void *records, size_t size,
			      struct gpumon_record_dropped *dropped)
{
	uint8_t *base = records;
	size_t used = 0;

	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)(base + at);
		uint32_t length = record->size;

		if (gpumon_record_check(record, size - at) == GPUMON_RECORD_IMPOSSIBLE)
			break;
		if (!trims_record(trim, record, dropped)) {
			memmove(base + used, record, length);
			used += length;
		}
		at += length;
	}
	return used;
}
