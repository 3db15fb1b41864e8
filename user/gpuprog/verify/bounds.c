// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <linux/bpf.h>
#include <string.h>

#include "bounds.h"

#define SIGN   (1ull << 63)
#define SIGN32 (1u << 31)
#define LOWER  0xffffffffull

#define RAISE(least, by)                \
	do {                            \
		if ((least) < (by))     \
			(least) = (by); \
	} while (0)
#define LOWER_TO(greatest, by)             \
	do {                               \
		if ((greatest) > (by))     \
			(greatest) = (by); \
	} while (0)

struct gpumon_bounds gpumon_bounds_any(void)
{
	return (struct gpumon_bounds){ .tnum.mask = UINT64_MAX,
				       .umax = UINT64_MAX,
				       .smin = INT64_MIN,
				       .smax = INT64_MAX,
				       .umax32 = UINT32_MAX,
				       .smin32 = INT32_MIN,
				       .smax32 = INT32_MAX };
}

struct gpumon_bounds gpumon_bounds_constant(uint64_t value)
{
	return (struct gpumon_bounds){ .tnum.value = value,
				       .umin = value,
				       .umax = value,
				       .smin = (int64_t)value,
				       .smax = (int64_t)value,
				       .umin32 = (uint32_t)value,
				       .umax32 = (uint32_t)value,
				       .smin32 = (int32_t)value,
				       .smax32 = (int32_t)value };
}

/* All numbers from @min to @max. */
static struct gpumon_bounds bounds_range(uint64_t min, uint64_t max)
{
	struct gpumon_bounds number = gpumon_bounds_any();

	number.umin = min;
	number.umax = max;
	gpumon_bounds_sync(&number);
	return number;
}

bool gpumon_bounds_is_constant(const struct gpumon_bounds *number)
{
	return !number->tnum.mask;
}

unsigned int gpumon_bounds_alignment(const struct gpumon_bounds *number)
{
	uint64_t bits = number->tnum.value | number->tnum.mask | 8;

	return (unsigned int)(bits & -bits);
}

static void bounds_from_bits(struct gpumon_bounds *n)
{
	uint32_t bits32 = (uint32_t)n->tnum.value, unknown32 = (uint32_t)n->tnum.mask;

	RAISE(n->umin, n->tnum.value);
	LOWER_TO(n->umax, n->tnum.value | n->tnum.mask);
	RAISE(n->smin, (int64_t)(n->tnum.value | (n->tnum.mask & SIGN)));
	LOWER_TO(n->smax, (int64_t)(n->tnum.value | (n->tnum.mask & ~SIGN)));
	RAISE(n->umin32, bits32);
	LOWER_TO(n->umax32, bits32 | unknown32);
	RAISE(n->smin32, (int32_t)(bits32 | (unknown32 & SIGN32)));
	LOWER_TO(n->smax32, (int32_t)(bits32 | (unknown32 & ~SIGN32)));
}

/* Bounds without a sign that do not cross the sign's change hold with a sign, too; and back. */
static void bounds_across_sign(struct gpumon_bounds *n)
{
	if ((int64_t)n->umin <= (int64_t)n->umax) {
		RAISE(n->smin, (int64_t)n->umin);
		LOWER_TO(n->smax, (int64_t)n->umax);
	}
	if ((uint64_t)n->smin <= (uint64_t)n->smax) {
		RAISE(n->umin, (uint64_t)n->smin);
		LOWER_TO(n->umax, (uint64_t)n->smax);
	}
	if ((int32_t)n->umin32 <= (int32_t)n->umax32) {
		RAISE(n->smin32, (int32_t)n->umin32);
		LOWER_TO(n->smax32, (int32_t)n->umax32);
	}
	if ((uint32_t)n->smin32 <= (uint32_t)n->smax32) {
		RAISE(n->umin32, (uint32_t)n->smin32);
		LOWER_TO(n->umax32, (uint32_t)n->smax32);
	}
}

/*
 * If the upper half is the same for all numbers, or only extends the sign, both sizes have the same
 * bounds.
 */
