// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Busy times and distributions, compared with sorting; captures of programs, and of nonsense. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "capture/capture_maker.h"
#include "common.h"
#include "report/distribution.h"
#include "report/profile_busy.h"
#include "capture/correlate_program.h"

/* --- distributions */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_distribution(const uint64_t *sorted, unsigned int count,
			       const struct gpumon_distribution *distribution)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += sorted[i];
	assert_int_equal(gpumon_distribution_count(distribution), count);
	assert_int_equal(gpumon_distribution_sum(distribution), sum);
	assert_int_equal(gpumon_distribution_min(distribution), sorted[0]);
	assert_int_equal(gpumon_distribution_max(distribution), sorted[count - 1]);
	for (unsigned int percent = 0; percent <= 100; percent++) {
		uint64_t quantile = gpumon_distribution_quantile(distribution, percent / 100.0);
		/* The smallest value with that share of the values at or below it. */
		unsigned int rank = (unsigned int)((uint64_t)percent * count + 99) / 100;
		uint64_t exact = sorted[rank ? rank - 1 : 0];

		assert_true(quantile >= exact);
		assert_true(quantile - exact <= exact / 16);
	}
}

static void test_distribution(void **state)
{
	static uint64_t values[3000];
	uint64_t random = 4;

	(void)state;
	for (unsigned int round = 0; round < 60; round++) {
		struct gpumon_distribution distribution = { 0 };
		unsigned int count = 1 + (unsigned int)(test_random(&random) % 3000);
		unsigned int bits = 1 + round % 52;

		for (unsigned int i = 0; i < count; i++) {
			values[i] = test_random(&random) & ((1ull << bits) - 1);
			gpumon_distribution_add(&distribution, values[i]);
		}
		qsort(values, count, sizeof(values[0]), by_value);
		check_distribution(values, count, &distribution);
		gpumon_distribution_clear(&distribution);
	}
}

static void test_distribution_ends(void **state)
{
	struct gpumon_distribution distribution = { 0 };

	(void)state;
	assert_int_equal(gpumon_distribution_quantile(&distribution, 0.5), 0);
	gpumon_distribution_add(&distribution, UINT64_MAX);
	gpumon_distribution_add(&distribution, 0);
	assert_int_equal(gpumon_distribution_quantile(&distribution, 0), 0);
	assert_int_equal(gpumon_distribution_quantile(&distribution, 0.5), 0);
	assert_true(gpumon_distribution_quantile(&distribution, 0.51) == UINT64_MAX);
	assert_true(gpumon_distribution_quantile(&distribution, 7) == UINT64_MAX);
	gpumon_distribution_clear(&distribution);
}

/* --- busy times */

struct gaps {
	struct gpumon_interval *at;
	unsigned int count;
	unsigned int room;
};

static void on_gap(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin)
{
	struct gaps *gaps = data;

	(void)origin;

	if (gaps->count == gaps->room) {
		gaps->room = gaps->room ? gaps->room * 2 : 64;
		gaps->at = realloc(gaps->at, gaps->room * sizeof(*gaps->at));
		assert_non_null(gaps->at);
	}
	gaps->at[gaps->count++] = (struct gpumon_interval){ start_ns, end_ns, 0 };
}

static void run_busy(struct gpumon_busy *busy, const struct gpumon_interval *intervals,
		     unsigned int count, struct gaps *gaps)
{
	memset(busy, 0, sizeof(*busy));
	for (unsigned int i = 0; i < count; i++)
		gpumon_busy_look(busy, &intervals[i]);
	gpumon_busy_turn(busy, 0);
	for (unsigned int i = 0; i < count; i++)
		gpumon_busy_add(busy, &intervals[i], on_gap, gaps);
	gpumon_busy_end(busy, 0, on_gap, gaps);
}

static int by_start(const void *a, const void *b)
{
	return by_value(&((const struct gpumon_interval *)a)->start_ns,
			&((const struct gpumon_interval *)b)->start_ns);
}

