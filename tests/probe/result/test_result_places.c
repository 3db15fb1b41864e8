// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Views of lines and blocks, memtrace and warpimbalance: what they find, and that they find no more. */
#include "common.h"

#include "sample.h"

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
	sample_begin(&sample, "memtrace");
	sample_device(&sample, 1);
	line = sample_line(&sample, 0, "src/foo.cu", 42);
	other = sample_line(&sample, 0, "src/foo.cu", 43);
	/* The same line in another image. */
	again = sample_line(&sample, 0, "src/foo.cu", 42);
	for (uint16_t sm = 0; sm < 50; sm++) {
		access_memory(&sample, sm % 2, (struct place){ line, 0, GPUMON_GPUPROG_READ, sm },
			      10, 128, 32);
		access_memory(&sample, 0, (struct place){ again, 0, GPUMON_GPUPROG_READ, sm }, 10,
			      128, 32);
		access_memory(&sample, 0, (struct place){ other, 0, GPUMON_GPUPROG_WRITE, sm },
			      1000, 128, 4);
	}
	/* One thread needs a sector whatever it reads; and few accesses do not matter. */
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_GPUPROG_READ, 1 }, 20000, 4, 1);
	access_memory(&sample, 0,
		      (struct place){ 0, 7, GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE, 1 }, 1, 128,
		      32);
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
	uint32_t map, place = 3 * 8 + GPUMON_GPUPROG_WRITE;

	(void)state;
	sample_begin(&sample, "memtrace");
	sample_device(&sample, 1);
	map = sample_find(&sample, "places");
	for (uint32_t i = 0; i < 5; i++)
		sample_add(&sample, i % 2, map, 0, place, 3 + i, 10 + i);
	/* Two of them began in the middle of a sector; and another access. */
	sample_add(&sample, 0, map, 1, place, 2, 2);
	access_memory(&sample, 0, (struct place){ 0, 3, GPUMON_GPUPROG_WRITE, 1 }, 1, 100, 7);
	/* A place that has only these. */
	sample_add(&sample, 0, map, 0, 4 * 8 + GPUMON_GPUPROG_READ, 7, UINT64_MAX / 16);
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
	sample_begin(&sample, "memtrace");
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_GPUPROG_READ, 1 }, 100, 128, 7);
	access_memory(&sample, 0, (struct place){ 0, 0, GPUMON_GPUPROG_WRITE, 1 }, 100, 128, 1);
	assert_found(
		&sample,
		"No line stands out: none with 5 % of the sectors takes twice what coalesced access needs");
	sample_clear(&sample);
}

static void waiting_blocks_are_found(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint32_t wait, time, last;
	const char *text;

	(void)state;
	sample_begin(&sample, "warpimbalance");
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
	sample_begin(&sample, "warpimbalance");
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
	sample_begin(&sample, "warpimbalance");
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
		cmocka_unit_test(scattered_lines_are_found),
		cmocka_unit_test(whole_warps_add_up),
		cmocka_unit_test(coalesced_lines_are_not),
		cmocka_unit_test(waiting_blocks_are_found),
		cmocka_unit_test(few_waiting_blocks_are_found),
		cmocka_unit_test(even_blocks_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
