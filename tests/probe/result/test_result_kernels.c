// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Views of kernels, launchlate, cuda-counter and directly-run: what they find, and that they find no more. */
#include "common.h"

#include "sample.h"

static void start(struct sample *sample, uint32_t device, uint64_t kernel, uint64_t ns)
{
	uint64_t record[2] = { kernel, ns };

	sample_record(sample, device, sample_find(sample, "starts"), record, sizeof(record));
}

static void starts_without_launches(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	const char *text;

	(void)state;
	sample_begin(&sample, "launchlate");
	start(&sample, 0, 0, 1000000);
	start(&sample, 0, 0, 1010000);
	start(&sample, 0, 0, 1001000);
	sample.result.launches_why = "of graphs";
	text = sample_print(&sample, true);
	assert_in(text, "Starts are not compared with launches: of graphs.\n");
	assert_in(text, "Starts, from the first one on\n"
			"      AT   AFTER  KERNEL\n"
			"     0ns       -  vectorAdd(float const*, float const*, float*)\n"
			"  1.00us  1.00us  vectorAdd(float const*, float const*, float*)\n"
			"  10.0us  9.00us  vectorAdd(float const*, float const*, float*)\n");
	assert_in(text, "1 of 2 kernels start 8.19us or more after the one before.\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "starts");
	assert_int_equal(row_number(rows, 2, "since_first_ns"), 10000);
	assert_int_equal(row_number(rows, 2, "since_previous_ns"), 9000);
	assert_int_equal(row_number(rows, 2, "gpu_clock_ns"), 1010000);
	rows = sample_rows(document, "distances");
	assert_int_equal(json_object_array_length(rows), 2);
	sample_clear(&sample);
}

static void late_starts_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;

	(void)state;
	sample_begin(&sample, "launchlate");
	sample_device(&sample, 4);
	sample_kernel(&sample, "other", GPUMON_GPUPROG_WAY_PTX);
	for (uint32_t device = 0; device < 2; device++)
		sample.devices[device].clock = (struct gpumon_gpuprog_clock){
			.known = true, .offset_ns = device ? 500 : -1000, .error_ns = 300
		};
	/* On device 0 the GPU's clock is 1000 ahead. */
	for (uint32_t i = 0; i < 4; i++) {
		sample_launch(&sample, 0, 0, 100000 * (i + 1));
		start(&sample, 0, 0, 100000 * (i + 1) + 1000 + (i ? 9000 : 3000));
	}
	/* Within the error before its launch, and further before. */
	sample_launch(&sample, 1, 0, 100000);
	start(&sample, 1, 0, 100000 - 500 - 300);
	sample_launch(&sample, 1, 0, 200000);
	start(&sample, 1, 0, 200000 - 500 - 301);
	/* One start too few. */
	sample_launch(&sample, 1, 1, 300000);
	sample_launch(&sample, 1, 1, 400000);
	start(&sample, 1, 1, 300000);
	document = sample_json(&sample);
	rows = sample_rows(document, "by_kernel");
	assert_int_equal(json_object_array_length(rows), 3);
	assert_int_equal(row_number(rows, 0, "launches"), 4);
	assert_int_equal(row_number(rows, 0, "sum_ns"), 30000);
	assert_int_equal(row_number(rows, 0, "least_ns"), 3000);
	assert_int_equal(row_number(rows, 0, "mean_ns"), 7500);
	assert_int_equal(row_number(rows, 0, "most_ns"), 9000);
	assert_int_equal(row_number(rows, 1, "sum_ns"), 0);
	assert_null(row_text(rows, 2, "sum_ns"));
	assert_found(&sample, "3 of 6 kernels start 8.19us or more after their launch");
	assert_noted(&sample, "The GPU's clock is known to within 300ns");
	assert_noted(
		&sample,
		"1 of 3 kernels are not compared: they have not as many starts as launches (records were lost, a launch failed, or the process was killed)");
	assert_noted(
		&sample,
		"1 starts seem to be before their launch and count as 0: the clocks have drifted");
	assert_in(sample_print(&sample, false),
		  "GPU 0       4  3.00us  7.50us  9.00us  vectorAdd(");
	sample_clear(&sample);
}

static void processes_without_launches_are_counted(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "launchlate");
	sample.devices[0].clock.known = true;
	sample_launch(&sample, 0, 0, 100000);
	start(&sample, 0, 0, 100000);
	sample.result.launchers_left_out = 3;
	assert_noted(
		&sample,
		"Launches of 3 processes are not known, and their kernels are not compared: there were too many at a time, or there was no memory. Start fewer processes at a time");
	sample_clear(&sample);
}

static void unknown_clocks_are_said(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "launchlate");
	sample_launch(&sample, 0, 0, 100000);
	start(&sample, 0, 0, 100000);
	assert_noted(&sample,
		     "Starts are not compared with launches: the clock of the GPU is not known");
	sample_clear(&sample);
}