static void check_busy(struct gpumon_interval *intervals, unsigned int count)
{
	struct gaps gaps = { 0 };
	struct gpumon_busy busy;
	uint64_t busy_ns = 0, longest = 0, done = 0;
	unsigned int seen = 0;

	run_busy(&busy, intervals, count, &gaps);
	qsort(intervals, count, sizeof(*intervals), by_start);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t start = intervals[i].start_ns, end = intervals[i].end_ns;

		if (i && start > done) {
			assert_true(seen < gaps.count);
			assert_int_equal(gaps.at[seen].start_ns, done);
			assert_int_equal(gaps.at[seen++].end_ns, start);
			longest = start - done > longest ? start - done : longest;
		}
		start = start > done ? start : done;
		if (end > start)
			busy_ns += end - start;
		done = end > done ? end : done;
	}
	assert_int_equal(gaps.count, seen);
	assert_int_equal(busy.busy_ns, busy_ns);
	assert_int_equal(busy.idle_longest_ns, longest);
	assert_int_equal(busy.missed_ns, 0);
	gpumon_busy_clear(&busy);
	free(gaps.at);
}

/* Roughly in order. Some are very long and come when they end. */
static void test_busy(void **state)
{
	struct gpumon_interval *intervals = calloc(20000, sizeof(*intervals));
	uint64_t random = 5;

	(void)state;
	for (unsigned int round = 0; round < 60; round++) {
		unsigned int count = 1 + (unsigned int)(test_random(&random) % 20000);
		uint64_t jitter = 1ull << test_random(&random) % 24;
		uint64_t now = 1ull << 40;
		unsigned int seldom = round % 3 ? 3000 : 2; /* so many that they are normal */

		for (unsigned int i = 0; i < count; i++) {
			uint64_t length = test_random(&random) % 3000;

			now += test_random(&random) % 4000;
			intervals[i].start_ns = now - test_random(&random) % jitter;
			intervals[i].end_ns = intervals[i].start_ns + length;
			if (test_random(&random) % seldom == 0)
				intervals[i].start_ns -= test_random(&random) % (1u << 30);
		}
		check_busy(intervals, count);
	}
	free(intervals);
}

/* So far out of order that not all fit: what is not counted is reported. */
static void test_busy_too_late(void **state)
{
	const unsigned int count = 400000;
	struct gpumon_interval *intervals = calloc(count, sizeof(*intervals));
	struct gaps gaps = { 0 };
	struct gpumon_busy busy;
	uint64_t random = 6;

	(void)state;
	for (unsigned int i = 0; i < count; i++) {
		intervals[i].start_ns = 1000 + 10ull * i;
		intervals[i].end_ns = intervals[i].start_ns + 7;
	}
	for (unsigned int i = count; i > 1; i--) {
		unsigned int other = (unsigned int)(test_random(&random) % i);
		struct gpumon_interval interval = intervals[i - 1];

		intervals[i - 1] = intervals[other];
		intervals[other] = interval;
	}
	run_busy(&busy, intervals, count, &gaps);
	assert_true(busy.missed_ns > 0);
	assert_int_equal(busy.busy_ns + busy.missed_ns, 7ull * count);
	gpumon_busy_clear(&busy);
	free(intervals);
	free(gaps.at);
}

/* --- texts and keys */

static void test_pool(void **state)
{
	struct gpumon_pool pool = { 0 };
	struct gpumon_keys keys = { 0 };
	char text[100];
	bool added;

	(void)state;
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 5000; i++) {
			const struct gpumon_key key = { { i / 7, i % 7, 1, 2, i } };
			const char *kept;

			snprintf(text, sizeof(text), "text %u", i);
			kept = gpumon_pool_text(&pool, text);
			assert_string_equal(kept, text);
			assert_ptr_equal(kept, gpumon_pool_part(&pool, kept, strlen(kept)));
			assert_int_equal(gpumon_keys_number(&keys, &key, &added), i);
			assert_int_equal(added, !round);
			assert_int_equal(gpumon_keys_number(&keys, &key, NULL), i);
		}
	}
	assert_int_equal(pool.used, 5000);
	assert_string_equal(gpumon_pool_part(&pool, "ab\0cd", 5), "ab");
	assert_string_equal(gpumon_pool_part(&pool, "abcd", 2), "ab");
	gpumon_keys_clear(&keys);
	gpumon_pool_clear(&pool);
}

