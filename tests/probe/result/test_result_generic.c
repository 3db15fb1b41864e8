// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Maps of any object, of which nothing is known but their memory and types. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

static void nothing_ran(void **state)
{
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_map(&sample, "keys", GPUMON_GPUPROG_MAP_HASH, 8, 8, 10);
	sample_map(&sample, "ring", GPUMON_GPUPROG_MAP_RING, 0, 8, 4096);
	sample_map(&sample, "times_ns", GPUMON_GPUPROG_MAP_HISTOGRAM, 4, 512, 10);
	sample_map(&sample, "threads", GPUMON_GPUPROG_MAP_THREAD_ARRAY, 4, 8, 10);
	assert_string_equal(sample_print(&sample, true), "threads\n"
							 "OF      THREADS SUM LEAST MOST\n"
							 "threads       0   0     0    0\n\n"
							 "No kernel with a program has run.\n");
	sample_clear(&sample);
}

static void images_may_be_missing(void **state)
{
	static const struct gpumon_gpuprog_device device = { .shards = 1 };
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_map(&sample, "sums", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, 8, 10);
	sample_map(&sample, ".bss", GPUMON_GPUPROG_MAP_DATA, 0, 12, 1);
	sample.result.devices = &device;
	sample.result.devices_n = 1;
	sample.result.run = NULL;
	sample.result.records = NULL;
	assert_string_equal(sample_print(&sample, false), "Nothing was lost.\n");
	sample_clear(&sample);
}

static void arrays(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_map(&sample, "wait_ns_by_lane", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, 16, 32);
	sample_device(&sample, 4);
	sample_add(&sample, 0, 0, 0, 3, 0, 1234);
	sample_add(&sample, 0, 0, 0, 9, 0, 7);
	for (uint32_t shard = 0; shard < 4; shard++) {
		sample_add(&sample, 0, 1, shard, 31, 0, 1000);
		sample_add(&sample, 0, 1, shard, 31, 1, shard);
	}
	assert_string_equal(sample_print(&sample, false), "counts\n"
							  "INDEX COUNTS\n"
							  "    3  1,234\n"
							  "    9      7\n\n"
							  "wait_ns_by_lane\n"
							  "LANE U64[0] U64[1]\n"
							  "  31  4,000      6\n\n"
							  "Nothing was lost.\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "counts");
	assert_int_equal(json_object_array_length(rows), 2);
	assert_int_equal(row_number(rows, 0, "index"), 3);
	assert_int_equal(row_number(rows, 0, "counts"), 1234);
	rows = sample_rows(document, "wait_ns_by_lane");
	assert_int_equal(row_number(rows, 0, "lane"), 31);
	assert_int_equal(row_number(rows, 0, "u64[1]"), 6);
	sample_clear(&sample);
}

static void contexts(void **state)
{
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "last_ns", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_map(&sample, "sent_bytes", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, 8, 10);
	sample_device(&sample, 2);
	sample_device(&sample, 8);
	sample.devices[1].name = "GPU 7";
	sample_add(&sample, 0, 0, 0, 3, 0, 1500);
	sample_add(&sample, 1, 0, 0, 3, 0, 900);
	sample_add(&sample, 0, 1, 1, 2, 0, 1024);
	sample_add(&sample, 1, 1, 7, 2, 0, 1024);
	assert_string_equal(sample_print(&sample, false), "last_ns\n"
							  "GPU   INDEX   LAST\n"
							  "GPU 0     3 1.50us\n"
							  "GPU 7     3  900ns\n\n"
							  "sent_bytes\n"
							  "INDEX SENT-BYTES\n"
							  "    2    2.00KiB\n\n"
							  "Nothing was lost.\n");
	sample_clear(&sample);
}

static const struct gpumon_gpuprog_field key_fields[] = {
	{ "line", 0, 8, false },
	{ "kernel", 8, 4, false },
};

static const struct gpumon_gpuprog_field value_fields[] = {
	{ "kernel", 0, 1, false },
	{ "balance", 1, 2, true },
	{ "bytes", 4, 4, false },
};

static void hashes_with_types(void **state)
{
	struct {
		uint64_t line;
		uint32_t kernel;
		uint32_t pad;
	} key = { 0 }, other = { .line = 9, .kernel = 5 }, gone = { .line = 8 };
	struct sample sample;
	struct json_object *document, *rows;
	uint8_t *value;
	int16_t balance = -3;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "places", GPUMON_GPUPROG_MAP_HASH, sizeof(key), 8, 100);
	sample.maps[0].key_fields = (struct gpumon_gpuprog_fields){ key_fields, 2 };
	sample.maps[0].value_fields = (struct gpumon_gpuprog_fields){ value_fields, 3 };
	sample_device(&sample, 1);
	key.kernel = sample_kernel(&sample, "_Z5scaleIfEvPT_i", GPUMON_GPUPROG_WAY_PTX);
	key.line = sample_line(&sample, 0, "/src/scale.cu", 42);
	value = sample_put(&sample, 0, 0, &key);
	memcpy(value + 1, &balance, sizeof(balance));
	value[4] = 64;
	sample_put(&sample, 0, 0, &gone);
	sample_delete(&sample, 0, 0, &gone);
	assert_string_equal(sample_print(&sample, false),
			    "places\n"
			    "LINE        KERNEL       KERNEL       BALANCE BYTES\n"
			    "scale.cu:42 scale<float> scale<float>      -3   64B\n\n"
			    "1 of 1 kernels have programs, at 0 places.\n"
			    "Nothing was lost.\n");
	sample_put(&sample, 0, 0, &other);
	document = sample_json(&sample);
	rows = sample_rows(document, "places");
	assert_int_equal(json_object_array_length(rows), 2);
	for (size_t i = 0; i < 2; i++) {
		bool known = row_number(rows, i, "kernel") == 0;

		assert_int_equal(row_number(rows, i, "line"), known ? 1 : 9);
		assert_string_equal(row_text(rows, i, "kernel_name"),
				    known ? "scale<float>" : "kernel 5");
		if (known)
			assert_string_equal(row_text(rows, i, "line_name"), "scale.cu:42");
		assert_int_equal((int64_t)row_number(rows, i, "value.kernel"), 0);
		assert_int_equal(row_number(rows, i, "bytes"), known ? 64 : 0);
	}
	sample_clear(&sample);
}