static void bounds_across_size(struct gpumon_bounds *n)
{
	uint64_t upper = n->umin & ~LOWER;

	if (upper == (n->umax & ~LOWER)) {
		RAISE(n->umin32, (uint32_t)n->umin);
		LOWER_TO(n->umax32, (uint32_t)n->umax);
		RAISE(n->umin, upper | n->umin32);
		LOWER_TO(n->umax, upper | n->umax32);
	}
	if (n->smin >= INT32_MIN && n->smax <= INT32_MAX) {
		RAISE(n->smin32, (int32_t)n->smin);
		LOWER_TO(n->smax32, (int32_t)n->smax);
		RAISE(n->smin, n->smin32);
		LOWER_TO(n->smax, n->smax32);
	}
}

static bool is_empty(const struct gpumon_bounds *n)
{
	return n->umin > n->umax || n->smin > n->smax || n->umin32 > n->umax32 ||
	       n->smin32 > n->smax32;
}

/* The upper bits that @min and @max share are known. */
static bool bits_from_bounds(struct gpumon_bounds *n, uint64_t min, uint64_t max, uint64_t within)
{
	uint64_t differ = min ^ max, shared = within;

	if (differ)
		shared &= ~(UINT64_MAX >> __builtin_clzll(differ));
	if ((n->tnum.value ^ min) & shared & ~n->tnum.mask)
		return false;
	n->tnum.value |= min & shared;
	n->tnum.mask &= ~shared;
	return true;
}

bool gpumon_bounds_sync(struct gpumon_bounds *number)
{
	/* One form of bounds may narrow a second one, and the second a third. */
	for (int round = 0; round < 2; round++) {
		bounds_from_bits(number);
		bounds_across_sign(number);
		bounds_across_size(number);
		bounds_across_sign(number);
		if (is_empty(number) ||
		    !bits_from_bounds(number, number->umin, number->umax, UINT64_MAX) ||
		    !bits_from_bounds(number, number->umin32, number->umax32, LOWER))
			return false;
	}
	bounds_from_bits(number);
	return !is_empty(number);
}

/* The lower half, without or with its sign. */
static struct gpumon_bounds bounds_lower(const struct gpumon_bounds *number)
{
	struct gpumon_bounds lower = { .tnum.value = number->tnum.value & LOWER,
				       .tnum.mask = number->tnum.mask & LOWER,
				       .umin = number->umin32,
				       .umax = number->umax32,
				       .smin = number->umin32,
				       .smax = number->umax32,
				       .umin32 = number->umin32,
				       .umax32 = number->umax32,
				       .smin32 = number->smin32,
				       .smax32 = number->smax32 };

	gpumon_bounds_sync(&lower);
	return lower;
}
static struct gpumon_bounds bounds_lower_signed(const struct gpumon_bounds *number)
{
	struct gpumon_bounds lower = gpumon_bounds_any();

	lower.tnum.value = (uint64_t)(int64_t)(int32_t)number->tnum.value;
	lower.tnum.mask = (uint64_t)(int64_t)(int32_t)number->tnum.mask;
	/* An unknown sign is unknown in the whole upper half. */
	lower.tnum.value &= ~lower.tnum.mask;
	lower.smin = number->smin32;
	lower.smax = number->smax32;
	lower.umin32 = number->umin32;
	lower.umax32 = number->umax32;
	lower.smin32 = number->smin32;
	lower.smax32 = number->smax32;
	gpumon_bounds_sync(&lower);
	return lower;
}

struct gpumon_bounds gpumon_bounds_join(const struct gpumon_bounds *a,
					const struct gpumon_bounds *b)
{
	struct gpumon_bounds joined = *a;

	joined.tnum.mask = a->tnum.mask | b->tnum.mask | (a->tnum.value ^ b->tnum.value);
	joined.tnum.value &= ~joined.tnum.mask;
	LOWER_TO(joined.umin, b->umin);
	RAISE(joined.umax, b->umax);
	LOWER_TO(joined.smin, b->smin);
	RAISE(joined.smax, b->smax);
	LOWER_TO(joined.umin32, b->umin32);
	RAISE(joined.umax32, b->umax32);
	LOWER_TO(joined.smin32, b->smin32);
	RAISE(joined.smax32, b->smax32);
	return joined;
}

void gpumon_thresholds_add(struct gpumon_thresholds *thresholds, int64_t value)
{
	unsigned int at = 0;

	while (at < thresholds->n && thresholds->values[at] < value)
		at++;
	if (thresholds->n == GPUMON_THRESHOLDS_MAX ||
	    (at < thresholds->n && thresholds->values[at] == value))
		return;
	memmove(&thresholds->values[at + 1], &thresholds->values[at],
		(thresholds->n - at) * sizeof(int64_t));
	thresholds->values[at] = value;
	thresholds->n++;
}