static void main_kernels_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	const char *text;

	(void)state;
	sample_begin(&sample, "cuda-counter");
	sample_kernel(&sample, "_Z6reducePf", GPUMON_GPUPROG_WAY_PTX);
	sample_add(&sample, 0, sample_find(&sample, "calls_by_kernel"), 0, 0, 0, 5);
	sample_add(&sample, 0, sample_find(&sample, "warps_by_kernel"), 3, 0, 0, 100);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 1, 0, 0, 20000);
	sample_add(&sample, 0, sample_find(&sample, "calls_by_kernel"), 0, 1, 0, 1);
	sample_add(&sample, 0, sample_find(&sample, "warps_by_kernel"), 2, 1, 0, 40);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 2, 1, 0, 60000);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 3, 1, 0, 20000);
	for (uint32_t i = 0; i < 10; i++) {
		sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_sm"), 0, i, 0, 9500);
		sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_block"), 0, i, 0, 9000);
	}
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_block"), 0, 3, 0, 9000);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_block"), 0, 65535, 0, 100000);
	assert_found(&sample, "reduce takes 80 % of the time of all warps");
	assert_found(&sample, "The time of block 3 is 2.0 times that of the median block");
	assert_noted(&sample,
		     "100us is of blocks from number 65535 on, which are counted together");
	text = sample_print(&sample, true);
	assert_in(text, "  80.0%  80.0us      1     40     2.00us  "
			"################################  reduce(float*)\n");
	assert_in(text, "  20.0%  20.0us      5    100      200ns  ########");
	assert_in(text, "SM      10 9.50us 9.50us 9.50us     0\n");
	assert_in(text, "block   10 9.00us 9.00us 18.0us     3\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "by_kernel");
	assert_int_equal(row_number(rows, 0, "kernel"), 1);
	assert_int_equal(row_number(rows, 0, "warp_ns"), 80000);
	assert_int_equal(row_number(rows, 1, "calls"), 5);
	rows = sample_rows(document, "warp_ns_by_block");
	assert_int_equal(row_number(rows, 3, "block"), 3);
	assert_int_equal(row_number(rows, 3, "warp_ns"), 18000);
	sample_clear(&sample);
}

/* More kernels than the tool has places for. */
static void many_kernels_are_noted(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "cuda-counter");
	for (uint32_t i = 0; i < 2; i++)
		sample_kernel(&sample, "other", GPUMON_GPUPROG_WAY_PTX);
	sample.maps[sample_find(&sample, "calls_by_kernel")].max_entries = 2;
	assert_noted(
		&sample,
		"other stands for 2 kernels, which are counted together: name kernels (--kernel) to tell them apart");
	sample_clear(&sample);
}

static void even_kernels_are_not(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "cuda-counter");
	for (uint32_t i = 0; i < 3; i++) {
		sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 0, i, 0, 100);
		sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_sm"), 0, i, 0,
			   100 + i * 20);
	}
	assert_found(&sample, "No kernel takes half of the time of all warps");
	assert_found(
		&sample,
		"No SM and no block stands out: none has 1.5 times the time of the median one");
	sample_clear(&sample);
}

static void fill_arrays(struct sample *sample, uint64_t n)
{
	uint32_t left = sample_find(sample, "left"), right = sample_find(sample, "right");

	sample_add(sample, 0, sample_find(sample, "sizes"), 0, 0, 0, n);
	for (uint32_t i = 0; i < n * n; i++) {
		sample_add(sample, 0, left, 0, i, 0, i + 1);
		sample_add(sample, 0, right, 0, i, 0, i * 3 + 2);
	}
}

static void results_are_checked(void **state)
{
	static const uint64_t product[4] = { 1 * 2 + 2 * 8, 1 * 5 + 2 * 11, 3 * 2 + 4 * 8,
					     3 * 5 + 4 * 11 };
	struct sample sample;
	uint32_t made, i;

	(void)state;
	sample_begin(&sample, "directly-run");
	assert_found(&sample, "Nothing was worked on: the size in sizes[0] is 0");
	made = sample_find(&sample, "result");
	fill_arrays(&sample, 2);
	for (i = 0; i < 2; i++)
		sample_add(&sample, 0, made, 0, i, 0, i * 4 + 3);
	assert_found(&sample, "All 2 values of the result are left + right");
	for (i = 0; i < 4; i++)
		*(uint64_t *)sample_at(&sample, 0, made, 0, i) = product[i];
	assert_found(&sample, "The result is the product of left and right, of 2 x 2 values");
	*(uint64_t *)sample_at(&sample, 0, made, 0, 3) = 0;
	assert_found(
		&sample,
		"The result is neither the sum nor the product of left and right: 0 of 2 sums are right, and 3 products");
	*(uint64_t *)sample_at(&sample, 0, sample_find(&sample, "sizes"), 0, 0) = UINT64_MAX;
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_without_launches),
		cmocka_unit_test(late_starts_are_found),
		cmocka_unit_test(processes_without_launches_are_counted),
		cmocka_unit_test(unknown_clocks_are_said),
		cmocka_unit_test(main_kernels_are_found),
		cmocka_unit_test(many_kernels_are_noted),
		cmocka_unit_test(even_kernels_are_not),
		cmocka_unit_test(results_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
