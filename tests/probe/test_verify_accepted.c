// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Programs that are accepted, and what is proved of them. */
#include <string.h>

#include "common.h"

#include "assemble.h"
#include "probe/verify/verify.h"

struct verified {
	struct assembled assembled;
	struct gpumon_probe_fact facts[ASSEMBLE_MAX_STEPS];
};

static struct verified verified;

static void accept_at(const char *text, enum gpumon_probe_point point)
{
	struct gpumon_probe_rules rules = { 0 };
	struct gpumon_error err = { 0 };

	assemble(text, point, &verified.assembled);
	if (gpumon_probe_verify(&verified.assembled.program, &rules, verified.facts, &err))
		fail_msg("%s\n%s", err.message, text);
}

static void accept_text(const char *text)
{
	accept_at(text, GPUMON_PROBE_ENTRY);
}

static void check_operand(const struct gpumon_probe_operand *is,
			  const struct gpumon_probe_operand *wanted)
{
	assert_int_equal(is->kind, wanted->kind);
	assert_int_equal(is->depth, wanted->depth);
	assert_int_equal(is->align, wanted->align);
	assert_int_equal(is->constant, wanted->constant);
	assert_int_equal(is->check, wanted->check);
	assert_int_equal(is->offset, wanted->offset);
	assert_int_equal(is->last, wanted->last);
	assert_int_equal(is->map, wanted->map);
	assert_int_equal(is->value, wanted->value);
}

#define ADDRESS(step, ...) \
	check_operand(&verified.facts[step].address, &(struct gpumon_probe_operand){ __VA_ARGS__ })
#define ARGUMENT(step, number, ...)                                \
	check_operand(&verified.facts[step].arguments[(number)-1], \
		      &(struct gpumon_probe_operand){ __VA_ARGS__ })

#define LOOKUP                                             \
	"*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10;" \
	"r2 += -4; call map_lookup_elem; if r0 == 0 goto out\n"
#define LOOKUP_STEPS 6
#define OUT	     "out: r0 = 0; exit"

static void test_stack(void **state)
{
	(void)state;
	accept_text("*(u64 *)(r10 - 8) = 7; r1 = *(u64 *)(r10 - 8)\n"
		    "*(u32 *)(r10 - 16) = 1; *(u16 *)(r10 - 12) = 2; *(u8 *)(r10 - 10) = 3\n"
		    "*(u8 *)(r10 - 9) = 4; r1 = *(u64 *)(r10 - 16); exit");
	ADDRESS(0, .kind = GPUMON_PROBE_STACK, .align = 8, .constant = true, .offset = -8);
	ADDRESS(3, .kind = GPUMON_PROBE_STACK, .align = 4, .constant = true, .offset = -12);
	ADDRESS(6, .kind = GPUMON_PROBE_STACK, .align = 8, .constant = true, .offset = -16);
}

static void test_stack_index(void **state)
{
	(void)state;
	accept_text("*(u64 *)(r10 - 8) = 0; *(u64 *)(r10 - 16) = 0; call get_sm_id\n"
		    "r0 &= 3; r0 <<= 2; r1 = r10; r1 += -16; r1 += r0; r2 = *(u32 *)(r1 + 0)\n"
		    "*(u32 *)(r1 + 0) = 5; r3 = *(u64 *)(r10 - 16); exit");
	ADDRESS(8, .kind = GPUMON_PROBE_STACK, .align = 4, .offset = -16, .last = -4);
	ADDRESS(9, .kind = GPUMON_PROBE_STACK, .align = 4, .offset = -16, .last = -4);
}

static void test_spilled_address(void **state)
{
	(void)state;
	accept_text(LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = 0; r0 = 0\n"
			   "r1 = *(u64 *)(r10 - 16); *(u64 *)(r1 + 8) = 1\n" OUT);
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_PROBE_VALUE, .align = 8, .constant = true,
		.offset = 8, .map = MAP_ARRAY);
}

/* One comparison with NULL holds for each copy. */
static void test_null_of_copies(void **state)
{
	(void)state;
	accept_text("*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
		    "call map_lookup_elem; r6 = r0; *(u64 *)(r10 - 16) = r0\n"
		    "r7 = *(u64 *)(r10 - 16); if r6 == 0 goto out\n"
		    "r1 = *(u8 *)(r7 + 63); r2 = *(u64 *)(r10 - 16); r1 = *(u8 *)(r2 + 0)\n" OUT);
	ADDRESS(9, .kind = GPUMON_PROBE_VALUE, .align = 1, .constant = true, .offset = 63,
		.map = MAP_ARRAY);
}

static void test_either_lookup(void **state)
{
	(void)state;
	accept_text("*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
		    "call map_lookup_elem; r6 = r0; if r0 != 0 goto found\n"
		    "r1 = map array; r2 = r10; r2 += -4; call map_lookup_elem; r6 = r0\n"
		    "found: if r6 == 0 goto out; r1 = 1; lock *(u64 *)(r0 + 0) += r1\n" OUT);
}

