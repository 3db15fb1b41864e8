// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Programs that are accepted, and what is proved of them. */
#include <string.h>

#include "common.h"

#include "accepted_programs.h"
#include "assemble.h"
#include "gpuprog/verify/verify.h"

struct verified {
	struct assembled assembled;
	struct gpumon_gpuprog_fact facts[ASSEMBLE_MAX_STEPS];
};

static struct verified verified;

static void accept(const char *name)
{
	struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_error err = { 0 };
	size_t i = 0;

	while (strcmp(accepted_programs[i].name, name))
		assert_in_range(++i, 0, accepted_programs_n - 1);
	assemble(accepted_programs[i].text, accepted_programs[i].point, &verified.assembled);
	if (gpumon_gpuprog_verify(&verified.assembled.program, &rules, verified.facts, &err))
		fail_msg("%s\n%s", err.message, accepted_programs[i].text);
}

static void check_operand(const struct gpumon_gpuprog_operand *is,
			  const struct gpumon_gpuprog_operand *wanted)
{
	assert_int_equal(is->kind, wanted->kind);
	assert_int_equal(is->depth, wanted->depth);
	assert_int_equal(is->align, wanted->align);
	assert_int_equal(is->constant, wanted->constant);
	assert_int_equal(is->check, wanted->check);
	assert_int_equal(is->offset, wanted->offset);
	assert_int_equal(is->last, wanted->last);
	assert_int_equal(is->map, wanted->map);
	if (wanted->maps)
		assert_int_equal(is->maps, wanted->maps);
	else if (is->kind == GPUMON_GPUPROG_VALUE || is->kind == GPUMON_GPUPROG_MAP)
		assert_int_equal(is->maps, 1ull << wanted->map);
	assert_int_equal(is->value, wanted->value);
}

#define ADDRESS(step, ...)                           \
	check_operand(&verified.facts[step].address, \
		      &(struct gpumon_gpuprog_operand){ __VA_ARGS__ })
#define ARGUMENT(step, number, ...)                                \
	check_operand(&verified.facts[step].arguments[(number)-1], \
		      &(struct gpumon_gpuprog_operand){ __VA_ARGS__ })

#define LOOKUP_STEPS 6 /* of LOOKUP in accepted_programs.c */

static void test_stack(void **state)
{
	(void)state;
	accept("stack");
	ADDRESS(0, .kind = GPUMON_GPUPROG_STACK, .align = 8, .constant = true, .offset = -8);
	ADDRESS(3, .kind = GPUMON_GPUPROG_STACK, .align = 4, .constant = true, .offset = -12);
	ADDRESS(6, .kind = GPUMON_GPUPROG_STACK, .align = 8, .constant = true, .offset = -16);
}

static void test_stack_index(void **state)
{
	(void)state;
	accept("stack index");
	ADDRESS(8, .kind = GPUMON_GPUPROG_STACK, .align = 4, .offset = -16, .last = -4);
	ADDRESS(9, .kind = GPUMON_GPUPROG_STACK, .align = 4, .offset = -16, .last = -4);
}

static void test_spilled_address(void **state)
{
	(void)state;
	accept("spilled address");
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .constant = true,
		.offset = 8, .map = MAP_ARRAY);
}

/* One comparison with NULL holds for each copy. */
static void test_null_of_copies(void **state)
{
	(void)state;
	accept("null of copies");
	ADDRESS(9, .kind = GPUMON_GPUPROG_VALUE, .align = 1, .constant = true, .offset = 63,
		.map = MAP_ARRAY);
}

static void test_either_lookup(void **state)
{
	(void)state;
	accept("either lookup");
}

static void test_index(void **state)
{
	(void)state;
	accept("index");
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
	accept("index too large");
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY,
		.check = true);
	accept("index by modulo");
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_GPUPROG_VALUE, .align = 1, .map = MAP_ARRAY);
}