static int64_t next_above(const struct gpumon_thresholds *thresholds, int64_t value,
			  int64_t otherwise)
{
	for (unsigned int i = 0; thresholds && i < thresholds->n; i++)
		if (thresholds->values[i] >= value)
			return thresholds->values[i];
	return otherwise;
}

static int64_t next_below(const struct gpumon_thresholds *thresholds, int64_t value,
			  int64_t otherwise)
{
	for (unsigned int i = thresholds ? thresholds->n : 0; i; i--)
		if (thresholds->values[i - 1] <= value)
			return thresholds->values[i - 1];
	return otherwise;
}

/*
 * Next pause (widening threshold) of a bound that moved from @value on: a number with the known
 * lowest bits.
 */
static int64_t widen_to_above(const struct gpumon_bounds *n,
			      const struct gpumon_thresholds *thresholds, int64_t value,
			      int64_t otherwise)
{
	uint64_t lowest = (n->tnum.mask & -n->tnum.mask) - 1;
	int64_t threshold = next_above(thresholds, value, otherwise), pause;

	pause = (int64_t)((uint64_t)threshold - (((uint64_t)threshold - n->tnum.value) & lowest));
	return threshold == otherwise || pause < value || pause > threshold ? threshold : pause;
}

static int64_t widen_to_below(const struct gpumon_bounds *n,
			      const struct gpumon_thresholds *thresholds, int64_t value,
			      int64_t otherwise)
{
	uint64_t lowest = (n->tnum.mask & -n->tnum.mask) - 1;
	int64_t threshold = next_below(thresholds, value, otherwise), pause;

	pause = (int64_t)((uint64_t)threshold + ((n->tnum.value - (uint64_t)threshold) & lowest));
	return threshold == otherwise || pause > value || pause < threshold ? threshold : pause;
}

struct gpumon_bounds gpumon_bounds_widen(const struct gpumon_bounds *old,
					 const struct gpumon_bounds *joined,
					 const struct gpumon_thresholds *thresholds)
{
	struct gpumon_bounds wide = *joined;

	/* Of the known bits only the lowest, an alignment, are kept. */
	if (wide.tnum.mask != old->tnum.mask) {
		wide.tnum.mask |= -(wide.tnum.mask & -wide.tnum.mask);
		wide.tnum.value &= ~wide.tnum.mask;
	}
	/*
	 * Unsigned bounds have pauses only from 0 on, where they are the same as for signed ones.
	 */
	if (wide.umin != old->umin) {
		int64_t value = (int64_t)wide.umin;
		int64_t pause = value < 0 ? 0 : widen_to_below(&wide, thresholds, value, 0);

		wide.umin = pause < 0 ? 0 : (uint64_t)pause;
	}
	if (wide.umax != old->umax) {
		int64_t value = (int64_t)wide.umax;

		wide.umax = value < 0 ? UINT64_MAX :
					(uint64_t)widen_to_above(&wide, thresholds, value, -1);
	}
	if (wide.smin != old->smin)
		wide.smin = widen_to_below(&wide, thresholds, wide.smin, INT64_MIN);
	if (wide.smax != old->smax)
		wide.smax = widen_to_above(&wide, thresholds, wide.smax, INT64_MAX);
	if (wide.umin32 != old->umin32 || wide.umax32 != old->umax32) {
		wide.umin32 = 0;
		wide.umax32 = UINT32_MAX;
	}
	if (wide.smin32 != old->smin32 || wide.smax32 != old->smax32) {
		wide.smin32 = INT32_MIN;
		wide.smax32 = INT32_MAX;
	}
	return wide;
}

/*
 * Each function makes bits and bounds of the 64-bit result; gpumon_bounds_sync() does the rest.
 * Operations on 32 bits are those on the lower halves, of which the lower half is taken.
 */

