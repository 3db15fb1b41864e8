/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log-linear histograms: 4 buckets for each power of two, so that a bucket is
 * at most 25% wide, from one instruction to find the power and a shift.
 */
#ifndef GPUMON_HISTOGRAM_H
#define GPUMON_HISTOGRAM_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define GPUMON_HISTOGRAM_SUB_BITS 2
#define GPUMON_HISTOGRAM_SUB	  (1U << GPUMON_HISTOGRAM_SUB_BITS)

/* Below this, each value has its own bucket. */
#define GPUMON_HISTOGRAM_LINEAR (2 * GPUMON_HISTOGRAM_SUB)

/* Buckets that distinguish values below 2^bits. The last one also takes higher values. */
#define GPUMON_HISTOGRAM_BUCKETS(bits) \
	(((bits)-GPUMON_HISTOGRAM_SUB_BITS + 1) * GPUMON_HISTOGRAM_SUB)

/* Bucket of a value; the last bucket of a histogram also takes all values above it. */
static __always_inline unsigned int gpumon_histogram_index(u64 value)
{
	/* The set bit makes small values fall into the linear part without a branch. */
	unsigned int power = 63 ^ __builtin_clzll(value | GPUMON_HISTOGRAM_SUB), shift;

	/*
	 * "^" in place of "-" takes one instruction, but does not show the compiler that the shift
	 * is in range.
	 */
	if (power < GPUMON_HISTOGRAM_SUB_BITS)
		__builtin_unreachable();
	shift = power - GPUMON_HISTOGRAM_SUB_BITS;
	return (shift << GPUMON_HISTOGRAM_SUB_BITS) + (unsigned int)(value >> shift);
}

static inline u64 gpumon_histogram_lower(unsigned int index)
{
	unsigned int shift;

	if (index < GPUMON_HISTOGRAM_LINEAR)
		return index;
	shift = (index >> GPUMON_HISTOGRAM_SUB_BITS) - 1;
	return (u64)(index - (shift << GPUMON_HISTOGRAM_SUB_BITS)) << shift;
}

/* The lowest value above a bucket, U64_MAX for the last one. */
static inline u64 gpumon_histogram_upper(unsigned int index, unsigned int buckets)
{
	return index + 1 < buckets ? gpumon_histogram_lower(index + 1) : U64_MAX;
}

/**
 * struct gpumon_distribution - a histogram in numbers
 * @count: number of values
 * @sum: their sum
 * @min: the lowest
 * @max: the highest
 */
struct gpumon_distribution {
	u64 count;
	u64 sum;
	u64 min;
	u64 max;
};

void gpumon_histogram_distribution(const u64 *bucket, unsigned int buckets, u64 sum, u64 max,
				   u64 not_min, struct gpumon_distribution *distribution);
u64 gpumon_histogram_percentile(const u64 *bucket, unsigned int buckets, u64 count, u64 min,
				u64 max, unsigned int percent);

#endif /* GPUMON_HISTOGRAM_H */
