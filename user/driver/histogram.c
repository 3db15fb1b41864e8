// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "histogram.h"

struct gpumon_value gpumon_histogram_percentile(const struct gpumon_histogram *histogram,
						unsigned int permille)
{
	uint64_t total = 0, rank, before = 0;
	double value;

	if (!histogram)
		return (struct gpumon_value){ 0 };

	/* Use the sum of the buckets. In a reading under load the count may differ by a few. */
	for (size_t i = 0; i < histogram->n_buckets; i++)
		total += histogram->buckets[i].count;
	if (!total)
		return (struct gpumon_value){ 0 };

	/* ceil(total * permille / 1000) without overflow. */
	rank = total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
	if (rank < 1)
		rank = 1;
	if (rank > total)
		rank = total;

	for (size_t i = 0; i < histogram->n_buckets; i++) {
		const struct gpumon_bucket *bucket = &histogram->buckets[i];
		uint64_t low = bucket->ge, high, width, at;

		if (before + bucket->count < rank) {
			before += bucket->count;
			continue;
		}
		/* lt is exclusive. An invalid bucket must not make the width wrap. */
		high = bucket->lt > low ? bucket->lt - 1 : low;
		/* min and max narrow the first and the last bucket, which are often much wider. */
		if (histogram->min.known && histogram->min.v > low && histogram->min.v <= high)
			low = histogram->min.v;
		if (histogram->max.known && histogram->max.v < high && histogram->max.v >= low)
			high = histogram->max.v;
		width = high - low;
		/* The k-th of n values is in the middle of the k-th of n equal parts. */
		value = (double)width * ((double)(rank - before) - 0.5) / (double)bucket->count;
		at = value < (double)width ? (uint64_t)(value + 0.5) : width;
		return gpumon_value_of(low + (at < width ? at : width));
	}
	return (struct gpumon_value){ 0 };
}

int gpumon_histogram_subtract(struct gpumon_histogram *diff, const struct gpumon_histogram *before,
			      const struct gpumon_histogram *after)
{
	size_t b = 0;

	for (size_t a = 0; a < after->n_buckets; a++) {
		const struct gpumon_bucket *bucket = &after->buckets[a];
		uint64_t earlier = 0;

		while (b < before->n_buckets && before->buckets[b].ge < bucket->ge)
			b++;
		if (b < before->n_buckets && before->buckets[b].ge == bucket->ge)
			earlier = before->buckets[b].count;
		if (bucket->count > earlier &&
		    gpumon_histogram_add_bucket(diff, bucket->ge, bucket->lt,
						bucket->count - earlier))
			return -1;
	}
	diff->count = gpumon_value_subtract(after->count, before->count);
	diff->sum = gpumon_value_subtract(after->sum, before->sum);
	return 0;
}
