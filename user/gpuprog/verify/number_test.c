// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <linux/bpf.h>

#include "number_test.h"

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
static bool meet_bits(struct gpumon_number *a, const struct gpumon_number *b, uint64_t within)
{
	uint64_t learnt = a->unknown & ~b->unknown & within;

	if ((a->bits ^ b->bits) & ~a->unknown & ~b->unknown & within)
		return false;
	a->bits |= b->bits & learnt;
	a->unknown &= ~learnt;
	return true;
}

static bool assume_equal(bool wide, struct gpumon_number *a, struct gpumon_number *b)
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

/* All numbers have the same lowest bits, so the next one is @step away. */
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

static bool assume_not(bool wide, struct gpumon_number *a, const struct gpumon_number *b)
{
	uint64_t unknown = wide ? a->unknown : a->unknown & LOWER;
	uint64_t step = unknown ? unknown & -unknown : 1;

	/* Not one number, or one that @a cannot be; and with the highest bit there is no step. */
	if ((wide ? b->unknown : b->unknown & LOWER) || (a->bits ^ b->bits) & (step - 1) ||
	    step > INT32_MAX)
		return true;
	if (wide) {
		LEAVE_OUT(a->umin, a->umax, b->bits, step);
		LEAVE_OUT(a->smin, a->smax, (int64_t)b->bits, (int64_t)step);
	} else {
		LEAVE_OUT(a->umin32, a->umax32, (uint32_t)b->bits, (uint32_t)step);
		LEAVE_OUT(a->smin32, a->smax32, (int32_t)b->bits, (int32_t)step);
	}
	return true;
}

/* A bit of @a that @b has is set; or none is. */
static bool assume_common(bool wide, bool some, struct gpumon_number *a,
			  const struct gpumon_number *b)
{
	uint64_t within = wide ? UINT64_MAX : LOWER;
	uint64_t possible = (b->bits | b->unknown) & within, certain = b->bits & within;
	uint64_t common = (a->bits | a->unknown) & possible;

	if (some) {
		if (!common)
			return false;
		if (!(common & (common - 1))) {
			a->bits |= common;
			a->unknown &= ~common;
		}
		return true;
	}
	if (a->bits & certain)
		return false;
	a->unknown &= ~certain;
	return true;
}

static bool assume_less(bool wide, bool is_signed, bool or_equal, struct gpumon_number *low,
			struct gpumon_number *high)
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

static bool assume(uint8_t op, bool wide, bool taken, struct gpumon_number *a,
		   struct gpumon_number *b)
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

bool gpumon_number_assume(uint8_t code, bool taken, struct gpumon_number *a,
			  struct gpumon_number *b)
{
	bool wide = BPF_CLASS(code) == BPF_JMP;

	return assume(BPF_OP(code), wide, taken, a, b) && gpumon_number_settle(a) &&
	       gpumon_number_settle(b);
}
