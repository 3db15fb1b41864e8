// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Views of threads and lanes, kernelretsnoop and threadhist: what they find, and that they find no more. */
#include "common.h"

#include "sample.h"

#define LANES 32

static void fill_lanes(struct sample *sample, uint32_t kernel, uint32_t exits, uint64_t ns)
{
	uint32_t map = sample_find(sample, "lanes");

	for (uint32_t i = 0; i < LANES; i++) {
		sample_add(sample, 0, map, i % 4, kernel * LANES + i, 0, exits);
		sample_add(sample, 0, map, i % 4, kernel * LANES + i, 1, exits * ns);
	}
}

static void late_lanes_are_found(void **state)
{
	struct sample sample;
	uint32_t map;
	const char *text;

	(void)state;
	sample_begin(&sample, "kernelretsnoop");
	map = sample_find(&sample, "lanes");
	fill_lanes(&sample, 0, 100, 5000);
	sample_add(&sample, 0, map, 0, 31, 1, 100 * 750);
	assert_found(&sample, "Thread 31 of each warp leaves vectorAdd 750ns after the others");
	text = sample_print(&sample, true);
	assert_in(text, "Threads of each warp of vectorAdd\n"
			"THREAD EXITS   MEAN AFTER FIRST\n"
			"     0   100 5.00us         0ns\n");
	assert_in(text, "    31   100 5.75us       750ns ################################\n");
	assert_in(text, "\nThread 31 of each warp leaves vectorAdd 750ns after the others.\n");
	/* Half of them: the later ones stand out. */
	for (uint32_t i = 16; i < 31; i++)
		sample_add(&sample, 0, map, 0, i, 1, 100 * 750);
	assert_found(&sample,
		     "Threads 16 to 31 of each warp leave vectorAdd 750ns after the others");
	sample_clear(&sample);
}

static void early_lanes_are_found(void **state)
{
	struct sample sample;
	uint32_t map;

	(void)state;
	sample_begin(&sample, "kernelretsnoop");
	map = sample_find(&sample, "lanes");
	sample_kernel(&sample, "even", GPUMON_GPUPROG_WAY_PTX);
	fill_lanes(&sample, 0, 10, 10000);
	fill_lanes(&sample, 1, 10, 10000);
	sample_add(&sample, 0, map, 0, 0, 1, (uint64_t)-20000);
	sample_add(&sample, 0, map, 0, 1, 1, (uint64_t)-20000);
	assert_found(&sample,
		     "Threads 0 and 1 of each warp leave vectorAdd 2.00us before the others");
	sample_clear(&sample);
}

static void even_lanes_are_not(void **state)
{
	struct sample sample;
	uint32_t map;

	(void)state;
	sample_begin(&sample, "kernelretsnoop");
	map = sample_find(&sample, "lanes");
	/* 99 ns are too little, and so is 1 % of a long kernel. */
	fill_lanes(&sample, 0, 10, 5000);
	fill_lanes(&sample, 1, 10, 1000000);
	sample_add(&sample, 0, map, 0, 7, 1, 990);
	sample_add(&sample, 0, map, 0, LANES + 7, 1, 99990);
	assert_found(
		&sample,
		"No thread stands out: the mean time of none is 100 ns and 1 % of it away from the median of the threads of a warp");
	sample_clear(&sample);
}

static void kernelretsnoop_in_json(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint64_t record[3] = { 77, 123456, 0 };

	(void)state;
	sample_begin(&sample, "kernelretsnoop");
	fill_lanes(&sample, 0, 10, 300);
	fill_lanes(&sample, 3, 1, 70);
	sample_add(&sample, 0, sample_find(&sample, "times_ns_by_lane"), 1, 9, 8, 10);
	sample_record(&sample, 0, sample_find(&sample, "exits"), record, sizeof(record));
	document = sample_json(&sample);
	rows = sample_rows(document, "lanes");
	assert_int_equal(json_object_array_length(rows), 2 * LANES);
	assert_int_equal(row_number(rows, 31, "lane"), 31);
	assert_int_equal(row_number(rows, 31, "sum_ns"), 3000);
	assert_int_equal(row_number(rows, 32, "kernel"), 3);
	assert_string_equal(row_text(rows, 32, "kernel_name"), "kernel 3");
	rows = sample_rows(document, "by_kernel");
	assert_int_equal(row_number(rows, 0, "exits"), 320);
	assert_int_equal(row_number(rows, 0, "mean_ns"), 300);
	assert_string_equal(row_text(rows, 0, "kernel_name"),
			    "vectorAdd(float const*, float const*, float*)");
	rows = sample_rows(document, "times_ns_by_lane");
	assert_int_equal(row_number(rows, 0, "lane"), 9);
	assert_int_equal(row_number(rows, 0, "from_ns"), 256);
	rows = sample_rows(document, "exits");
	assert_int_equal(row_number(rows, 0, "thread"), 77);
	assert_int_equal(row_number(rows, 0, "ns"), 123456);
	assert_string_equal(row_text(rows, 0, "kernel_name"), "vectorAdd");
	sample_clear(&sample);
}

