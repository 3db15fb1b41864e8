// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The tools' views: what they find, and that they find nothing where there is nothing. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

#define LANES 32

static void begin(struct sample *sample, const char *tool)
{
	sample_init(sample);
	sample_tool(sample, tool);
	sample_device(sample, 4);
	sample_kernel(sample, "_Z9vectorAddPKfS0_Pf", GPUMON_PROBE_WAY_PTX);
}

/* Of each tool: its own view, not one for any object, and no complaint if nothing was counted. */
static void tools_have_views(void **state)
{
	static const struct {
		const char *tool;
		const char *table; /* that only the tool's own view has */
	} tools[] = {
		{ "kernelretsnoop", "by_kernel" }, { "threadhist", "threads" },
		{ "launchlate", "distances" },	   { "cuda-counter", "by_kernel" },
		{ "memtrace", "lines" },	   { "directly-run", "sizes" },
		{ "warpimbalance", "by_kernel" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(tools); i++) {
		struct sample sample;
		struct json_object *document;
		const char *text;

		begin(&sample, tools[i].tool);
		document = sample_json(&sample);
		sample_rows(document, tools[i].table);
		text = sample_print(&sample, true);
		assert_not_in(text, "stands out");
		assert_in(text, "Nothing was lost.\n");
		sample_clear(&sample);
	}
}

/* A tool whose maps were changed gets a table for each map. */
static void changed_tools_are_shown(void **state)
{
	struct sample sample;

	(void)state;
	begin(&sample, "threadhist");
	sample.maps[0].name = "others";
	sample_add(&sample, 0, 0, 0, 5, 0, 17);
	assert_in(sample_print(&sample, false), "others\nTHREAD OTHERS\n     5     17\n");
	sample_clear(&sample);
}

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
	begin(&sample, "kernelretsnoop");
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
	begin(&sample, "kernelretsnoop");
	map = sample_find(&sample, "lanes");
	sample_kernel(&sample, "even", GPUMON_PROBE_WAY_PTX);
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
	begin(&sample, "kernelretsnoop");
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
	begin(&sample, "kernelretsnoop");
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
	begin(&sample, "threadhist");
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
	sample_kernel(&sample, "other", GPUMON_PROBE_WAY_PTX);
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
	begin(&sample, "threadhist");
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
	begin(&sample, "threadhist");
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
	begin(&sample, "threadhist");
	sample_add(&sample, 0, sample_find(&sample, "runs"), 0, 32 * 9 + 1, 0, 3);
	assert_found(&sample,
		     "Warp 9 of vectorAdd (threads 288 to 289) ran to an exit, no other did");
	sample_clear(&sample);
}

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
	begin(&sample, "launchlate");
	start(&sample, 0, 0, 1000000);
	start(&sample, 0, 0, 1010000);
	start(&sample, 0, 0, 1001000);
	text = sample_print(&sample, true);
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
	begin(&sample, "launchlate");
	sample_device(&sample, 4);
	sample_kernel(&sample, "other", GPUMON_PROBE_WAY_PTX);
	for (uint32_t device = 0; device < 2; device++)
		sample.devices[device].clock = (struct gpumon_probe_clock){
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
		"1 of 3 kernels are not compared: they have not as many starts as launches (a graph was run, or records were lost)");
	assert_noted(
		&sample,
		"1 starts seem to be before their launch and count as 0: the clocks have drifted");
	assert_in(sample_print(&sample, false),
		  "GPU 0       4  3.00us  7.50us  9.00us  vectorAdd(");
	sample_clear(&sample);
}