static struct gpumon_bounds add_numbers(const struct gpumon_bounds *a,
					const struct gpumon_bounds *b)
{
	struct gpumon_bounds sum = gpumon_bounds_any();
	uint64_t a_most = a->tnum.value | a->tnum.mask, b_most = b->tnum.value | b->tnum.mask;
	/* Carries into each bit for the least and the greatest operands: all others lie between. */
	uint64_t least = (a->tnum.value + b->tnum.value) ^ a->tnum.value ^ b->tnum.value;
	uint64_t most = (a_most + b_most) ^ a_most ^ b_most;

	sum.tnum.mask = a->tnum.mask | b->tnum.mask | (least ^ most);
	sum.tnum.value = (a->tnum.value + b->tnum.value) & ~sum.tnum.mask;
	if (__builtin_add_overflow(a->umax, b->umax, &sum.umax))
		sum.umax = UINT64_MAX;
	else
		sum.umin = a->umin + b->umin;
	if (__builtin_add_overflow(a->smin, b->smin, &sum.smin) ||
	    __builtin_add_overflow(a->smax, b->smax, &sum.smax)) {
		sum.smin = INT64_MIN;
		sum.smax = INT64_MAX;
	}
	return sum;
}

static struct gpumon_bounds subtract_numbers(const struct gpumon_bounds *a,
					     const struct gpumon_bounds *b)
{
	struct gpumon_bounds rest = gpumon_bounds_any();
	uint64_t a_most = a->tnum.value | a->tnum.mask, b_most = b->tnum.value | b->tnum.mask;
	/* Borrows, as the carries of a sum. */
	uint64_t most = (a->tnum.value - b_most) ^ a->tnum.value ^ b_most;
	uint64_t least = (a_most - b->tnum.value) ^ a_most ^ b->tnum.value;

	rest.tnum.mask = a->tnum.mask | b->tnum.mask | (least ^ most);
	rest.tnum.value = (a->tnum.value - b->tnum.value) & ~rest.tnum.mask;
	if (a->umin >= b->umax) {
		rest.umin = a->umin - b->umax;
		rest.umax = a->umax - b->umin;
	}
	if (__builtin_sub_overflow(a->smin, b->smax, &rest.smin) ||
	    __builtin_sub_overflow(a->smax, b->smin, &rest.smax)) {
		rest.smin = INT64_MIN;
		rest.smax = INT64_MAX;
	}
	return rest;
}

static int lowest_bit(const struct gpumon_bounds *n)
{
	uint64_t bits = n->tnum.value | n->tnum.mask;

	return bits ? __builtin_ctzll(bits) : 64;
}

static struct gpumon_bounds multiply_numbers(const struct gpumon_bounds *a,
					     const struct gpumon_bounds *b)
{
	struct gpumon_bounds product = gpumon_bounds_any();
	int zeros = lowest_bit(a) + lowest_bit(b);

	if (gpumon_bounds_is_constant(a) && gpumon_bounds_is_constant(b))
		return gpumon_bounds_constant(a->tnum.value * b->tnum.value);
	product.tnum.mask = zeros < 64 ? UINT64_MAX << zeros : 0;
	if (__builtin_mul_overflow(a->umax, b->umax, &product.umax))
		product.umax = UINT64_MAX;
	else
		product.umin = a->umin * b->umin;
	return product;
}

static struct gpumon_bounds and_numbers(const struct gpumon_bounds *a,
					const struct gpumon_bounds *b)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.value = a->tnum.value & b->tnum.value;
	result.tnum.mask = (a->tnum.value | a->tnum.mask) & (b->tnum.value | b->tnum.mask) &
			   ~result.tnum.value;
	result.umax = a->umax < b->umax ? a->umax : b->umax;
	return result;
}

static struct gpumon_bounds or_numbers(const struct gpumon_bounds *a, const struct gpumon_bounds *b)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.value = a->tnum.value | b->tnum.value;
	result.tnum.mask = (a->tnum.mask | b->tnum.mask) & ~result.tnum.value;
	result.umin = a->umin > b->umin ? a->umin : b->umin;
	return result;
}

static struct gpumon_bounds xor_numbers(const struct gpumon_bounds *a,
					const struct gpumon_bounds *b)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.mask = a->tnum.mask | b->tnum.mask;
	result.tnum.value = (a->tnum.value ^ b->tnum.value) & ~result.tnum.mask;
	return result;
}