/* With several devices a column says which one: numbers of that name stay beside it. */
static void numbers_named_gpu(void **state)
{
	static const struct gpumon_gpuprog_field gpu[] = { { "gpu", 0, 4, false } };
	const uint32_t key = 7;
	struct json_object *rows;
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "peers", GPUMON_GPUPROG_MAP_HASH, 4, 4, 10);
	sample_map(&sample, "peer_by_gpu", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 4);
	sample.maps[0].key_fields = (struct gpumon_gpuprog_fields){ gpu, 1 };
	sample.maps[0].value_fields = (struct gpumon_gpuprog_fields){ gpu, 1 };
	sample_device(&sample, 1);
	sample_device(&sample, 1);
	*(uint32_t *)sample_put(&sample, 1, 0, &key) = 9;
	sample_add(&sample, 1, 1, 0, 3, 0, 5);
	rows = sample_rows(sample_json(&sample), "peers");
	assert_string_equal(row_text(rows, 0, "gpu"), "GPU 1");
	assert_int_equal(row_number(rows, 0, "key.gpu"), 7);
	assert_int_equal(row_number(rows, 0, "value.gpu"), 9);
	rows = sample_rows(sample_json(&sample), "peer_by_gpu");
	assert_string_equal(row_text(rows, 0, "gpu"), "GPU 1");
	assert_int_equal(row_number(rows, 0, "key.gpu"), 3);
	assert_int_equal(row_number(rows, 0, "peer"), 5);
	sample_clear(&sample);
}