/* --- captures of any bytes */

static uint64_t sum(const struct gpumon_node *node, uint64_t *count)
{
	uint64_t ns = node->gpu_ns;

	*count += node->count;
	for (const struct gpumon_node *child = node->child; child; child = child->next)
		ns += sum(child, count);
	return ns;
}

/* Whatever the input, the parts are consistent. */
static void check_profile(const char *path, const struct gpumon_profile_options *options)
{
	struct gpumon_profile *profile = NULL;
	const struct gpumon_correlate_counts *counts;
	const struct gpumon_device_row *devices;
	const struct gpumon_kernel_row *kernels;
	uint64_t works = 0, tree = 0, rows = 0, of_devices = 0, ns, rows_ns = 0;
	unsigned int n;

	assert_int_equal(gpumon_profile_load(&path, 1, options, &profile), 0);
	counts = gpumon_profile_counts(profile);
	for (unsigned int i = 0; i < GPUMON_WORK_KINDS * GPUMON_MATCH_KINDS; i++)
		works += counts->works[i / GPUMON_MATCH_KINDS][i % GPUMON_MATCH_KINDS];
	ns = sum(gpumon_profile_root(profile), &tree);
	kernels = gpumon_profile_kernels(profile, &n);
	for (unsigned int i = 0; i < n; i++) {
		rows += kernels[i].count;
		rows_ns += kernels[i].gpu_ns;
	}
	devices = gpumon_profile_devices(profile, &n);
	for (unsigned int i = 0; i < n; i++)
		of_devices += devices[i].stream == ~0u ? devices[i].count : 0;
	assert_int_equal(rows, works);
	assert_int_equal(of_devices, works);
	if (options->gpu_only)
		assert_int_equal(tree, works);
	if (!options->cpu_only)
		assert_int_equal(ns, rows_ns);
	assert_int_equal(counts->in_flight, 0);
	gpumon_profile_free(profile);
}

static void save_and_check(struct capture_maker *maker, const char *directory, unsigned int number)
{
	const struct gpumon_profile_options options = {
		.devices = number & 1,
		.streams = number & 2,
		.graphs = number & 4,
		.threads = number & 8,
		.processes = number & 16,
		.cpu_only = number % 5 == 1,
		.gpu_only = number % 5 == 2,
		.no_inline = number & 32,
	};
	char path[600];

	snprintf(path, sizeof(path), "%s/%u", directory, number);
	capture_maker_save(maker, path, "process-1-1", 7);
	check_profile(path, &options);
}

static void test_example(void **state)
{
	char *directory = capture_maker_directory();
	struct capture_maker *maker = capture_maker_new();

	(void)state;
	make_example(maker, 5000000000, 0);
	for (unsigned int i = 0; i < 36; i++)
		save_and_check(maker, directory, i);
	capture_maker_free(maker);
	capture_maker_remove(directory);
}