static struct gpumon_bounds shift_left(const struct gpumon_bounds *a, unsigned int by)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.value = a->tnum.value << by;
	result.tnum.mask = a->tnum.mask << by;
	if (a->umax <= UINT64_MAX >> by) {
		result.umin = a->umin << by;
		result.umax = a->umax << by;
	} else if (by == 32) {
		/* First half of the way to extend a number of 32 bits. */
		result.umin = (uint64_t)a->umin32 << 32;
		result.umax = (uint64_t)a->umax32 << 32;
	}
	if (by == 32) {
		result.smin = (int64_t)((uint64_t)a->smin32 << 32);
		result.smax = (int64_t)((uint64_t)a->smax32 << 32);
	} else if (a->smin >= INT64_MIN >> by && a->smax <= INT64_MAX >> by) {
		result.smin = (int64_t)((uint64_t)a->smin << by);
		result.smax = (int64_t)((uint64_t)a->smax << by);
	}
	return result;
}

static struct gpumon_bounds shift_right(const struct gpumon_bounds *a, unsigned int by)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.value = a->tnum.value >> by;
	result.tnum.mask = a->tnum.mask >> by;
	result.umin = a->umin >> by;
	result.umax = a->umax >> by;
	return result;
}

static struct gpumon_bounds shift_right_signed(const struct gpumon_bounds *a, unsigned int by)
{
	struct gpumon_bounds result = gpumon_bounds_any();

	result.tnum.mask = (uint64_t)((int64_t)a->tnum.mask >> by);
	result.tnum.value = (uint64_t)((int64_t)a->tnum.value >> by) & ~result.tnum.mask;
	result.smin = a->smin >> by;
	result.smax = a->smax >> by;
	return result;
}

/* @width: 64 or 32, the bits of the operands */
static struct gpumon_bounds shift_numbers(uint8_t op, const struct gpumon_bounds *a,
					  const struct gpumon_bounds *b, unsigned int width)
{
	unsigned int by = (unsigned int)b->tnum.value & (width - 1);

	if (b->tnum.mask & (width - 1))
		return op == BPF_RSH ? bounds_range(0, a->umax) : gpumon_bounds_any();
	if (op == BPF_LSH)
		return shift_left(a, by);
	return op == BPF_RSH ? shift_right(a, by) : shift_right_signed(a, by);
}

/* x / 0 is 0, x % 0 is x. */
static struct gpumon_bounds divide_numbers(uint8_t op, const struct gpumon_bounds *a,
					   const struct gpumon_bounds *b)
{
	uint64_t most;

	if (!b->umax || (gpumon_bounds_is_constant(b) && !b->tnum.value))
		return op == BPF_DIV ? gpumon_bounds_constant(0) : *a;
	if (op == BPF_DIV)
		return b->umin ? bounds_range(a->umin / b->umax, a->umax / b->umin) :
				 bounds_range(0, a->umax);
	if (gpumon_bounds_is_constant(a) && gpumon_bounds_is_constant(b))
		return gpumon_bounds_constant(a->tnum.value % b->tnum.value);
	most = b->umin && b->umax - 1 < a->umax ? b->umax - 1 : a->umax;
	return bounds_range(0, most);
}

static struct gpumon_bounds operate(uint8_t op, bool is_signed, const struct gpumon_bounds *a,
				    const struct gpumon_bounds *b, unsigned int width)
{
	switch (op) {
	case BPF_ADD:
		return add_numbers(a, b);
	case BPF_SUB:
		return subtract_numbers(a, b);
	case BPF_MUL:
		return multiply_numbers(a, b);
	case BPF_AND:
		return and_numbers(a, b);
	case BPF_OR:
		return or_numbers(a, b);
	case BPF_XOR:
		return xor_numbers(a, b);
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return shift_numbers(op, a, b, width);
	case BPF_DIV:
	case BPF_MOD:
		return is_signed ? gpumon_bounds_any() : divide_numbers(op, a, b);
	default:
		return gpumon_bounds_any();
	}
}

struct gpumon_bounds gpumon_bounds_alu(uint8_t code, bool is_signed, const struct gpumon_bounds *a,
				       const struct gpumon_bounds *b)
{
	uint8_t op = BPF_OP(code);
	struct gpumon_bounds result, left, right;

	if (BPF_CLASS(code) == BPF_ALU64) {
		result = operate(op, is_signed, a, b, 64);
		gpumon_bounds_sync(&result);
		return result;
	}
	left = op == BPF_ARSH ? bounds_lower_signed(a) : bounds_lower(a);
	right = bounds_lower(b);
	result = operate(op, is_signed, &left, &right, 32);
	gpumon_bounds_sync(&result);
	return bounds_lower(&result);
}

