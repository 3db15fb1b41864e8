/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Operations at the beginning of what a ring keeps, whose launches were dropped. They go with these:
 * an API counts its correlation ids upwards, so they are those before the first launch that is kept.
 */
#ifndef GPUMON_CAPTURE_RING_TRIM_H
#define GPUMON_CAPTURE_RING_TRIM_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/format.h"

/**
 * struct gpumon_ring_trim - of one process
 * @known: there is a launch of that API
 * @first: the first correlation id of a launch that is kept
 */
struct gpumon_ring_trim {
	bool known[GPUMON_APIS];
	uint32_t first[GPUMON_APIS];
};

/* Look for launches among whole records. */
void gpumon_ring_trim_look(struct gpumon_ring_trim *trim, const void *records, size_t size);

/* Count an event that is dropped. */
void gpumon_ring_count(struct gpumon_record_dropped *counts, const struct gpumon_record *record);

/**
 * gpumon_ring_trim_apply - remove operations whose launches were dropped
 * @trim: after it has looked at the records of the beginning
 * @records: whole records, of which those that stay are moved together
 * @size: bytes of them
 * @dropped: counts what was removed
 *
 * Return: bytes of those that stay.
 */
size_t gpumon_ring_trim_apply(const struct gpumon_ring_trim *trim, void *records, size_t size,
			      struct gpumon_record_dropped *dropped);

#endif /* GPUMON_CAPTURE_RING_TRIM_H */