static void test_nonsense(void **state)
{
	char *directory = capture_maker_directory();
	uint64_t random = 7;

	(void)state;
	for (unsigned int round = 0; round < 80; round++) {
		struct capture_maker *example = capture_maker_new();
		struct capture_maker *maker = capture_maker_new();
		const struct gpumon_record *record = NULL;

		make_example(example, 5000000000, round);
		while ((record = capture_maker_next(example, record))) {
			union {
				struct gpumon_record head;
				uint8_t bytes[GPUMON_RECORD_SIZE_MAX];
			} *copy = malloc(record->size);
			unsigned int changes = (unsigned int)(test_random(&random) % 4);

			memcpy(copy, record, record->size);
			/* Only change contents: other tests cover the reader. */
			while (changes-- && record->size > sizeof(*record))
				copy->bytes[sizeof(*record) +
					    test_random(&random) % (record->size - sizeof(*record))] =
					(uint8_t)test_random(&random);
			if (test_random(&random) % 8)
				capture_maker_raw(maker, copy, record->size);
			free(copy);
		}
		save_and_check(maker, directory, round);
		capture_maker_free(maker);
		capture_maker_free(example);
	}
	capture_maker_remove(directory);
}

/* A whole shuffled program with losses: no nanosecond is lost or on a wrong path. */
static void check_program(const char *directory, const struct program_options *options)
{
	const struct gpumon_profile_options tree = { .threads = true };
	struct capture_maker *maker = capture_maker_new();
	struct gpumon_profile *profile = NULL;
	char name[600];
	const char *path = name;
	struct program *program = program_new(options);
	uint64_t all_ns = 0, rows_ns = 0, devices_ns = 0, count = 0, unmatched = 0;
	const struct gpumon_correlate_counts *counts;
	const struct gpumon_device_row *devices;
	const struct gpumon_kernel_row *rows;
	unsigned int n;

	snprintf(name, sizeof(name), "%s/program%u", directory, (unsigned int)options->seed);
	for (unsigned int i = 0; i < program->record_count; i++)
		capture_maker_raw(maker, &program->records[i], program->records[i].head.size);
	for (unsigned int i = 0; i < program->work_count; i++)
		all_ns += program->works[i].recorded ? program->works[i].duration_ns : 0;
	capture_maker_save(maker, path, "process-1-1", 7);
	assert_int_equal(gpumon_profile_load(&path, 1, &tree, &profile), 0);
	counts = gpumon_profile_counts(profile);
	for (unsigned int i = 0; i < GPUMON_LAUNCH_ENDS; i++)
		unmatched += counts->unmatched_launches[i];
	assert_int_equal(sum(gpumon_profile_root(profile), &count), all_ns);
	assert_int_equal(count, program->works_recorded + unmatched);
	assert_int_equal(counts->launches + unmatched, program->launches_recorded);
	rows = gpumon_profile_kernels(profile, &n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(gpumon_distribution_sum(rows[i].duration), rows[i].gpu_ns);
		rows_ns += rows[i].gpu_ns;
	}
	assert_int_equal(rows_ns, all_ns);
	devices = gpumon_profile_devices(profile, &n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(devices[i].missed_ns, 0);
		/* A stream runs one operation at a time. */
		if (devices[i].stream != ~0u)
			assert_int_equal(devices[i].busy_ns, devices[i].gpu_ns);
		else
			devices_ns += devices[i].gpu_ns;
	}
	assert_int_equal(devices_ns, all_ns);
	gpumon_profile_free(profile);
	capture_maker_free(maker);
	program_free(program);
}

static void test_programs(void **state)
{
	char *directory = capture_maker_directory();

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		check_program(directory,
			      &(struct program_options){
				      .seed = 100 + i,
				      .threads = i & 1 ? 4 : 1,
				      .calls = 1000,
				      .streams = 3,
				      .stride = 1,
				      .first_id = 1,
				      .graphs = i & 2,
				      .loss = { .launches = 10, .works = 10 },
				      .order = i & 1 ? PROGRAM_SHUFFLED : PROGRAM_IN_TIME,
			      });
	capture_maker_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distribution), cmocka_unit_test(test_distribution_ends),
		cmocka_unit_test(test_busy),	     cmocka_unit_test(test_busy_too_late),
		cmocka_unit_test(test_pool),	     cmocka_unit_test(test_example),
		cmocka_unit_test(test_nonsense),     cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
