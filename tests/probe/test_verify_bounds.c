// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Sets of numbers against single numbers: what is computed of sets holds for each of their numbers. */
#include <string.h>

#include "common.h"

#include "concrete.h"
#include "dice.h"
#include "gpuprog/object/instruction.h"
#include "gpuprog/verify/bounds.h"

#define ROUNDS 400000

static struct dice dice;

static bool has(const struct gpumon_bounds *set, uint64_t value)
{
	return !((set->tnum.value ^ value) & ~set->tnum.mask) && value >= set->umin &&
	       value <= set->umax && (int64_t)value >= set->smin && (int64_t)value <= set->smax &&
	       (uint32_t)value >= set->umin32 && (uint32_t)value <= set->umax32 &&
	       (int32_t)value >= set->smin32 && (int32_t)value <= set->smax32;
}

static void print(const char *name, const struct gpumon_bounds *set)
{
	print_error(
		"%s: bits %#llx unknown %#llx u %#llx..%#llx s %lld..%lld u32 %#x..%#x s32 %d..%d\n",
		name, (unsigned long long)set->tnum.value, (unsigned long long)set->tnum.mask,
		(unsigned long long)set->umin, (unsigned long long)set->umax, (long long)set->smin,
		(long long)set->smax, set->umin32, set->umax32, set->smin32, set->smax32);
}

static uint64_t below(uint64_t value)
{
	uint64_t less = dice_number(&dice) & (UINT64_MAX >> dice_below(&dice, 64));

	return less > value ? 0 : value - less;
}

static uint64_t above(uint64_t value)
{
	return ~below(~value);
}

/* A set that has @value. */
static struct gpumon_bounds around(uint64_t value)
{
	struct gpumon_bounds set = gpumon_bounds_any();
	uint64_t sign = 1ull << 63;

	if (dice_once_in(&dice, 8))
		return gpumon_bounds_constant(value);
	if (dice_once_in(&dice, 2)) {
		set.tnum.mask = dice_any(&dice) & (UINT64_MAX >> dice_below(&dice, 64))
							  << dice_below(&dice, 8);
		set.tnum.value = value & ~set.tnum.mask;
	}
	if (dice_once_in(&dice, 2)) {
		set.umin = below(value);
		set.umax = above(value);
	}
	if (dice_once_in(&dice, 2)) {
		set.smin = (int64_t)(below(value ^ sign) ^ sign);
		set.smax = (int64_t)(above(value ^ sign) ^ sign);
	}
	if (dice_once_in(&dice, 3)) {
		set.umin32 = (uint32_t)(below(value << 32 | UINT32_MAX) >> 32);
		set.umax32 = (uint32_t)(above(value << 32) >> 32);
	}
	if (dice_once_in(&dice, 3)) {
		set.smin32 = (int32_t)(below((value << 32 | UINT32_MAX) ^ sign) >> 32 ^ sign >> 32);
		set.smax32 = (int32_t)(above((value << 32) ^ sign) >> 32 ^ sign >> 32);
	}
	if (!has(&set, value)) {
		print("around", &set);
		fail_msg("%#llx is not in the set made for it", (unsigned long long)value);
	}
	/* As after widening, or as after most operations. */
	if (!dice_once_in(&dice, 4) && (!gpumon_bounds_sync(&set) || !has(&set, value))) {
		print("settled", &set);
		fail_msg("settling took %#llx out", (unsigned long long)value);
	}
	return set;
}

/* Numbers that are near each other, equal, or not. */
static uint64_t near(uint64_t value)
{
	switch (dice_below(&dice, 4)) {
	case 0:
		return value;
	case 1:
		return value + dice_below(&dice, 5) - 2;
	case 2:
		return (uint32_t)value | dice_number(&dice) << 32;
	default:
		return dice_number(&dice);
	}
}

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR,
				   BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH, BPF_ARSH };

static void test_alu(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t op = alu_ops[dice_below(&dice, COUNT(alu_ops))];
		uint8_t code = (dice_once_in(&dice, 2) ? BPF_ALU : BPF_ALU64) | op;
		bool is_signed = (op == BPF_DIV || op == BPF_MOD) && dice_once_in(&dice, 3);
		uint64_t a = dice_number(&dice), b = dice_number(&dice);
		struct gpumon_bounds left = around(a), right = around(b);
		struct gpumon_bounds result = gpumon_bounds_alu(code, is_signed, &left, &right);
		uint64_t value = concrete_alu(code, is_signed, a, b);

		if (has(&result, value))
			continue;
		print("left", &left);
		print("right", &right);
		print("result", &result);
		fail_msg("code %#x: %#llx, %#llx give %#llx", code, (unsigned long long)a,
			 (unsigned long long)b, (unsigned long long)value);
	}
}