static void unknown_clocks_are_said(void **state)
{
	struct sample sample;

	(void)state;
	begin(&sample, "launchlate");
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
	begin(&sample, "cuda-counter");
	sample_kernel(&sample, "_Z6reducePf", GPUMON_PROBE_WAY_PTX);
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
	begin(&sample, "cuda-counter");
	for (uint32_t i = 0; i < 2; i++)
		sample_kernel(&sample, "other", GPUMON_PROBE_WAY_PTX);
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
	begin(&sample, "cuda-counter");
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

/* As in memtrace.bpf.c. */
struct place {
	uint64_t line;
	uint32_t kernel;
	uint16_t flags;
	uint16_t sm;
};

static void access_memory(struct sample *sample, uint32_t device, struct place place,
			  uint64_t accesses, uint64_t bytes, uint64_t sectors)
{
	uint32_t map = sample_find(sample, "places");
	uint32_t shard = place.sm % sample->devices[device].shards;
	uint32_t index = (place.line ? 512 + (uint32_t)place.line : place.kernel) * 8 + place.flags;

	sample_add(sample, device, map, shard, index, 0, accesses);
	sample_add(sample, device, map, shard, index, 1, accesses * bytes);
	sample_add(sample, device, map, shard, index, 2, accesses * sectors);
}

static void scattered_lines_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint64_t line, again, other;

	(void)state;
	begin(&sample, "memtrace");
	sample_device(&sample, 1);
	line = sample_line(&sample, 0, "src/foo.cu", 42);
	other = sample_line(&sample, 0, "src/foo.cu", 43);
	/* The same line in another image. */
	again = sample_line(&sample, 0, "src/foo.cu", 42);
	for (uint16_t sm = 0; sm < 50; sm++) {
		access_memory(&sample, sm % 2, (struct place){ line, 0, GPUMON_PROBE_READ, sm }, 10,
			      128, 32);
		access_memory(&sample, 0, (struct place){ again, 0, GPUMON_PROBE_READ, sm }, 10,
			      128, 32);
		access_memory(&sample, 0, (struct place){ other, 0, GPUMON_PROBE_WRITE, sm }, 1000,
			      128, 4);
	}
	/* One thread needs a sector whatever it reads; and few accesses do not matter. */
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_PROBE_READ, 1 }, 20000, 4, 1);
	access_memory(&sample, 0, (struct place){ 0, 7, GPUMON_PROBE_READ | GPUMON_PROBE_WRITE, 1 },
		      1, 128, 32);
	assert_found(
		&sample,
		"foo.cu:42 of vectorAdd, read: 32.0 sectors for 128 bytes of a warp: 8.0 times what coalesced access needs");
	document = sample_json(&sample);
	rows = sample_rows(document, "lines");
	assert_int_equal(json_object_array_length(rows), 4);
	assert_int_equal(row_number(rows, 0, "accesses"), 50000);
	assert_string_equal(row_text(rows, 0, "line"), "foo.cu:43");
	assert_string_equal(row_text(rows, 0, "direction"), "write");
	assert_int_equal(row_number(rows, 1, "accesses"), 1000);
	assert_int_equal(row_number(rows, 1, "bytes"), 128000);
	assert_int_equal(row_number(rows, 1, "sectors"), 32000);
	assert_null(row_text(rows, 2, "line"));
	assert_string_equal(row_text(rows, 3, "direction"), "atomic");
	assert_string_equal(row_text(rows, 3, "kernel_name"), "kernel 7");
	assert_in(sample_print(&sample, false),
		  "  12.7%   125KiB     1,000    32.00    4.00  read    foo.cu:42  "
		  "vectorAdd(float const*, float const*, float*)\n");
	sample_clear(&sample);
}

/* Accesses of one piece by whole warps are one number for each size. */
static void whole_warps_add_up(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint32_t map, place = 3 * 8 + GPUMON_PROBE_WRITE;

	(void)state;
	begin(&sample, "memtrace");
	sample_device(&sample, 1);
	map = sample_find(&sample, "places");
	for (uint32_t i = 0; i < 5; i++)
		sample_add(&sample, i % 2, map, 0, place, 3 + i, 10 + i);
	/* Two of them began in the middle of a sector; and another access. */
	sample_add(&sample, 0, map, 1, place, 2, 2);
	access_memory(&sample, 0, (struct place){ 0, 3, GPUMON_PROBE_WRITE, 1 }, 1, 100, 7);
	/* A place that has only these. */
	sample_add(&sample, 0, map, 0, 4 * 8 + GPUMON_PROBE_READ, 7, UINT64_MAX / 16);
	document = sample_json(&sample);
	rows = sample_rows(document, "lines");
	assert_int_equal(json_object_array_length(rows), 2);
	assert_string_equal(row_text(rows, 0, "kernel_name"), "kernel 4");
	assert_int_equal(row_number(rows, 0, "accesses"), UINT64_MAX / 16);
	assert_int_equal(row_number(rows, 1, "accesses"), 10 + 11 + 12 + 13 + 14 + 1);
	assert_int_equal(row_number(rows, 1, "bytes"),
			 32 * (10 + 2 * 11 + 4 * 12 + 8 * 13 + 16 * 14) + 100);
	assert_int_equal(row_number(rows, 1, "sectors"),
			 10 + 2 * 11 + 4 * 12 + 8 * 13 + 16 * 14 + 2 + 7);
	sample_clear(&sample);
}

static void coalesced_lines_are_not(void **state)
{
	struct sample sample;

	(void)state;
	begin(&sample, "memtrace");
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_PROBE_READ, 1 }, 100, 128, 7);
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_PROBE_WRITE, 1 }, 100, 128, 1);
	assert_found(
		&sample,
		"No line stands out: none with 5 % of the sectors takes twice what coalesced access needs");
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
	begin(&sample, "directly-run");
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