static void hashes_without_types(void **state)
{
	static const uint8_t key[3] = { 0xab, 0, 0x01 };
	struct sample sample;
	uint8_t *value;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "small", GPUMON_GPUPROG_MAP_HASH, sizeof(key), 2, 4);
	sample_map(&sample, "large", GPUMON_GPUPROG_MAP_HASH, 4, 80, 4);
	sample_device(&sample, 1);
	value = sample_put(&sample, 0, 0, key);
	value[1] = 1;
	value = sample_put(&sample, 0, 1, "abcd");
	value[0] = 0xff;
	value[31] = 0x11;
	assert_string_equal(
		sample_print(&sample, false),
		"small\n"
		"KEY    SMALL\n"
		"ab0001   256\n\n"
		"large\n"
		"       KEY VALUE\n"
		"1684234849 ff00000000000000000000000000000000000000000000000000000000000011…\n\n"
		"Nothing was lost.\n");
	sample_clear(&sample);
}

static void histograms(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	const char *text;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "wait_ns_by_kernel", GPUMON_GPUPROG_MAP_HISTOGRAM, 4, 512, 8);
	sample_device(&sample, 2);
	sample_kernel(&sample, "other", GPUMON_GPUPROG_WAY_PTX);
	sample_kernel(&sample, "_Z6reducePf", GPUMON_GPUPROG_WAY_PTX);
	sample_add(&sample, 0, 0, 0, 1, 10, 30);
	sample_add(&sample, 0, 0, 1, 1, 10, 10);
	sample_add(&sample, 0, 0, 1, 1, 12, 10);
	text = sample_print(&sample, true);
	assert_string_equal(text, "wait_ns of reduce\n"
				  "  FROM     TO COUNT SHARE\n"
				  "1.02us 2.05us    40 80.0% ################################\n"
				  "2.05us 4.09us     0  0.0%\n"
				  "4.10us 8.19us    10 20.0% ########\n\n"
				  "2 of 2 kernels have programs, at 0 places.\n"
				  "Nothing was lost.\n");
	text = sample_print(&sample, false);
	assert_in(text, "1.02us 2.05us    40 80.0%\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "wait_ns_by_kernel");
	assert_int_equal(json_object_array_length(rows), 2);
	assert_int_equal(row_number(rows, 1, "kernel"), 1);
	assert_string_equal(row_text(rows, 1, "kernel_name"), "reduce");
	assert_int_equal(row_number(rows, 1, "from_ns"), 4096);
	assert_int_equal(row_number(rows, 1, "to_ns"), 8191);
	assert_int_equal(row_number(rows, 1, "count"), 10);
	sample_clear(&sample);
}

static void rings(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	uint64_t record[2];
	const char *text;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "events", GPUMON_GPUPROG_MAP_RING, 0, 16, 4096);
	sample_device(&sample, 1);
	gpumon_gpuprog_records_init(&sample.records[0], &sample.maps[0], 2000 * 24);
	for (uint32_t i = 0; i < 3000; i++) {
		record[0] = i;
		record[1] = i * 10;
		/* Short ones are filled up with zeroes. */
		sample_record(&sample, 0, 0, record, i % 2 ? 16 : 8);
	}
	text = sample_print(&sample, false);
	assert_in(text, "events\n"
			"U64[0] U64[1]\n"
			" 2,999 29,990\n"
			" 2,998      0\n"
			" 2,997 29,970\n");
	assert_in(text, "\n… and 2,976 more, see --json\n");
	assert_in(text, "\nevents: 3000 records, the newest first; older ones were not kept.\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "events");
	assert_int_equal(json_object_array_length(rows), 2000);
	assert_int_equal(row_number(rows, 1999, "u64[0]"), 1000);
	sample_clear(&sample);
}

