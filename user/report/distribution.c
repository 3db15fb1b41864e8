// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "lib/memory.h"

/* 16 buckets for each power of two, so a quantile is at most 1/16 too high. */
#define BITS 4
#define PART (1u << BITS)

static uint32_t bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < PART)
		return (uint32_t)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - BITS;
	return (shift + 1) * PART + (uint32_t)((value >> shift) & (PART - 1));
}

static uint64_t bucket_end(uint32_t bucket)
{
	unsigned int shift;

	if (bucket < PART)
		return bucket;
	shift = bucket / PART - 1;
	return (((uint64_t)PART + bucket % PART) << shift) + (((uint64_t)1 << shift) - 1);
}

static void make_room(struct gpumon_distribution *distribution, uint32_t bucket)
{
	uint32_t end = distribution->first + distribution->room;
	uint32_t first = distribution->room && distribution->first < bucket ? distribution->first :
									      bucket;
	uint64_t *buckets;

	/* Neighbouring values will follow. */
	first -= first % PART;
	if (end <= bucket)
		end = (bucket / PART + 1) * PART;
	buckets = gpumon_calloc(end - first, sizeof(*buckets));
	if (distribution->room)
		memcpy(buckets + (distribution->first - first), distribution->buckets,
		       distribution->room * sizeof(*buckets));
	free(distribution->buckets);
	distribution->buckets = buckets;
	distribution->first = first;
	distribution->room = end - first;
}

void gpumon_distribution_add(struct gpumon_distribution *distribution, uint64_t value)
{
	uint32_t bucket = bucket_of(value);

	if (!distribution->count || value < distribution->min)
		distribution->min = value;
	if (value > distribution->max)
		distribution->max = value;
	distribution->count++;
	distribution->sum += value;
	if (bucket < distribution->first || bucket >= distribution->first + distribution->room)
		make_room(distribution, bucket);
	distribution->buckets[bucket - distribution->first]++;
}

void gpumon_distribution_clear(struct gpumon_distribution *distribution)
{
	free(distribution->buckets);
	memset(distribution, 0, sizeof(*distribution));
}

uint64_t gpumon_distribution_count(const struct gpumon_distribution *distribution)
{
	return distribution->count;
}

uint64_t gpumon_distribution_sum(const struct gpumon_distribution *distribution)
{
	return distribution->sum;
}

uint64_t gpumon_distribution_min(const struct gpumon_distribution *distribution)
{
	return distribution->min;
}

uint64_t gpumon_distribution_max(const struct gpumon_distribution *distribution)
{
	return distribution->max;
}

uint64_t gpumon_distribution_quantile(const struct gpumon_distribution *distribution, double q)
{
	uint64_t below = 0;
	uint64_t rank;

	if (!distribution->count)
		return 0;
	/* The smallest value with that share of the values at or below it. */
	q = q > 0 ? q : 0;
	if (q >= 1)
		return distribution->max;
	rank = (uint64_t)(q * (double)distribution->count);
	rank += (double)rank < q * (double)distribution->count;
	if (!rank)
		return distribution->min;
	for (uint32_t i = 0; i < distribution->room; i++) {
		uint64_t end;

		below += distribution->buckets[i];
		if (below < rank)
			continue;
		end = bucket_end(distribution->first + i);
		return end < distribution->max ? end : distribution->max;
	}
	return distribution->max;
}
