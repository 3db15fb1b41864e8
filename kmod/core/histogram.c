// SPDX-License-Identifier: GPL-2.0-only
/* Reading of histograms; filling them is inline in histogram.h. */
#include <linux/math64.h>
#include <linux/string.h>

#include "histogram.h"

/**
 * gpumon_histogram_percentile - value below which a share of all values lies
 * @bucket: counts of the buckets
 * @buckets: number of buckets
 * @count: sum of the counts
 * @min: lowest value seen
 * @max: highest value seen
 * @percent: share, 1 to 100
 *
 * The values of a bucket are taken to be spread evenly over it, so that the
 * answer is off by at most the width of the bucket, a quarter of the value.
 * gpumon-user computes it in the same way.
 *
 * Return: the percentile, within @min and @max; 0 if @count is 0.
 */
u64 gpumon_histogram_percentile(const u64 *bucket, unsigned int buckets, u64 count, u64 min,
				u64 max, unsigned int percent)
{
	u64 rank, below = 0, lower, upper;
	unsigned int i;

	if (!count)
		return 0;
	rank = max(DIV64_U64_ROUND_UP(count * percent, 100), 1ULL);
	for (i = 0; i < buckets; i++) {
		if (below + bucket[i] >= rank)
			break;
		below += bucket[i];
	}
	if (i == buckets)
		return max;
	lower = clamp(min, gpumon_histogram_lower(i), gpumon_histogram_upper(i, buckets) - 1);
	upper = clamp(max, lower, gpumon_histogram_upper(i, buckets) - 1);
	/* The k-th of n values sits in the middle of the k-th of n equal parts. */
	return lower + mul_u64_u64_div_u64(upper - lower, 2 * (rank - below) - 1, 2 * bucket[i]);
}

/**
 * gpumon_histogram_distribution - count, sum and extremes of a histogram
 * @bucket: its buckets
 * @buckets: their number
 * @sum: sum of the values
 * @max: the highest value
 * @not_min: complement of the lowest value, all ones where it is not kept: then
 *           the lowest bucket says it
 * @distribution: filled in
 *
 * The extremes are not read at the same instant as the buckets, and a reset may
 * take one away: they are held to the buckets that are there.
 */
void gpumon_histogram_distribution(const u64 *bucket, unsigned int buckets, u64 sum, u64 max,
				   u64 not_min, struct gpumon_distribution *distribution)
{
	unsigned int i, lowest = 0, highest = 0;

	memset(distribution, 0, sizeof(*distribution));
	for (i = 0; i < buckets; i++) {
		if (!bucket[i])
			continue;
		if (!distribution->count)
			lowest = i;
		highest = i;
		distribution->count += bucket[i];
	}
	if (!distribution->count)
		return;
	distribution->sum = sum;
	distribution->min = clamp(~not_min, gpumon_histogram_lower(lowest),
				  gpumon_histogram_upper(lowest, buckets) - 1);
	distribution->max = clamp(max, gpumon_histogram_lower(highest),
				  gpumon_histogram_upper(highest, buckets) - 1);
}