static void threads_and_data(void **state)
{
	struct sample sample;
	const char *text;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "runs", GPUMON_GPUPROG_MAP_THREAD_ARRAY, 4, 8, 1000);
	sample_map(&sample, ".bss", GPUMON_GPUPROG_MAP_DATA, 0, 12, 1);
	sample_map(&sample, ".rodata", GPUMON_GPUPROG_MAP_DATA, 0, 16, 1);
	sample.maps[2].read_only = true;
	sample_device(&sample, 8);
	for (uint32_t i = 0; i < 100; i++)
		sample_add(&sample, 0, 0, 0, i, 0, i + 1);
	*(uint32_t *)((uint8_t *)sample.images[0][1] + 8) = 77;
	*(uint64_t *)sample.images[0][2] = 1;
	text = sample_print(&sample, false);
	assert_in(text, "runs\n"
			"OF   THREADS   SUM LEAST MOST\n"
			"runs     100 5,050     1  100\n\n"
			"runs\n"
			"THREAD RUNS\n"
			"     0    1\n"
			"     1    2\n");
	assert_in(text, "\n… and 76 more, see --json\n");
	assert_in(text, ".bss\n"
			"VARIABLE VALUE\n"
			"+8          77\n");
	assert_not_in(text, ".rodata");
	sample_clear(&sample);
}

static void threads_may_have_negative_numbers(void **state)
{
	static const struct gpumon_gpuprog_field fields[] = {
		{ .name = "change", .offset = 0, .size = 4, .is_signed = true },
		{ .name = "runs", .offset = 4, .size = 4 },
	};
	struct sample sample;
	int32_t *value;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "threads", GPUMON_GPUPROG_MAP_THREAD_ARRAY, 4, 8, 10);
	sample.maps[0].value_fields = (struct gpumon_gpuprog_fields){ fields, COUNT(fields) };
	sample_device(&sample, 1);
	for (uint32_t i = 0; i < 3; i++) {
		value = sample_at(&sample, 0, 0, 0, i);
		value[0] = 5 - 10 * (int32_t)i;
		value[1] = 2;
	}
	assert_in(sample_print(&sample, false), "OF     THREADS SUM LEAST MOST\n"
						"change       3 -15   -15    5\n"
						"runs         3   6     2    2\n");
	sample_clear(&sample);
}

/* What one number of a value comes to does not run over into its neighbour. */
static void narrow_numbers_are_summed_up(void **state)
{
	static const struct gpumon_gpuprog_field fields[] = {
		{ .name = "change", .offset = 0, .size = 4, .is_signed = true },
		{ .name = "runs", .offset = 4, .size = 2 },
		{ .name = "odd", .offset = 6, .size = 1 },
		{ .name = "whole", .offset = 8, .size = 8 },
	};
	struct sample sample;
	uint8_t *value;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "sums", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, 16, 1);
	sample.maps[0].value_fields = (struct gpumon_gpuprog_fields){ fields, COUNT(fields) };
	sample_device(&sample, 2);
	sample_device(&sample, 2);
	for (uint32_t i = 0; i < 4; i++) {
		value = sample_at(&sample, i / 2, 0, i % 2, 0);
		memcpy(value, &(int32_t){ -3 }, 4);
		memcpy(value + 4, &(uint16_t){ 10 }, 2);
		value[6] = 100;
		memcpy(value + 8, &(uint64_t){ UINT32_MAX }, 8);
	}
	assert_in(sample_print(&sample, false), "INDEX CHANGE RUNS ODD          WHOLE\n"
						"    0    -12   40 144 17,179,869,180\n");
	sample_clear(&sample);
}

static void all_losses(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;
	const char *text;
	char line[256];

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_device(&sample, 1);
	sample_device(&sample, 1);
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++) {
		sample.devices[0].control.lost[i] = i + 1;
		sample.devices[1].control.lost[i] = 10;
	}
	text = sample_print(&sample, false);
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++) {
		snprintf(line, sizeof(line), "Lost: %u %s: ", i + 11, gpumon_gpuprog_loss_text(i));
		assert_in(text, line);
	}
	assert_not_in(text, "Nothing was lost");
	assert_not_in(text, "(null)");
	document = sample_json(&sample);
	rows = sample_rows(document, "lost");
	assert_int_equal(json_object_array_length(rows), GPUMON_GPUPROG_LOSS_CAUSES);
	assert_string_equal(row_text(rows, 0, "cause"), "fuel");
	assert_string_equal(row_text(rows, GPUMON_GPUPROG_LOST_RING_FULL, "cause"), "ring_full");
	assert_int_equal(row_number(rows, GPUMON_GPUPROG_LOST_RING_FULL, "count"),
			 GPUMON_GPUPROG_LOST_RING_FULL + 11);
	/* A GPU's memory may hold anything. */
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++)
		sample.devices[1].control.lost[i] = UINT64_MAX;
	text = sample_print(&sample, false);
	assert_in(text, "Lost: 18446744073709551615 records that found no room in a ring: ");
	sample_clear(&sample);
}

