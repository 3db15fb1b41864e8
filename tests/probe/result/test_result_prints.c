// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What programs print. */
#include "common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/result/printed.h"
#include "sample.h"

static void check_text(const char *format, const uint64_t *arguments, const char *expected)
{
	const struct gpumon_gpuprog_map map = { .kind = GPUMON_GPUPROG_MAP_DATA,
						.value_size = (uint32_t)strlen(format) + 3,
						.data = (const uint8_t *)format - 2 };
	struct gpumon_gpuprog_map maps[2] = { { .kind = GPUMON_GPUPROG_MAP_ARRAY }, map };
	const struct gpumon_gpuprog_object object = { .maps = maps, .maps_n = 2 };
	struct gpumon_gpuprog_print print = { .map = 1, .offset = 2 };
	char line[GPUMON_GPUPROG_LINE_BYTES];

	memcpy(print.arguments, arguments, sizeof(print.arguments));
	assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), expected);
}

/* A text with two bytes before it, as in a section. */
#define CHECK(format, expected, ...)                                \
	do {                                                        \
		static const char text[] = "xx" format;             \
		static const uint64_t numbers[3] = { __VA_ARGS__ }; \
		check_text(text + 2, numbers, expected);            \
	} while (0)

static void formats_are_understood(void **state)
{
	(void)state;
	CHECK("plain\n", "plain", 0);
	CHECK("", "", 0);
	CHECK("%d %u %x", "-1 4294967295 ff", 0xffffffffffffffff, 0xffffffffffffffff, 255);
	CHECK("%ld %lu %llx", "-1 18446744073709551615 ffffffffffffffff", UINT64_MAX, UINT64_MAX,
	      UINT64_MAX);
	CHECK("[%5d] [%-5d] [%05d]", "[   42] [42   ] [00042]", 42, 42, 42);
	CHECK("%p %c %#x", "0x1f A 0x10", 31, 65, 16);
	CHECK("%hd %hhu %hhx", "-2 1 fe", 0xfffe, 0x101, 0x1fe);
	CHECK("100%% of %d%%", "100% of 7%", 7);
	/* What is not there, or too much, stays. */
	CHECK("%s %", "%s %", 1);
	CHECK("%n%d", "%n3", 3);
	CHECK("%d%d%d%d", "123%d", 1, 2, 3);
	CHECK("%------d", "%------d", 1);
	CHECK("%999999999999d|",
	      "                                                                       "
	      "                           1|",
	      1);
}

static void texts_may_be_missing(void **state)
{
	static const uint8_t bytes[4] = { 'a', 'b', 'c', 'd' };
	struct gpumon_gpuprog_map maps[] = {
		{ .kind = GPUMON_GPUPROG_MAP_DATA, .value_size = 4, .data = bytes },
		{ .kind = GPUMON_GPUPROG_MAP_DATA, .value_size = 4 },
		{ .kind = GPUMON_GPUPROG_MAP_HASH, .value_size = 4 },
	};
	const struct gpumon_gpuprog_object object = { .maps = maps, .maps_n = COUNT(maps) };
	struct gpumon_gpuprog_print print = { 0 };
	char line[GPUMON_GPUPROG_LINE_BYTES];

	(void)state;
	/* Without an end it ends with the section. */
	assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), "abcd");
	print.offset = 3;
	assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), "d");
	print.offset = 4;
	assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), "");
	print.offset = UINT32_MAX;
	assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), "");
	for (print.map = 1; print.map < 10; print.map++)
		assert_string_equal(gpumon_gpuprog_print_text(&object, &print, line), "");
}

static void long_texts_are_cut(void **state)
{
	static uint8_t bytes[3000];
	struct gpumon_gpuprog_map map = { .kind = GPUMON_GPUPROG_MAP_DATA,
					  .value_size = sizeof(bytes),
					  .data = bytes };
	const struct gpumon_gpuprog_object object = { .maps = &map, .maps_n = 1 };
	struct gpumon_gpuprog_print print = { .arguments = { 1, 2, 3 } };
	char line[GPUMON_GPUPROG_LINE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = "%90d"[i % 4];
	gpumon_gpuprog_print_text(&object, &print, line);
	assert_int_equal(strlen(line), GPUMON_GPUPROG_LINE_BYTES - 1);
}

static void lines_are_shown(void **state)
{
	static const uint8_t texts[] = "block %d\0done\n";
	struct gpumon_gpuprog_print print = { 0 };
	struct gpumon_gpuprog_records prints;
	struct json_object *document, *rows;
	struct sample sample;
	const char *text;

	(void)state;
	sample_init(&sample);
	sample_map(&sample, ".rodata", GPUMON_GPUPROG_MAP_DATA, 0, sizeof(texts), 1);
	sample.maps[0].data = texts;
	sample.maps[0].read_only = true;
	sample_device(&sample, 1);
	gpumon_gpuprog_records_init(&prints, &gpumon_gpuprog_print_map, GPUMON_GPUPROG_KEPT_BYTES);
	sample.result.prints = &prints;
	text = sample_print(&sample, false);
	assert_not_in(text, "Printed");
	for (uint32_t i = 0; i < 6; i++) {
		print.offset = i < 5 ? 0 : 9;
		print.arguments[0] = i < 4 ? 7 : 8;
		gpumon_gpuprog_records_add(&prints, 0, &print, sizeof(print));
	}
	text = sample_print(&sample, false);
	assert_in(text, "Printed: the newest of 6 lines\n"
			"TIMES TEXT\n"
			"    4 block 7\n"
			"    1 block 8\n"
			"    1 done\n");
	document = sample_json(&sample);
	rows = sample_rows(document, "printed");
	assert_int_equal(json_object_array_length(rows), 3);
	assert_int_equal(row_number(rows, 0, "times"), 4);
	assert_string_equal(row_text(rows, 2, "text"), "done");
	gpumon_gpuprog_records_clear(&prints);
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_understood),
		cmocka_unit_test(texts_may_be_missing),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(lines_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