static void test_moves(void **state)
{
	static const int bits[] = { 0, 8, 16, 32 };

	(void)state;
	for (int i = 0; i < ROUNDS / 4; i++) {
		uint8_t code = (dice_once_in(&dice, 2) ? BPF_ALU : BPF_ALU64) | BPF_MOV | BPF_X;
		int size = bits[dice_below(&dice, 4)], turned = dice_once_in(&dice, 2);
		uint64_t value = dice_number(&dice);
		struct gpumon_bounds from = around(value);
		struct gpumon_bounds moved = gpumon_bounds_move(code, size, &from);

		assert_true(has(&moved, concrete_alu(code, (int16_t)size, 0, value)));
		size = 16 << dice_below(&dice, 3);
		moved = gpumon_bounds_byte_order(turned, size, &from);
		code = BPF_END | (turned ? BPF_ALU64 : BPF_ALU);
		assert_true(has(&moved, concrete_alu(code, 0, value, (uint64_t)size)));
	}
}

static const uint8_t jumps[] = { BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,	 BPF_JLT, BPF_JLE,
				 BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };

static void test_jumps(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t code = (dice_once_in(&dice, 2) ? BPF_JMP : BPF_JMP32) |
			       jumps[dice_below(&dice, COUNT(jumps))];
		uint64_t a = dice_number(&dice), b = near(a);
		struct gpumon_bounds left = around(a), right = around(b);
		bool taken = concrete_jump(code, a, b);
		struct gpumon_bounds left_after = left, right_after = right;

		if (gpumon_bounds_assume(code, taken, &left_after, &right_after) &&
		    has(&left_after, a) && has(&right_after, b))
			continue;
		print("left", &left);
		print("right", &right);
		print("left after", &left_after);
		print("right after", &right_after);
		fail_msg("code %#x, taken %d: %#llx, %#llx", code, taken, (unsigned long long)a,
			 (unsigned long long)b);
	}
}

static void test_joins(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS / 4; i++) {
		uint64_t a = dice_number(&dice), b = near(a);
		struct gpumon_bounds left = around(a), right = around(b);
		struct gpumon_bounds joined = gpumon_bounds_join(&left, &right);
		struct gpumon_thresholds marks = { 0 };
		struct gpumon_bounds wide;

		for (int n = 0; n < 5; n++)
			gpumon_thresholds_add(&marks, (int32_t)dice_number(&dice));
		wide = gpumon_bounds_widen(&left, &joined, dice_once_in(&dice, 2) ? &marks : NULL);
		assert_true(has(&joined, a) && has(&joined, b));
		assert_true(has(&wide, a) && has(&wide, b));
	}
}

/* However numbers come, a widened set stops growing. */
static void test_widening_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct gpumon_bounds set = gpumon_bounds_constant(dice_number(&dice));
		struct gpumon_thresholds marks = { 0 };
		int changes = 0;

		for (int n = 0; n < 20; n++)
			gpumon_thresholds_add(&marks, (int32_t)dice_number(&dice));
		for (int n = 0; n < 500; n++) {
			struct gpumon_bounds more = around(dice_number(&dice));
			struct gpumon_bounds joined = gpumon_bounds_join(&set, &more);

			if (!memcmp(&joined, &set, sizeof(set)))
				continue;
			changes++;
			set = gpumon_bounds_widen(&set, &joined, changes > 12 ? NULL : &marks);
		}
		assert_in_range(changes, 0, 12 + 64 + 8);
	}
}

/* Not only safe: of constants the result is known. */
static void test_constants(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS / 4; i++) {
		uint8_t op = alu_ops[dice_below(&dice, COUNT(alu_ops))];
		uint8_t code = (dice_once_in(&dice, 2) ? BPF_ALU : BPF_ALU64) | op;
		struct gpumon_bounds left = gpumon_bounds_constant(dice_number(&dice));
		struct gpumon_bounds right = gpumon_bounds_constant(dice_number(&dice));
		struct gpumon_bounds result = gpumon_bounds_alu(code, false, &left, &right);

		assert_true(gpumon_bounds_is_constant(&result));
		code = (dice_once_in(&dice, 2) ? BPF_JMP : BPF_JMP32) |
		       jumps[dice_below(&dice, COUNT(jumps))];
		assert_int_equal(gpumon_bounds_assume(code, true, &left, &right),
				 concrete_jump(code, left.tnum.value, right.tnum.value));
	}
}

static int roll(void **state)
{
	(void)state;
	dice = dice_make(dice_seed());
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu),	      cmocka_unit_test(test_moves),
		cmocka_unit_test(test_jumps),	      cmocka_unit_test(test_joins),
		cmocka_unit_test(test_widening_ends), cmocka_unit_test(test_constants),
	};

	return cmocka_run_group_tests(tests, roll, NULL);
}