static void kernels_left_alone(void **state)
{
	struct sample sample;
	struct json_object *document, *rows;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_device(&sample, 1);
	sample_kernel(&sample, "_Z5scalePf", GPUMON_GPUPROG_WAY_PTX);
	sample_kernel(&sample, "_Z4gemmPf", GPUMON_GPUPROG_WAY_NO_PTX);
	sample_kernel(&sample, "odd", GPUMON_GPUPROG_WAY_REFUSED);
	sample_kernel(&sample, "large", GPUMON_GPUPROG_WAY_TOO_LARGE);
	sample.kernels[0].points[GPUMON_GPUPROG_MEMORY] = 4;
	sample.kernels[0].points[GPUMON_GPUPROG_EXIT] = 1;
	sample.kernels[0].left[GPUMON_EDIT_TEXTURE] = 2;
	sample.kernels[2].why = "line 7: unknown form of an address";
	assert_string_equal(
		sample_print(&sample, false),
		"Kernels without programs\n"
		"  WHY                                                           KERNEL\n"
		"  only machine code (SASS) of it: no PTX to put programs into   gemm(float*)\n"
		"  line 7: unknown form of an address                            odd\n"
		"  with the programs it would need too many registers to launch  large\n\n"
		"1 of 4 kernels have programs, at 5 places.\n"
		"2 places of 1 kernel have no program: texture or surface.\n"
		"Nothing was lost.\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "kernels");
	assert_int_equal(json_object_array_length(rows), 4);
	assert_string_equal(row_text(rows, 0, "way"), "ptx");
	assert_int_equal(row_number(rows, 0, "places"), 5);
	assert_int_equal(row_number(rows, 0, "places_left_out"), 2);
	assert_string_equal(row_text(rows, 1, "kernel_name"), "gemm(float*)");
	assert_string_equal(row_text(rows, 1, "mangled"), "_Z4gemmPf");
	assert_string_equal(row_text(rows, 2, "why"), "line 7: unknown form of an address");
	sample_clear(&sample);
}

/* Maps with the names of tables that each document has. */
static void maps_with_names_of_tables(void **state)
{
	static const char *const names[] = { "kernels", "lost", "printed" };
	struct json_object *document;
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, names[0], GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	sample_map(&sample, names[1], GPUMON_GPUPROG_MAP_HISTOGRAM, 4, 512, 1);
	sample_map(&sample, names[2], GPUMON_GPUPROG_MAP_DATA, 4, 8, 1);
	sample_device(&sample, 1);
	sample_add(&sample, 0, 0, 0, 3, 0, 7);
	document = sample_json(&sample);
	assert_int_equal(row_number(sample_rows(document, "map.kernels"), 0, "kernels"), 7);
	assert_non_null(sample_rows(document, "kernels"));
	assert_non_null(sample_rows(document, "map.lost"));
	assert_string_equal(row_text(sample_rows(document, "lost"), 0, "cause"), "fuel");
	assert_non_null(sample_rows(document, "map.printed"));
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ran),
		cmocka_unit_test(images_may_be_missing),
		cmocka_unit_test(arrays),
		cmocka_unit_test(contexts),
		cmocka_unit_test(hashes_with_types),
		cmocka_unit_test(numbers_named_gpu),
		cmocka_unit_test(hashes_without_types),
		cmocka_unit_test(histograms),
		cmocka_unit_test(maps_with_names_of_tables),
		cmocka_unit_test(rings),
		cmocka_unit_test(threads_and_data),
		cmocka_unit_test(threads_may_have_negative_numbers),
		cmocka_unit_test(narrow_numbers_are_summed_up),
		cmocka_unit_test(all_losses),
		cmocka_unit_test(kernels_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