struct gpumon_bounds gpumon_bounds_move(uint8_t code, int bits, const struct gpumon_bounds *a)
{
	struct gpumon_bounds result = *a;

	if (bits == 32) {
		result = bounds_lower_signed(a);
	} else if (bits) {
		struct gpumon_bounds by = gpumon_bounds_constant(64 - (unsigned int)bits);

		result = gpumon_bounds_alu(BPF_ALU64 | BPF_LSH, false, a, &by);
		result = gpumon_bounds_alu(BPF_ALU64 | BPF_ARSH, false, &result, &by);
	}
	return BPF_CLASS(code) == BPF_ALU ? bounds_lower(&result) : result;
}

static uint64_t turn_bytes(int bits, uint64_t value)
{
	return __builtin_bswap64(value) >> (64 - bits);
}

struct gpumon_bounds gpumon_bounds_byte_order(bool turned, int bits, const struct gpumon_bounds *a)
{
	struct gpumon_bounds result = gpumon_bounds_any();
	uint64_t mask = UINT64_MAX >> (64 - bits);

	if (!turned && bits == 64)
		return *a;
	result.tnum.value = turned ? turn_bytes(bits, a->tnum.value) : a->tnum.value & mask;
	result.tnum.mask = turned ? turn_bytes(bits, a->tnum.mask) : a->tnum.mask & mask;
	if (!turned && bits == 32)
		return bounds_lower(a);
	gpumon_bounds_sync(&result);
	return result;
}

#define LOWER 0xffffffffull

/* The smaller side's greatest is below the greater side's; equal is possible if @or_equal. */
#define ORDER(low_min, low_max, high_min, high_max, or_equal) \
	do {                                                  \
		if (!(or_equal)) {                            \
			if ((low_min) >= (high_max))          \
				return false;                 \
			if ((high_min) <= (low_min))          \
				(high_min) = (low_min) + 1;   \
			if ((low_max) >= (high_max))          \
				(low_max) = (high_max)-1;     \
		} else {                                      \
			if ((low_min) > (high_max))           \
				return false;                 \
			if ((high_min) < (low_min))           \
				(high_min) = (low_min);       \
			if ((low_max) > (high_max))           \
				(low_max) = (high_max);       \
		}                                             \
	} while (0)

#define MEET(a, b, least, greatest)                    \
	do {                                           \
		if ((a)->least < (b)->least)           \
			(a)->least = (b)->least;       \
		if ((a)->greatest > (b)->greatest)     \
			(a)->greatest = (b)->greatest; \
	} while (0)

/* Equal in the bits of @within. */
static bool meet_bits(struct gpumon_bounds *a, const struct gpumon_bounds *b, uint64_t within)
{
	uint64_t learnt = a->tnum.mask & ~b->tnum.mask & within;

	if ((a->tnum.value ^ b->tnum.value) & ~a->tnum.mask & ~b->tnum.mask & within)
		return false;
	a->tnum.value |= b->tnum.value & learnt;
	a->tnum.mask &= ~learnt;
	return true;
}

static bool assume_equal(bool wide, struct gpumon_bounds *a, struct gpumon_bounds *b)
{
	if (!meet_bits(a, b, wide ? UINT64_MAX : LOWER) ||
	    !meet_bits(b, a, wide ? UINT64_MAX : LOWER))
		return false;
	MEET(a, b, umin32, umax32);
	MEET(a, b, smin32, smax32);
	MEET(b, a, umin32, umax32);
	MEET(b, a, smin32, smax32);
	if (!wide)
		return true;
	MEET(a, b, umin, umax);
	MEET(a, b, smin, smax);
	*b = *a;
	return true;
}

/* All numbers have the same lowest bits, so the next number is @step away. */
#define LEAVE_OUT(least, greatest, value, step)                                  \
	do {                                                                     \
		if ((least) != (value) && (greatest) != (value))                 \
			break;                                                   \
		if ((uint64_t)(greatest) - (uint64_t)(least) < (uint64_t)(step)) \
			return false;                                            \
		if ((least) == (value))                                          \
			(least) += (step);                                       \
		else                                                             \
			(greatest) -= (step);                                    \
	} while (0)