/* How clang makes an int an index: v1 by shifts, v3 with 32-bit registers, v4 by sign extension. */
static void test_index_of_int(void **state)
{
	(void)state;
	accept("int v1");
	ADDRESS(LOOKUP_STEPS + 8, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
	accept("int v3");
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
	accept("int v4");
	ADDRESS(LOOKUP_STEPS + 7, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
}

/* A bound that was found of a copy. */
static void test_index_of_copy(void **state)
{
	(void)state;
	accept("index of copy");
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
}

static void test_loops(void **state)
{
	(void)state;
	/* To 8, counted up, with the test at the head. */
	accept("loop to 8");
	ADDRESS(LOOKUP_STEPS + 7, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
	assert_true(verified.facts[LOOKUP_STEPS + 9].back_edge);
	assert_false(verified.facts[LOOKUP_STEPS + 2].back_edge);
	/* The test at the end, for equality. */
	accept("loop until equal");
	ADDRESS(LOOKUP_STEPS + 3, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
	/* The bound is read from the map. */
	accept("loop bound from map");
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_GPUPROG_VALUE, .align = 1, .map = MAP_ARRAY,
		.check = true);
	/* Without an end: fuel ends it. */
	accept("loop without end");
	assert_true(verified.facts[0].back_edge);
	assert_false(verified.facts[1].reached);
}

static void test_dead_code(void **state)
{
	(void)state;
	accept("dead code");
	assert_false(verified.facts[3].reached);
	assert_true(verified.facts[2].jumps);
	assert_false(verified.facts[2].falls_through);
	accept("address is not null");
	assert_false(verified.facts[1].jumps);
	assert_true(verified.facts[1].falls_through);
	/* Signs of bytes in .rodata. */
	accept("sign in rodata");
}

static void test_context(void **state)
{
	(void)state;
	accept("context");
	ADDRESS(0, .kind = GPUMON_GPUPROG_CONTEXT, .align = 8, .constant = true, .offset = 0);
	ADDRESS(2, .kind = GPUMON_GPUPROG_CONTEXT, .align = 4, .constant = true, .offset = 20);
	ADDRESS(4, .kind = GPUMON_GPUPROG_CONTEXT, .align = 4, .constant = true, .offset = 12);
}

static void test_calls(void **state)
{
	(void)state;
	accept("calls");
	ARGUMENT(6, 1, .kind = GPUMON_GPUPROG_STACK, .align = 8, .constant = true, .offset = -8);
	ARGUMENT(6, 3, .kind = GPUMON_GPUPROG_STACK, .align = 8, .constant = true, .offset = -24);
	ARGUMENT(12, 1, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .constant = true,
		 .map = MAP_RODATA);
	ARGUMENT(12, 3, .kind = GPUMON_GPUPROG_SCALAR);
	ARGUMENT(12, 4, .kind = GPUMON_GPUPROG_SCALAR, .constant = true, .value = 1);
	ARGUMENT(12, 5, .kind = GPUMON_GPUPROG_NOT_INIT);
	ARGUMENT(15, 3, .kind = GPUMON_GPUPROG_NOT_INIT);
	ARGUMENT(21, 1, .kind = GPUMON_GPUPROG_MAP, .map = MAP_RING);
	ARGUMENT(21, 2, .kind = GPUMON_GPUPROG_STACK, .align = 8, .constant = true, .offset = -24);
	ARGUMENT(21, 3, .kind = GPUMON_GPUPROG_SCALAR, .constant = true, .value = 24);
}

static void test_functions(void **state)
{
	(void)state;
	/* A callee writes through its caller's address, and has registers and a stack of its own. */
	accept("functions");
	ADDRESS(5, .kind = GPUMON_GPUPROG_STACK, .depth = 1, .align = 8, .constant = true,
		.offset = -8);
	ADDRESS(7, .kind = GPUMON_GPUPROG_STACK, .depth = 0, .align = 8, .constant = true,
		.offset = -8);
	ADDRESS(10, .kind = GPUMON_GPUPROG_STACK, .depth = 0, .align = 8, .constant = true,
		.offset = -8);
}

static void test_null_constant(void **state)
{
	(void)state;
	accept("null constant");
	ADDRESS(10, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .constant = true, .map = MAP_ARRAY);
}

/* On both paths an address of the same value, at different places. */
static void test_places_joined(void **state)
{
	(void)state;
	accept("places joined");
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY);
}

static void test_atomics(void **state)
{
	(void)state;
	accept("atomics");
	ADDRESS(LOOKUP_STEPS + 3, .kind = GPUMON_GPUPROG_VALUE, .align = 4, .constant = true,
		.offset = 4, .map = MAP_ARRAY);
}

static void test_several_maps(void **state)
{
	(void)state;
	accept("call with either map");
	ARGUMENT(8, 1, .kind = GPUMON_GPUPROG_MAP, .map = MAP_ARRAY,
		 .maps = 1u << MAP_ARRAY | 1u << MAP_SM_ARRAY | 1u << MAP_THREAD_ARRAY);
	/* The smaller value has 12 bytes. */
	accept("value of either map");
	ADDRESS(9, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .constant = true, .offset = 8,
		.map = MAP_ARRAY, .maps = 1u << MAP_ARRAY | 1u << MAP_ODD);
}

static void test_distance(void **state)
{
	(void)state;
	accept("distance");
	ADDRESS(LOOKUP_STEPS + 2, .kind = GPUMON_GPUPROG_VALUE, .align = 8, .map = MAP_ARRAY,
		.check = true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),		cmocka_unit_test(test_stack_index),
		cmocka_unit_test(test_spilled_address), cmocka_unit_test(test_null_of_copies),
		cmocka_unit_test(test_either_lookup),	cmocka_unit_test(test_index),
		cmocka_unit_test(test_index_of_int),	cmocka_unit_test(test_index_of_copy),
		cmocka_unit_test(test_loops),		cmocka_unit_test(test_dead_code),
		cmocka_unit_test(test_context),		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_functions),	cmocka_unit_test(test_null_constant),
		cmocka_unit_test(test_places_joined),	cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_distance),	cmocka_unit_test(test_several_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
