/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbers over all GPUs of a result. */
#ifndef GPUMON_GPUPROG_VIEW_SUM_H
#define GPUMON_GPUPROG_VIEW_SUM_H

#include "result.h"

/* A histogram: bucket b counts values from 2^b to 2^(b+1) - 1, bucket 0 also the value 0. */
struct gpumon_probe_buckets {
	uint64_t counts[GPUMON_PROBE_BUCKETS];
};

/* The map with this name, or NULL. */
const struct gpumon_probe_map *gpumon_probe_result_map(const struct gpumon_probe_result *result,
						       const char *name);
/* Its memory in a context, or NULL: all zero. */
const void *gpumon_probe_image_of(const struct gpumon_probe_result *result, uint32_t device,
				  const struct gpumon_probe_map *map);
/* What came out of a ring; empty if nothing is known. */
const struct gpumon_probe_records *gpumon_probe_records_of(const struct gpumon_probe_result *result,
							   const struct gpumon_probe_map *map);

/* The value at @index of one context, gpumon_probe_read_bytes(). */
void gpumon_probe_value_on(const struct gpumon_probe_result *result, uint32_t device,
			   const struct gpumon_probe_map *map, uint64_t index, void *value);
/* The sum of a value's first number, of 64 bits, over all contexts. */
uint64_t gpumon_probe_number(const struct gpumon_probe_result *result,
			     const struct gpumon_probe_map *map, uint64_t index);
/* The sum of numbers of 64 bits that make up a value: value_size / 8 of them. */
void gpumon_probe_numbers(const struct gpumon_probe_result *result,
			  const struct gpumon_probe_map *map, uint64_t index, uint64_t *numbers);
/* The histogram at @index over all contexts. */
struct gpumon_probe_buckets gpumon_probe_histogram(const struct gpumon_probe_result *result,
						   const struct gpumon_probe_map *map,
						   uint64_t index);
void gpumon_probe_buckets_add(struct gpumon_probe_buckets *buckets, uint64_t value);
uint64_t gpumon_probe_buckets_total(const struct gpumon_probe_buckets *buckets);
/* Smallest and largest value of a bucket. */
uint64_t gpumon_probe_bucket_from(uint32_t bucket);
uint64_t gpumon_probe_bucket_to(uint32_t bucket);
/*
 * The largest power of two that at least @percent of the values reach, or 0: so nothing is estimated.
 * *@reached: values that do.
 */
uint64_t gpumon_probe_buckets_reached(const struct gpumon_probe_buckets *buckets, uint32_t percent,
				      uint64_t *reached);

/* Losses of all contexts by cause. */
void gpumon_probe_losses(const struct gpumon_probe_result *result,
			 uint64_t lost[GPUMON_PROBE_LOSS_CAUSES]);

#endif /* GPUMON_GPUPROG_VIEW_SUM_H */