static bool assume_not(bool wide, struct gpumon_bounds *a, const struct gpumon_bounds *b)
{
	uint64_t unknown = wide ? a->tnum.mask : a->tnum.mask & LOWER;
	uint64_t step = unknown ? unknown & -unknown : 1;

	/*
	 * @b is not one number, or one that @a cannot be; or it has the highest bit, and there is
	 * no step.
	 */
	if ((wide ? b->tnum.mask : b->tnum.mask & LOWER) ||
	    (a->tnum.value ^ b->tnum.value) & (step - 1) || step > INT32_MAX)
		return true;
	if (wide) {
		LEAVE_OUT(a->umin, a->umax, b->tnum.value, step);
		LEAVE_OUT(a->smin, a->smax, (int64_t)b->tnum.value, (int64_t)step);
	} else {
		LEAVE_OUT(a->umin32, a->umax32, (uint32_t)b->tnum.value, (uint32_t)step);
		LEAVE_OUT(a->smin32, a->smax32, (int32_t)b->tnum.value, (int32_t)step);
	}
	return true;
}

/* A bit of @a that @b has is set; or none is. */
static bool assume_common(bool wide, bool some, struct gpumon_bounds *a,
			  const struct gpumon_bounds *b)
{
	uint64_t within = wide ? UINT64_MAX : LOWER;
	uint64_t possible = (b->tnum.value | b->tnum.mask) & within,
		 certain = b->tnum.value & within;
	uint64_t common = (a->tnum.value | a->tnum.mask) & possible;

	if (some) {
		if (!common)
			return false;
		if (!(common & (common - 1))) {
			a->tnum.value |= common;
			a->tnum.mask &= ~common;
		}
		return true;
	}
	if (a->tnum.value & certain)
		return false;
	a->tnum.mask &= ~certain;
	return true;
}

static bool assume_less(bool wide, bool is_signed, bool or_equal, struct gpumon_bounds *low,
			struct gpumon_bounds *high)
{
	if (wide && is_signed)
		ORDER(low->smin, low->smax, high->smin, high->smax, or_equal);
	else if (wide)
		ORDER(low->umin, low->umax, high->umin, high->umax, or_equal);
	else if (is_signed)
		ORDER(low->smin32, low->smax32, high->smin32, high->smax32, or_equal);
	else
		ORDER(low->umin32, low->umax32, high->umin32, high->umax32, or_equal);
	return true;
}

static bool assume(uint8_t op, bool wide, bool taken, struct gpumon_bounds *a,
		   struct gpumon_bounds *b)
{
	switch (op) {
	case BPF_JEQ:
	case BPF_JNE:
		if (taken == (op == BPF_JEQ))
			return assume_equal(wide, a, b);
		return assume_not(wide, a, b) && assume_not(wide, b, a);
	case BPF_JSET:
		return assume_common(wide, taken, a, b) && assume_common(wide, taken, b, a);
	case BPF_JGT:
	case BPF_JSGT:
		return taken ? assume_less(wide, op == BPF_JSGT, false, b, a) :
			       assume_less(wide, op == BPF_JSGT, true, a, b);
	case BPF_JGE:
	case BPF_JSGE:
		return taken ? assume_less(wide, op == BPF_JSGE, true, b, a) :
			       assume_less(wide, op == BPF_JSGE, false, a, b);
	case BPF_JLT:
	case BPF_JSLT:
		return taken ? assume_less(wide, op == BPF_JSLT, false, a, b) :
			       assume_less(wide, op == BPF_JSLT, true, b, a);
	case BPF_JLE:
	case BPF_JSLE:
		return taken ? assume_less(wide, op == BPF_JSLE, true, a, b) :
			       assume_less(wide, op == BPF_JSLE, false, b, a);
	default:
		return true;
	}
}

bool gpumon_bounds_assume(uint8_t code, bool taken, struct gpumon_bounds *a,
			  struct gpumon_bounds *b)
{
	bool wide = BPF_CLASS(code) == BPF_JMP;

	return assume(BPF_OP(code), wide, taken, a, b) && gpumon_bounds_sync(a) &&
	       gpumon_bounds_sync(b);
}
