// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Objects made by clang for each version of eBPF. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "gpuprog/object/instruction.h"
#include "gpuprog/server/load.h"

static const char *const versions[] = { "v1", "v2", "v3", "v4" };

struct expected {
	const char *name;
	enum gpumon_gpuprog_point point;
	const char *targets;
};

static void check_programs(const struct gpumon_gpuprog_object *object,
			   const struct expected *expected, size_t n)
{
	assert_int_equal(object->programs_n, n);
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_gpuprog *program = find_program(object, expected[i].name);

		assert_int_equal(program->point, expected[i].point);
		assert_string_equal(object->targets[program - object->programs],
				    expected[i].targets);
		assert_int_equal(program->maps_n, object->maps_n);
		assert_int_equal(program->steps[program->steps_n - 1].depth, 0);
	}
}

static void bpftime_style_is_read(void **state)
{
	static const struct expected expected[] = {
		{ "cuda__a_name_with_more_than_fifteen_letters", GPUMON_GPUPROG_ENTRY,
		  "_Z9vectorAddPKfS0_Pf,_Z6matmulPfS_S_i" },
		{ "cuda__exit", GPUMON_GPUPROG_EXIT, "_Z9vectorAddPKfS0_Pf" },
		{ "cuda__exit_record", GPUMON_GPUPROG_EXIT, "_Z9vectorAddPKfS0_Pf" },
		{ "cuda__by_thread", GPUMON_GPUPROG_EXIT, "_Z9vectorAddPKfS0_Pf" },
		{ "cuda__memory", GPUMON_GPUPROG_MEMORY, "" },
		{ "cuda__run", GPUMON_GPUPROG_RUN, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct gpumon_gpuprog_object object;

		load_object(versions[i], "style", &object);
		check_programs(&object, expected, COUNT(expected));
		assert_int_equal(object.cpu_n, 1);
		gpumon_gpuprog_object_clear(&object);
	}
}

static void check_map(const struct gpumon_gpuprog_object *object, const char *name,
		      enum gpumon_gpuprog_map_kind kind, uint32_t key, uint32_t value,
		      uint32_t entries)
{
	const struct gpumon_gpuprog_map *map = find_map(object, name);

	assert_int_equal(map->kind, kind);
	assert_int_equal(map->key_size, key);
	assert_int_equal(map->value_size, value);
	assert_int_equal(map->max_entries, entries);
}

static void maps_of_bpftime_are_known(void **state)
{
	struct gpumon_gpuprog_object object;

	(void)state;
	load_object("v3", "style", &object);
	check_map(&object, "begun", GPUMON_GPUPROG_MAP_HASH, 8, 8, 1024);
	check_map(&object, "spent", GPUMON_GPUPROG_MAP_HASH, 8, 8, 1024);
	check_map(&object, "by_thread", GPUMON_GPUPROG_MAP_THREAD_ARRAY, 4, 8, 1u << 20);
	check_map(&object, "buckets", GPUMON_GPUPROG_MAP_ARRAY, 4, 8, 10);
	check_map(&object, "ring", GPUMON_GPUPROG_MAP_RING, 0, GPUMON_GPUPROG_MAX_RECORD_SIZE,
		  16u << 20);
	assert_int_equal(find_map(&object, "ring")->type, 1527);
	/* The map of the CPU's program is not among them. */
	assert_int_equal(object.maps_n, 9);
	gpumon_gpuprog_object_clear(&object);
}

static void maps_of_tools_are_known(void **state)
{
	struct gpumon_gpuprog_object object;

	(void)state;
	load_object("v3", "kernelretsnoop", &object);
	check_map(&object, "lanes", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, 16, 4096);
	check_map(&object, "times_ns_by_lane", GPUMON_GPUPROG_MAP_HISTOGRAM, 4, 512, 32);
	check_map(&object, "exits", GPUMON_GPUPROG_MAP_RING, 0, 24, 64u << 20);
	gpumon_gpuprog_object_clear(&object);
}

/* The step that loads the address of this data, the n-th of the program. */
static const struct gpumon_gpuprog_step *find_data(const struct gpumon_gpuprog *program,
						   const char *map, unsigned int n)
{
	for (uint32_t i = 0; i < program->steps_n; i++) {
		const struct gpumon_gpuprog_step *step = &program->steps[i];

		if (step->code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    step->src == BPF_PSEUDO_MAP_IDX_VALUE &&
		    !strcmp(program->maps[step->map].name, map) && !n--)
			return step;
	}
	fail_msg("%s does not use %s", program->name, map);
	return NULL;
}

static void global_data_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct gpumon_gpuprog_object object;
		const struct gpumon_gpuprog *exit;
		const struct gpumon_gpuprog_map *map;
		const struct gpumon_gpuprog_step *step;
		uint64_t number;

		load_object(versions[i], "style", &object);
		map = find_map(&object, ".data");
		assert_int_equal(map->value_size, 8);
		assert_false(map->read_only);
		memcpy(&number, map->data, sizeof(number));
		assert_int_equal(number, 7);
		map = find_map(&object, ".bss");
		assert_int_equal(map->value_size, 32);
		assert_null(map->data);
		map = find_map(&object, ".rodata");
		assert_true(map->read_only);
		/* First the limit, then the format behind it. */
		exit = find_program(&object, "cuda__exit");
		step = find_data(exit, ".rodata", 0);
		memcpy(&number, map->data + step->value, sizeof(number));
		assert_int_equal(number, 1000);
		step = find_data(exit, ".rodata", 1);
		assert_string_equal(map->data + step->value, "took %llu ns\n");
		step = find_data(find_program(&object, "cuda__run"), ".rodata.str1.1", 0);
		assert_string_equal(object.maps[step->map].data + step->value, "runs\n");
		gpumon_gpuprog_object_clear(&object);
	}
}

