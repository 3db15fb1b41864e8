// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What is in keys and values, by the object's types. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "sample.h"

struct expected {
	const char *name;
	uint32_t offset;
	uint8_t size;
	bool is_signed;
};

static void check_fields(const struct gpumon_gpuprog_fields *fields,
			 const struct expected *expected, uint32_t n)
{
	assert_int_equal(fields->n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_string_equal(fields->fields[i].name, expected[i].name);
		assert_int_equal(fields->fields[i].offset, expected[i].offset);
		assert_int_equal(fields->fields[i].size, expected[i].size);
		assert_int_equal(fields->fields[i].is_signed, expected[i].is_signed);
	}
}

static void numbers_have_names(void **state)
{
	static const struct expected key[] = { { "small", 0, 1, false },
					       { "many[0]", 4, 4, false },
					       { "many[1]", 8, 4, false } };
	static const struct expected value[] = {
		{ "first", 0, 8, false },
		{ "low", 8, 2, true },
		{ "inner[0].small", 12, 1, false },
		{ "inner[0].many[0]", 16, 4, false },
		{ "inner[0].many[1]", 20, 4, false },
		{ "inner[1].small", 24, 1, false },
		{ "inner[1].many[0]", 28, 4, false },
		{ "inner[1].many[1]", 32, 4, false },
		{ "unnamed", 36, 4, false },
		{ "colour", 40, 4, true },
	};
	static const struct expected number = { "", 0, 4, false };
	static const struct expected colour = { "", 0, 4, true };
	struct sample sample;

	(void)state;
	sample_init_tool(&sample, "fields");
	check_fields(&sample.maps[sample_find(&sample, "plain")].key_fields, key, COUNT(key));
	check_fields(&sample.maps[sample_find(&sample, "plain")].value_fields, value, COUNT(value));
	check_fields(&sample.maps[sample_find(&sample, "single")].key_fields, &number, 1);
	check_fields(&sample.maps[sample_find(&sample, "single")].value_fields, &colour, 1);
	sample_clear(&sample);
}

/* Types that are more than a list of numbers are shown as bytes. */
static void other_types_have_none(void **state)
{
	static const char *const maps[] = { "bits", "unions", "pointers", "wides", "deeps" };
	struct sample sample;

	(void)state;
	sample_init_tool(&sample, "fields");
	for (size_t i = 0; i < COUNT(maps); i++) {
		uint32_t map = sample_find(&sample, maps[i]);

		assert_int_equal(sample.maps[map].key_fields.n, 1);
		assert_int_equal(sample.maps[map].value_fields.n, 0);
	}
	assert_int_equal(sample.maps[sample_find(&sample, "sizes")].key_fields.n, 0);
	assert_int_equal(sample.maps[sample_find(&sample, "sizes")].value_fields.n, 0);
	sample_clear(&sample);
}

/* By their symbols; clang may put them in any order. */
static uint32_t offset_of(const struct gpumon_gpuprog_map *map, const char *name, uint8_t size,
			  bool is_signed)
{
	for (uint32_t i = 0; i < map->value_fields.n; i++) {
		const struct gpumon_gpuprog_field *field = &map->value_fields.fields[i];

		if (strcmp(field->name, name) != 0)
			continue;
		assert_int_equal(field->size, size);
		assert_int_equal(field->is_signed, is_signed);
		return field->offset;
	}
	fail_msg("no variable %s in %s", name, map->name);
	return 0;
}

static void variables_are_shown(void **state)
{
	struct gpumon_gpuprog_map *map;
	struct sample sample;
	uint8_t *memory;
	const char *text;

	(void)state;
	sample_init_tool(&sample, "fields");
	map = &sample.maps[sample_find(&sample, ".data")];
	assert_int_equal(offset_of(map, "given", 8, false), 0);
	assert_int_equal(map->value_fields.n, 1);
	map = &sample.maps[sample_find(&sample, ".bss")];
	/* Bits have no name. */
	assert_int_equal(map->value_fields.n, 3);
	sample_device(&sample, 1);
	memory = sample.images[0][map - sample.maps];
	*(uint64_t *)(memory + offset_of(map, "total", 8, false)) = 1234567;
	*(int32_t *)(memory + offset_of(map, "difference[1]", 4, true)) = -5;
	assert_int_equal(offset_of(map, "difference[1]", 4, true),
			 offset_of(map, "difference[0]", 4, true) + 4);
	text = sample_print(&sample, false);
	assert_in(text, "\ntotal         1,234,567\n");
	assert_in(text, "\ndifference[1]        -5\n");
	assert_not_in(text, "difference[0]");
	assert_not_in(text, "\n+");
	/* Where no variable is. */
	for (uint32_t at = 0; at < map->value_size; at++)
		memory[at] = 1;
	text = sample_print(&sample, false);
	assert_in(text, "\n+");
	sample_clear(&sample);
}

static void tools_have_fields(void **state)
{
	static const struct expected traffic[] = {
		{ "accesses", 0, 8, false },  { "bytes", 8, 8, false },
		{ "sectors", 16, 8, false },  { "whole[0]", 24, 8, false },
		{ "whole[1]", 32, 8, false }, { "whole[2]", 40, 8, false },
		{ "whole[3]", 48, 8, false }, { "whole[4]", 56, 8, false }
	};
	static const struct expected start[] = { { "kernel", 0, 8, false }, { "ns", 8, 8, false } };
	struct sample sample;

	(void)state;
	sample_init_tool(&sample, "memtrace");
	check_fields(&sample.maps[sample_find(&sample, "places")].value_fields, traffic,
		     COUNT(traffic));
	sample_clear(&sample);
	sample_init_tool(&sample, "launchlate");
	check_fields(&sample.maps[sample_find(&sample, "starts")].value_fields, start,
		     COUNT(start));
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_names),
		cmocka_unit_test(other_types_have_none),
		cmocka_unit_test(variables_are_shown),
		cmocka_unit_test(tools_have_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
