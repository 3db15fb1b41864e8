// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Each function makes bits and bounds of the 64-bit result; gpumon_number_settle() does the rest.
 * Operations on 32 bits are those on the lower halves, of which the lower half is taken.
 */
#include <linux/bpf.h>

#include "number_alu.h"

static struct gpumon_number add_numbers(const struct gpumon_number *a,
					const struct gpumon_number *b)
{
	struct gpumon_number sum = gpumon_number_any();
	uint64_t a_most = a->bits | a->unknown, b_most = b->bits | b->unknown;
	/* Carries into each bit for the least and the greatest operands: all others lie between. */
	uint64_t least = (a->bits + b->bits) ^ a->bits ^ b->bits;
	uint64_t most = (a_most + b_most) ^ a_most ^ b_most;

	sum.unknown = a->unknown | b->unknown | (least ^ most);
	sum.bits = (a->bits + b->bits) & ~sum.unknown;
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

static struct gpumon_number subtract_numbers(const struct gpumon_number *a,
					     const struct gpumon_number *b)
{
	struct gpumon_number rest = gpumon_number_any();
	uint64_t a_most = a->bits | a->unknown, b_most = b->bits | b->unknown;
	/* Borrows, as the carries of a sum. */
	uint64_t most = (a->bits - b_most) ^ a->bits ^ b_most;
	uint64_t least = (a_most - b->bits) ^ a_most ^ b->bits;

	rest.unknown = a->unknown | b->unknown | (least ^ most);
	rest.bits = (a->bits - b->bits) & ~rest.unknown;
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

static int lowest_bit(const struct gpumon_number *n)
{
	uint64_t bits = n->bits | n->unknown;

	return bits ? __builtin_ctzll(bits) : 64;
}

static struct gpumon_number multiply_numbers(const struct gpumon_number *a,
					     const struct gpumon_number *b)
{
	struct gpumon_number product = gpumon_number_any();
	int zeros = lowest_bit(a) + lowest_bit(b);

	if (gpumon_number_is_constant(a) && gpumon_number_is_constant(b))
		return gpumon_number_constant(a->bits * b->bits);
	product.unknown = zeros < 64 ? UINT64_MAX << zeros : 0;
	if (__builtin_mul_overflow(a->umax, b->umax, &product.umax))
		product.umax = UINT64_MAX;
	else
		product.umin = a->umin * b->umin;
	return product;
}

static struct gpumon_number and_numbers(const struct gpumon_number *a,
					const struct gpumon_number *b)
{
	struct gpumon_number result = gpumon_number_any();

	result.bits = a->bits & b->bits;
	result.unknown = (a->bits | a->unknown) & (b->bits | b->unknown) & ~result.bits;
	result.umax = a->umax < b->umax ? a->umax : b->umax;
	return result;
}

static struct gpumon_number or_numbers(const struct gpumon_number *a, const struct gpumon_number *b)
{
	struct gpumon_number result = gpumon_number_any();

	result.bits = a->bits | b->bits;
	result.unknown = (a->unknown | b->unknown) & ~result.bits;
	result.umin = a->umin > b->umin ? a->umin : b->umin;
	return result;
}

static struct gpumon_number xor_numbers(const struct gpumon_number *a,
					const struct gpumon_number *b)
{
	struct gpumon_number result = gpumon_number_any();

	result.unknown = a->unknown | b->unknown;
	result.bits = (a->bits ^ b->bits) & ~result.unknown;
	return result;
}

static struct gpumon_number shift_left(const struct gpumon_number *a, unsigned int by)
{
	struct gpumon_number result = gpumon_number_any();

	result.bits = a->bits << by;
	result.unknown = a->unknown << by;
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

static struct gpumon_number shift_right(const struct gpumon_number *a, unsigned int by)
{
	struct gpumon_number result = gpumon_number_any();

	result.bits = a->bits >> by;
	result.unknown = a->unknown >> by;
	result.umin = a->umin >> by;
	result.umax = a->umax >> by;
	return result;
}

static struct gpumon_number shift_right_signed(const struct gpumon_number *a, unsigned int by)
{
	struct gpumon_number result = gpumon_number_any();

	result.unknown = (uint64_t)((int64_t)a->unknown >> by);
	result.bits = (uint64_t)((int64_t)a->bits >> by) & ~result.unknown;
	result.smin = a->smin >> by;
	result.smax = a->smax >> by;
	return result;
}

/* @width: 64 or 32, the bits of the operands */
static struct gpumon_number shift_numbers(uint8_t op, const struct gpumon_number *a,
					  const struct gpumon_number *b, unsigned int width)
{
	unsigned int by = (unsigned int)b->bits & (width - 1);

	if (b->unknown & (width - 1))
		return op == BPF_RSH ? gpumon_number_range(0, a->umax) : gpumon_number_any();
	if (op == BPF_LSH)
		return shift_left(a, by);
	return op == BPF_RSH ? shift_right(a, by) : shift_right_signed(a, by);
}

/* x / 0 is 0, x % 0 is x. */
static struct gpumon_number divide_numbers(uint8_t op, const struct gpumon_number *a,
					   const struct gpumon_number *b)
{
	uint64_t most;

	if (!b->umax || (gpumon_number_is_constant(b) && !b->bits))
		return op == BPF_DIV ? gpumon_number_constant(0) : *a;
	if (op == BPF_DIV)
		return b->umin ? gpumon_number_range(a->umin / b->umax, a->umax / b->umin) :
				 gpumon_number_range(0, a->umax);
	if (gpumon_number_is_constant(a) && gpumon_number_is_constant(b))
		return gpumon_number_constant(a->bits % b->bits);
	most = b->umin && b->umax - 1 < a->umax ? b->umax - 1 : a->umax;
	return gpumon_number_range(0, most);
}

static struct gpumon_number operate(uint8_t op, bool is_signed, const struct gpumon_number *a,
				    const struct gpumon_number *b, unsigned int width)
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
		return is_signed ? gpumon_number_any() : divide_numbers(op, a, b);
	default:
		return gpumon_number_any();
	}
}

struct gpumon_number gpumon_number_alu(uint8_t code, bool is_signed, const struct gpumon_number *a,
				       const struct gpumon_number *b)
{
	uint8_t op = BPF_OP(code);
	struct gpumon_number result, left, right;

	if (BPF_CLASS(code) == BPF_ALU64) {
		result = operate(op, is_signed, a, b, 64);
		gpumon_number_settle(&result);
		return result;
	}
	left = op == BPF_ARSH ? gpumon_number_lower_signed(a) : gpumon_number_lower(a);
	right = gpumon_number_lower(b);
	result = operate(op, is_signed, &left, &right, 32);
	gpumon_number_settle(&result);
	return gpumon_number_lower(&result);
}

struct gpumon_number gpumon_number_move(uint8_t code, int bits, const struct gpumon_number *a)
{
	struct gpumon_number result = *a;

	if (bits == 32) {
		result = gpumon_number_lower_signed(a);
	} else if (bits) {
		struct gpumon_number by = gpumon_number_constant(64 - (unsigned int)bits);

		result = gpumon_number_alu(BPF_ALU64 | BPF_LSH, false, a, &by);
		result = gpumon_number_alu(BPF_ALU64 | BPF_ARSH, false, &result, &by);
	}
	return BPF_CLASS(code) == BPF_ALU ? gpumon_number_lower(&result) : result;
}

static uint64_t turn_bytes(int bits, uint64_t value)
{
	return __builtin_bswap64(value) >> (64 - bits);
}

struct gpumon_number gpumon_number_byte_order(bool turned, int bits, const struct gpumon_number *a)
{
	struct gpumon_number result = gpumon_number_any();
	uint64_t mask = UINT64_MAX >> (64 - bits);

	if (!turned && bits == 64)
		return *a;
	result.bits = turned ? turn_bytes(bits, a->bits) : a->bits & mask;
	result.unknown = turned ? turn_bytes(bits, a->unknown) : a->unknown & mask;
	if (!turned && bits == 32)
		return gpumon_number_lower(a);
	gpumon_number_settle(&result);
	return result;
}