static uint32_t count_steps(const struct gpumon_gpuprog *program, uint8_t depth)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < program->steps_n; i++)
		n += program->steps[i].depth >= depth;
	return n;
}

static void every_place_is_known(void **state)
{
	static const struct expected expected[] = {
		{ "entry", GPUMON_GPUPROG_ENTRY, "" },
		{ "entry_of_some", GPUMON_GPUPROG_ENTRY, "void f<int, 4>(int*),*gemm?" },
		{ "exit_all", GPUMON_GPUPROG_EXIT, "" },
		{ "memory", GPUMON_GPUPROG_MEMORY, "_Z*" },
		{ "atomic", GPUMON_GPUPROG_ATOMIC, "" },
		{ "at_barrier", GPUMON_GPUPROG_BARRIER, "" },
		{ "function", GPUMON_GPUPROG_FUNCTION_ENTRY, "_Z3addii" },
		{ "function_exit", GPUMON_GPUPROG_FUNCTION_EXIT, "_Z3addii" },
		{ "run", GPUMON_GPUPROG_RUN, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct gpumon_gpuprog_object object;

		load_object(versions[i], "points", &object);
		check_programs(&object, expected, COUNT(expected));
		assert_int_equal(object.cpu_n, 0);
		gpumon_gpuprog_object_clear(&object);
	}
}

/* entry calls beside() of its own section and in_text() of .text, which calls beside() again. */
static void functions_of_all_sections_are_linked(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct gpumon_gpuprog_object object;
		const struct gpumon_gpuprog *program;
		uint32_t counts = 0;

		load_object(versions[i], "points", &object);
		program = find_program(&object, "entry");
		assert_true(count_steps(program, 1) > 0);
		assert_true(count_steps(program, 2) > 0);
		assert_int_equal(count_steps(program, 3), 0);
		for (uint32_t at = 0; at < program->steps_n; at++)
			counts += program->steps[at].code == (BPF_JMP | BPF_CALL) &&
				  program->steps[at].imm == 600;
		/* Twice beside(), once in_text(). */
		assert_int_equal(counts, 3);
		find_data(program, ".rodata", 0);
		gpumon_gpuprog_object_clear(&object);
	}
}