static void waiting_blocks_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint32_t wait, time, last;
	const char *text;

	(void)state;
	begin(&sample, "warpimbalance");
	wait = sample_find(&sample, "straggling_ns_by_kernel");
	time = sample_find(&sample, "warp_ns_by_kernel");
	last = sample_find(&sample, "lasts");
	sample_add(&sample, 0, wait, 0, 0, 13, 60);
	sample_add(&sample, 0, wait, 1, 0, 7, 40);
	sample_add(&sample, 0, time, 2, 0, 14, 800);
	sample_add(&sample, 0, last, 1, 0, 0, 90);
	sample_add(&sample, 0, last, 1, 7, 0, 10);
	sample_add(&sample, 0, sample_find(&sample, "crowded"), 3, 0, 0, 12);
	assert_found(
		&sample,
		"60 of 100 blocks of vectorAdd wait 8.19us or more for their last warp; half of its warps take 16.4us or more");
	assert_found(&sample, "Warp 0 of a block of vectorAdd is the last one in 90 % of them");
	assert_noted(
		&sample,
		"12 exits of warps are not in the waits: another block had their block's place");
	text = sample_print(&sample, true);
	assert_in(text, "Blocks of vectorAdd by their wait for the last warp\n"
			"  FROM     TO COUNT SHARE\n"
			" 128ns  255ns    40 40.0% #####################");
	assert_in(text, "Which warp of a block of vectorAdd is the last one\n"
			"WARP BLOCKS\n"
			"   0     90 ################################\n"
			"   7     10 ###");
	document = sample_json(&sample);
	rows = sample_rows(document, "by_kernel");
	assert_int_equal(row_number(rows, 0, "blocks"), 100);
	assert_int_equal(row_number(rows, 0, "half_wait_ns"), 8192);
	assert_int_equal(row_number(rows, 0, "tenth_wait_ns"), 8192);
	assert_int_equal(row_number(rows, 0, "half_warp_ns"), 16384);
	sample_clear(&sample);
}

/* Few blocks, but they wait as long as a warp takes. */
static void few_waiting_blocks_are_found(void **state)
{
	struct sample sample;
	uint32_t wait;

	(void)state;
	begin(&sample, "warpimbalance");
	wait = sample_find(&sample, "straggling_ns_by_kernel");
	sample_add(&sample, 0, wait, 0, 0, 8, 90);
	sample_add(&sample, 0, wait, 0, 0, 14, 10);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 0, 0, 14, 800);
	assert_found(
		&sample,
		"10 of 100 blocks of vectorAdd wait 16.4us or more for their last warp; half of its warps take 16.4us or more");
	sample_clear(&sample);
}

static void even_blocks_are_not(void **state)
{
	struct sample sample;

	(void)state;
	begin(&sample, "warpimbalance");
	/* The wait is long, but not for warps that take so long. */
	sample_add(&sample, 0, sample_find(&sample, "straggling_ns_by_kernel"), 0, 0, 10, 60);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 0, 0, 14, 60);
	/* And here both are nothing that a clock can tell. */
	sample_add(&sample, 0, sample_find(&sample, "straggling_ns_by_kernel"), 0, 1, 6, 60);
	sample_add(&sample, 0, sample_find(&sample, "warp_ns_by_kernel"), 0, 1, 6, 60);
	assert_found(
		&sample,
		"No kernel stands out: in none do half of the blocks wait a quarter of a warp's time for their last warp, or a tenth of them all of it, and 100 ns");
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_have_views),
		cmocka_unit_test(changed_tools_are_shown),
		cmocka_unit_test(late_lanes_are_found),
		cmocka_unit_test(early_lanes_are_found),
		cmocka_unit_test(even_lanes_are_not),
		cmocka_unit_test(kernelretsnoop_in_json),
		cmocka_unit_test(busy_warps_are_found),
		cmocka_unit_test(idle_warps_and_lanes_are_found),
		cmocka_unit_test(even_threads_are_not),
		cmocka_unit_test(single_threads_are_found),
		cmocka_unit_test(starts_without_launches),
		cmocka_unit_test(late_starts_are_found),
		cmocka_unit_test(unknown_clocks_are_said),
		cmocka_unit_test(main_kernels_are_found),
		cmocka_unit_test(many_kernels_are_noted),
		cmocka_unit_test(even_kernels_are_not),
		cmocka_unit_test(scattered_lines_are_found),
		cmocka_unit_test(coalesced_lines_are_not),
		cmocka_unit_test(whole_warps_add_up),
		cmocka_unit_test(results_are_checked),
		cmocka_unit_test(waiting_blocks_are_found),
		cmocka_unit_test(few_waiting_blocks_are_found),
		cmocka_unit_test(even_blocks_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