static void fill_threads(struct sample *sample, uint32_t n, uint64_t runs)
{
	uint32_t map = sample_find(sample, "runs");

	for (uint32_t i = 0; i < n; i++)
		sample_add(sample, 0, map, 0, i, 0, runs);
}

static void busy_warps_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;

	(void)state;
	sample_begin(&sample, "threadhist");
	fill_threads(&sample, 1000, 10);
	fill_threads(&sample, 64, 22);
	assert_found(
		&sample,
		"Warps 0 and 1 of vectorAdd (threads 0 to 63) run 3.2 times as often as the rest");
	assert_in(sample_print(&sample, true),
		  "Runs of each thread\n"
		  "THREADS FROM  TO RUNS\n"
		  "           0  63   32 ################################\n"
		  "          64 999   10 ##########\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "threads");
	assert_int_equal(json_object_array_length(rows), 2);
	assert_int_equal(row_number(rows, 1, "from_thread"), 64);
	assert_int_equal(row_number(rows, 1, "to_thread"), 999);
	assert_int_equal(row_number(rows, 1, "runs_of_each"), 10);
	/* With another kernel it is not known which one they belong to. */
	sample_kernel(&sample, "other", GPUMON_GPUPROG_WAY_PTX);
	assert_found(
		&sample,
		"Warps 0 and 1 of all kernels together (threads 0 to 63) run 3.2 times as often as the rest");
	sample_clear(&sample);
}

static void idle_warps_and_lanes_are_found(void **state)
{
	struct sample sample;
	uint32_t map;

	(void)state;
	sample_begin(&sample, "threadhist");
	map = sample_find(&sample, "runs");
	fill_threads(&sample, 960, 10);
	for (uint32_t i = 0; i < 960; i += LANES)
		sample_add(&sample, 0, map, 0, i + 31, 0, (uint64_t)-5);
	assert_found(&sample,
		     "Thread 31 of each warp of vectorAdd runs 0.5 times as often as the others");
	/* Too many ranges for a table. */
	assert_in(sample_print(&sample, true),
		  "Runs of each thread, on average\n"
		  "THREADS FROM  TO RUNS\n"
		  "           0  31 9.84 ################################\n");
	for (uint32_t i = 7 * LANES; i < 8 * LANES; i++)
		*(uint64_t *)sample_at(&sample, 0, map, 0, i) = 1;
	assert_found(
		&sample,
		"Warp 7 of vectorAdd (threads 224 to 255) runs 0.1 times as often as the rest");
	sample_clear(&sample);
}

static void even_threads_are_not(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "threadhist");
	fill_threads(&sample, 1000, 10);
	fill_threads(&sample, 64, 4);
	assert_found(
		&sample,
		"No thread stands out: no warp runs 1.5 times as often as the median one, or half as often, and no thread of each warp differs by a tenth");
	sample_clear(&sample);
}

/* With a median of 0 there is nothing to compare with. */
static void single_threads_are_found(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "threadhist");
	sample_add(&sample, 0, sample_find(&sample, "runs"), 0, 32 * 9 + 1, 0, 3);
	assert_found(&sample,
		     "Warp 9 of vectorAdd (threads 288 to 289) ran to an exit, no other did");
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_lanes_are_found),
		cmocka_unit_test(early_lanes_are_found),
		cmocka_unit_test(even_lanes_are_not),
		cmocka_unit_test(kernelretsnoop_in_json),
		cmocka_unit_test(busy_warps_are_found),
		cmocka_unit_test(idle_warps_and_lanes_are_found),
		cmocka_unit_test(even_threads_are_not),
		cmocka_unit_test(single_threads_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