/* The maps are static, so that relocations name the section: the place in it tells them apart. */
static void static_maps_are_told_apart(void **state)
{
	struct gpumon_gpuprog_object object;
	const struct gpumon_gpuprog *program;

	(void)state;
	load_object("v3", "points", &object);
	program = find_program(&object, "memory");
	for (uint32_t i = 0; i < program->steps_n; i++) {
		if (program->steps[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			assert_string_equal(object.maps[program->steps[i].map].name, "first");
	}
	program = find_program(&object, "entry_of_some");
	for (uint32_t i = 0; i < program->steps_n; i++) {
		const struct gpumon_gpuprog_step *step = &program->steps[i];

		if (step->src == BPF_PSEUDO_MAP_IDX && step->depth == 1 &&
		    step->code == (BPF_LD | BPF_IMM | BPF_DW))
			assert_string_equal(object.maps[step->map].name, "second");
	}
	gpumon_gpuprog_object_clear(&object);
}

static void lines_are_those_of_the_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct gpumon_gpuprog_object object;
		const struct gpumon_gpuprog *program;
		bool own = false, called = false;

		load_object(versions[i], "points", &object);
		program = find_program(&object, "entry");
		for (uint32_t at = 0; at < program->lines_n; at++) {
			const struct gpumon_gpuprog_line *line = &program->lines[at];

			assert_non_null(strstr(line->file, "bpf/points.bpf.c"));
			if (at)
				assert_true(line[-1].instruction < line->instruction);
			own |= !!strstr(line->text, "return in_text(beside(which));");
			called |= !!strstr(line->text, "gpumon_count(&second, a & 3, beside(a))");
		}
		assert_true(own && called);
		gpumon_gpuprog_object_clear(&object);
	}
}

static void check_refused(const char *name, const char *reason)
{
	static const struct gpumon_gpuprog_rules rules;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), OBJECTS "/bpf/refused/%s.bpf.o", name);
	if (!gpumon_gpuprog_check(path, &rules, &check, &err)) {
		if (!check.refused)
			fail_msg("%s is accepted", name);
		err = check.verdicts[0].refusal;
	}
	assert_int_equal(err.code, GPUMON_ERROR_REFUSED);
	assert_int_equal(err.status, GPUMON_EXIT_FAILED);
	if (!strstr(err.message, reason))
		fail_msg("%s: \"%s\" does not say \"%s\"", name, err.message, reason);
	/* What is wrong, and what to do. */
	if (!strrchr(err.message, ':') || strlen(strrchr(err.message, ':')) < 8)
		fail_msg("%s: \"%s\" does not say what to do", name, err.message);
	gpumon_gpuprog_check_clear(&check);
}

static void refusals_say_what_and_what_to_do(void **state)
{
	FILE *file = fopen("bpf/refused.bpf.c", "re");
	char line[512], name[64], reason[256];
	unsigned int n = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *end;

		if (sscanf(line, "#ifdef CASE_%63s /* %255[^\n]", name, reason) != 2)
			continue;
		end = strstr(reason, " */");
		assert_non_null(end);
		*end = '\0';
		check_refused(name, reason);
		n++;
	}
	fclose(file);
	assert_true(n >= 40);
}

/* Names and numbers of the header for authors are those of the table. */
static void header_has_the_same_helpers(void **state)
{
	FILE *file = fopen("../../bpf/gpu/gpumon_gpu.h", "re");
	char line[512];
	unsigned int found = 0, wanted = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *star = strstr(line, "(*const "), *equals = strstr(line, "= (void *)");
		const struct gpumon_gpuprog_helper *helper;
		char name[64], full[80];
		int names;

		if (!star || !equals)
			continue;
		names = sscanf(star, "(*const %63[a-z_0-9]", name);
		assert_int_equal(names, 1);
		helper = gpumon_gpuprog_helper_find((uint32_t)strtoul(equals + 10, NULL, 10));
		if (!helper)
			fail_msg("%s has a number without a helper", name);
		snprintf(full, sizeof(full), "%s%s", helper->id < 600 ? "bpf_" : "", helper->name);
		assert_string_equal(name, full);
		found++;
	}
	fclose(file);
	for (uint32_t id = 500; id < 700; id++)
		wanted += !!gpumon_gpuprog_helper_find(id);
	assert_int_equal(found, wanted);
	assert_true(wanted > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bpftime_style_is_read),
		cmocka_unit_test(maps_of_bpftime_are_known),
		cmocka_unit_test(maps_of_tools_are_known),
		cmocka_unit_test(global_data_is_there),
		cmocka_unit_test(every_place_is_known),
		cmocka_unit_test(functions_of_all_sections_are_linked),
		cmocka_unit_test(static_maps_are_told_apart),
		cmocka_unit_test(lines_are_those_of_the_source),
		cmocka_unit_test(refusals_say_what_and_what_to_do),
		cmocka_unit_test(header_has_the_same_helpers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
