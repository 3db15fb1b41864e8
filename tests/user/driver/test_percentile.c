// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Compares percentiles from buckets with the sorted values. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 20000

/* Bounds of the log-linear bucket (four per power of two) of a value. */
static void bounds(uint64_t value, uint64_t *ge, uint64_t *lt)
{
	unsigned int shift = 0;

	while (value >> shift >= 8)
		shift++;
	*ge = value >> shift << shift;
	*lt = *ge + (1ULL << shift);
	if (!*lt)
		*lt = UINT64_MAX;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts @values. */
static void fill(struct gpumon_histogram *histogram, uint64_t *values, size_t n, bool with_bounds)
{
	uint64_t ge, lt;

	memset(histogram, 0, sizeof(*histogram));
	qsort(values, n, sizeof(*values), compare);
	histogram->count = gpumon_value_of(n);
	if (with_bounds) {
		histogram->min = gpumon_value_of(values[0]);
		histogram->max = gpumon_value_of(values[n - 1]);
	}
	for (size_t i = 0; i < n; i++) {
		bounds(values[i], &ge, &lt);
		if (histogram->n_buckets && histogram->buckets[histogram->n_buckets - 1].ge == ge)
			histogram->buckets[histogram->n_buckets - 1].count++;
		else
			gpumon_histogram_add_bucket(histogram, ge, lt, 1);
	}
}

static void check(uint64_t *values, size_t n, bool with_bounds)
{
	static const unsigned int permilles[] = { 1, 10, 250, 500, 900, 990, 999, 1000 };
	struct gpumon_histogram histogram;
	uint64_t previous = 0;

	fill(&histogram, values, n, with_bounds);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		struct gpumon_value got = gpumon_histogram_percentile(&histogram, permilles[i]);
		size_t rank = (n * permilles[i] + 999) / 1000;
		uint64_t want = values[rank - 1], ge, lt;

		bounds(want, &ge, &lt);
		assert_true(got.known);
		/* The result is in the true value's bucket, so the error is less than its width. */
		assert_in_range(got.v, ge, lt - 1);
		if (with_bounds)
			assert_in_range(got.v, values[0], values[n - 1]);
		assert_true(got.v >= previous);
		previous = got.v;
	}
	free(histogram.buckets);
}

static void percentile_brute_force(void **state)
{
	uint64_t *values = malloc(N * sizeof(*values)), seed = 1;

	(void)state;
	assert_non_null(values);
	for (int distribution = 0; distribution < 4; distribution++) {
		for (int round = 0; round < 10; round++) {
			size_t n = round < 5 ? 1 + test_random(&seed) % 50 : N;

			for (size_t i = 0; i < n; i++) {
				uint64_t x = test_random(&seed);

				switch (distribution) {
				case 0: /* uniform */
					values[i] = x % 1000000;
					break;
				case 1: /* exponential, as latencies are */
					values[i] =
						(uint64_t)(-log((double)(x | 1) / 1.9e19) * 1e5);
					break;
				case 2: /* every size */
					values[i] = x >> (x % 64);
					break;
				default: /* depths */
					values[i] = x % 5;
				}
			}
			check(values, n, round % 2);
		}
	}
	free(values);
}

static void percentile_of_nothing(void **state)
{
	struct gpumon_histogram histogram = { .count = { .known = true } };

	(void)state;
	assert_false(gpumon_histogram_percentile(NULL, 500).known);
	assert_false(gpumon_histogram_percentile(&histogram, 500).known);
}

static void percentile_of_one(void **state)
{
	uint64_t value = 1234567;
	struct gpumon_histogram histogram;

	(void)state;
	fill(&histogram, &value, 1, true);
	/* min = max: exact, whatever the bucket's width. */
	assert_int_equal(gpumon_histogram_percentile(&histogram, 500).v, value);
	assert_int_equal(gpumon_histogram_percentile(&histogram, 990).v, value);
	free(histogram.buckets);
}

static void percentile_at_the_end_of_the_range(void **state)
{
	struct gpumon_histogram histogram = { .min = gpumon_value_of(UINT64_MAX - 5),
					      .max = gpumon_value_of(UINT64_MAX) };
	struct gpumon_value got;

	(void)state;
	gpumon_histogram_add_bucket(&histogram, 7ULL << 61, UINT64_MAX, UINT64_MAX / 2);
	got = gpumon_histogram_percentile(&histogram, 990);
	assert_true(got.known);
	assert_true(got.v >= UINT64_MAX - 5);
	free(histogram.buckets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentile_brute_force),
		cmocka_unit_test(percentile_of_nothing),
		cmocka_unit_test(percentile_of_one),
		cmocka_unit_test(percentile_at_the_end_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