static void test_index(void **state)
{
	(void)state;
	accept_text(LOOKUP "r6 = r0; call get_sm_id; if r0 > 7 goto out; r0 <<= 3; r6 += r0\n"
			   "r1 = 1; lock *(u64 *)(r6 + 0) += r1\n" OUT);
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
	accept_text(LOOKUP "r6 = r0; call get_sm_id; if r0 > 8 goto out; r0 <<= 3; r6 += r0\n"
			   "r1 = 1; lock *(u64 *)(r6 + 0) += r1\n" OUT);
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY,
		.check = true);
	accept_text(LOOKUP
		    "r6 = r0; call get_sm_id; r0 %= 64; r6 += r0; r1 = *(u8 *)(r6 + 0)\n" OUT);
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_PROBE_VALUE, .align = 1, .map = MAP_ARRAY);
}

/* How clang makes an int an index: v1 by shifts, v3 with 32-bit registers, v4 by sign extension. */
static void test_index_of_int(void **state)
{
	(void)state;
	accept_text(LOOKUP "r6 = r0; call get_sm_id; r0 <<= 32; r0 s>>= 32; if r0 s< 0 goto out\n"
			   "if r0 s> 7 goto out; r0 <<= 3; r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT);
	ADDRESS(LOOKUP_STEPS + 8, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
	accept_text(LOOKUP "r6 = r0; call get_sm_id; if w0 > 7 goto out; w0 = w0; r0 <<= 3\n"
			   "r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT);
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
	accept_text(LOOKUP "r6 = r0; call get_sm_id; if w0 s< 0 goto out; if w0 s> 7 goto out\n"
			   "r0 = (s32)r0; r0 <<= 3; r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT);
	ADDRESS(LOOKUP_STEPS + 7, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
}

/* A bound that was found of a copy. */
static void test_index_of_copy(void **state)
{
	(void)state;
	accept_text(LOOKUP "r6 = r0; call get_sm_id; r1 = r0; if r0 > 7 goto out; r1 <<= 3\n"
			   "r6 += r1; r1 = *(u64 *)(r6 + 0)\n" OUT);
	ADDRESS(LOOKUP_STEPS + 6, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
}

static void test_loops(void **state)
{
	(void)state;
	/* To 8, counted up, with the test at the head. */
	accept_text(LOOKUP "r6 = r0; r1 = 0\nagain: if r1 > 7 goto out; r2 = r1; r2 <<= 3\n"
			   "r3 = r6; r3 += r2; *(u64 *)(r3 + 0) = 0; r1 += 1; goto again\n" OUT);
	ADDRESS(LOOKUP_STEPS + 7, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
	assert_true(verified.facts[LOOKUP_STEPS + 9].back_edge);
	assert_false(verified.facts[LOOKUP_STEPS + 2].back_edge);
	/* The test at the end, for equality. */
	accept_text(LOOKUP "r1 = 0\nagain: r3 = r0; r3 += r1; *(u8 *)(r3 + 0) = 0; r1 += 8\n"
			   "if r1 != 64 goto again\n" OUT);
	ADDRESS(LOOKUP_STEPS + 3, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
	/* The bound is read from the map. */
	accept_text(LOOKUP "r5 = *(u64 *)(r0 + 0); r1 = 0\nagain: r3 = r0; r3 += r1\n"
			   "*(u8 *)(r3 + 0) = 0; r1 += 1; if r1 < r5 goto again\n" OUT);
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_PROBE_VALUE, .align = 1, .map = MAP_ARRAY,
		.check = true);
	/* Without an end: fuel ends it. */
	accept_text("again: goto again; exit");
	assert_true(verified.facts[0].back_edge);
	assert_false(verified.facts[1].reached);
}

static void test_dead_code(void **state)
{
	(void)state;
	accept_text("r1 = value .rodata + 48; r2 = *(u64 *)(r1 + 0); if r2 == 5 goto out\n"
		    "r3 = *(u64 *)(r2 + 0)\n" OUT);
	assert_false(verified.facts[3].reached);
	assert_true(verified.facts[2].jumps);
	assert_false(verified.facts[2].runs_on);
	accept_text(
		"r1 = r10; if r1 == 0 goto bad; r0 = 0; exit\nbad: r3 = *(u64 *)(r9 + 0); exit");
	assert_false(verified.facts[1].jumps);
	assert_true(verified.facts[1].runs_on);
	/* Signs of bytes in .rodata. */
	accept_text("r1 = value .rodata + 56; r2 = *(s8 *)(r1 + 0); if r2 == -128 goto out\n"
		    "r3 = *(u64 *)(r2 + 0)\n" OUT);
}

static void test_context(void **state)
{
	(void)state;
	accept_at("r2 = *(u64 *)(r1 + 0); r3 = *(u32 *)(r1 + 16); r3 = *(u8 *)(r1 + 20)\n"
		  "r1 += 8; r2 = *(u32 *)(r1 + 4); exit",
		  GPUMON_PROBE_MEMORY);
	ADDRESS(0, .kind = GPUMON_PROBE_CONTEXT, .align = 8, .constant = true, .offset = 0);
	ADDRESS(2, .kind = GPUMON_PROBE_CONTEXT, .align = 4, .constant = true, .offset = 20);
	ADDRESS(4, .kind = GPUMON_PROBE_CONTEXT, .align = 4, .constant = true, .offset = 12);
}

static void test_calls(void **state)
{
	(void)state;
	accept_text("r1 = r10; r1 += -8; r2 = r10; r2 += -16; r3 = r10; r3 += -24\n"
		    "call get_thread_idx; r6 = *(u64 *)(r10 - 24)\n"
		    "r1 = value .rodata; r2 = 16; r3 = r6; r4 = 1; call trace_printk\n"
		    "r1 = value .rodata + 16; r2 = 7; call trace_printk\n"
		    "r1 = map ring; r2 = r10; r2 += -24; r3 = 24; r4 = 0; call ringbuf_output\n"
		    "r1 = 0; r2 = map ring; r3 = 0; r4 = r10; r4 += -16; r5 = 16\n"
		    "call perf_event_output; r1 = 3; r2 = r6; call gpumon_keep; exit");
	ARGUMENT(6, 1, .kind = GPUMON_PROBE_STACK, .align = 8, .constant = true, .offset = -8);
	ARGUMENT(6, 3, .kind = GPUMON_PROBE_STACK, .align = 8, .constant = true, .offset = -24);
	ARGUMENT(12, 1, .kind = GPUMON_PROBE_VALUE, .align = 8, .constant = true,
		 .map = MAP_RODATA);
	ARGUMENT(12, 3, .kind = GPUMON_PROBE_NUMBER);
	ARGUMENT(12, 4, .kind = GPUMON_PROBE_NUMBER, .constant = true, .value = 1);
	ARGUMENT(12, 5, .kind = GPUMON_PROBE_NOTHING);
	ARGUMENT(15, 3, .kind = GPUMON_PROBE_NOTHING);
	ARGUMENT(21, 1, .kind = GPUMON_PROBE_MAP, .map = MAP_RING);
	ARGUMENT(21, 2, .kind = GPUMON_PROBE_STACK, .align = 8, .constant = true, .offset = -24);
	ARGUMENT(21, 3, .kind = GPUMON_PROBE_NUMBER, .constant = true, .value = 24);
}

static void test_functions(void **state)
{
	(void)state;
	/* A callee writes through its caller's address, and has registers and a stack of its own. */
	accept_text("r6 = 1; r1 = r10; r1 += -8\n{\nr6 = r1; *(u64 *)(r10 - 8) = 3\n"
		    "r2 = *(u64 *)(r10 - 8); *(u64 *)(r6 + 0) = r2; r0 = 0\n}\n"
		    "r2 = *(u64 *)(r10 - 8); r6 += 1; exit");
	ADDRESS(5, .kind = GPUMON_PROBE_STACK, .depth = 1, .align = 8, .constant = true,
		.offset = -8);
	ADDRESS(7, .kind = GPUMON_PROBE_STACK, .depth = 0, .align = 8, .constant = true,
		.offset = -8);
	ADDRESS(10, .kind = GPUMON_PROBE_STACK, .depth = 0, .align = 8, .constant = true,
		.offset = -8);
}

static void test_null_constant(void **state)
{
	(void)state;
	accept_text("r6 = 0; call get_lane_id; if r0 != 0 goto join\n"
		    "*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
		    "call map_lookup_elem; r6 = r0\n"
		    "join: if r6 == 0 goto out; *(u64 *)(r6 + 0) = 1\n" OUT);
	ADDRESS(10, .kind = GPUMON_PROBE_VALUE, .align = 8, .constant = true, .map = MAP_ARRAY);
}

/* On both paths an address of the same value, at different places. */
static void test_places_joined(void **state)
{
	(void)state;
	accept_text(LOOKUP "r6 = r0; call get_lane_id; if r0 == 0 goto join; r6 += 8\n"
			   "join: *(u64 *)(r6 + 0) = 1\n" OUT);
	ADDRESS(LOOKUP_STEPS + 4, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY);
}

static void test_atomics(void **state)
{
	(void)state;
	accept_text(LOOKUP "r1 = 1; r2 = 2; r6 = r0; lock *(u32 *)(r6 + 4) |= r1\n"
			   "r1 = fetch *(u64 *)(r6 + 8) += r1; r1 = xchg *(u64 *)(r6 + 8) r1\n"
			   "r0 = 5; r0 = cmpxchg *(u64 *)(r6 + 8) r2; r1 += r0\n" OUT);
	ADDRESS(LOOKUP_STEPS + 3, .kind = GPUMON_PROBE_VALUE, .align = 4, .constant = true,
		.offset = 4, .map = MAP_ARRAY);
}

static void test_distance(void **state)
{
	(void)state;
	accept_text(LOOKUP "r1 = r0; r1 += 48; again: *(u64 *)(r0 + 0) = 0; r0 += 8\n"
			   "if r0 != r1 goto again; r1 -= r0; r1 *= 3\n" OUT);
	ADDRESS(LOOKUP_STEPS + 2, .kind = GPUMON_PROBE_VALUE, .align = 8, .map = MAP_ARRAY,
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
		cmocka_unit_test(test_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
