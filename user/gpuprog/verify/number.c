// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "number.h"

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

struct gpumon_number gpumon_number_any(void)
{
	return (struct gpumon_number){ .unknown = UINT64_MAX,
				       .umax = UINT64_MAX,
				       .smin = INT64_MIN,
				       .smax = INT64_MAX,
				       .umax32 = UINT32_MAX,
				       .smin32 = INT32_MIN,
				       .smax32 = INT32_MAX };
}

struct gpumon_number gpumon_number_constant(uint64_t value)
{
	return (struct gpumon_number){ .bits = value,
				       .umin = value,
				       .umax = value,
				       .smin = (int64_t)value,
				       .smax = (int64_t)value,
				       .umin32 = (uint32_t)value,
				       .umax32 = (uint32_t)value,
				       .smin32 = (int32_t)value,
				       .smax32 = (int32_t)value };
}

struct gpumon_number gpumon_number_range(uint64_t min, uint64_t max)
{
	struct gpumon_number number = gpumon_number_any();

	number.umin = min;
	number.umax = max;
	gpumon_number_settle(&number);
	return number;
}

bool gpumon_number_is_constant(const struct gpumon_number *number)
{
	return !number->unknown;
}

unsigned int gpumon_number_alignment(const struct gpumon_number *number)
{
	uint64_t bits = number->bits | number->unknown | 8;

	return (unsigned int)(bits & -bits);
}

static void bounds_from_bits(struct gpumon_number *n)
{
	uint32_t bits32 = (uint32_t)n->bits, unknown32 = (uint32_t)n->unknown;

	RAISE(n->umin, n->bits);
	LOWER_TO(n->umax, n->bits | n->unknown);
	RAISE(n->smin, (int64_t)(n->bits | (n->unknown & SIGN)));
	LOWER_TO(n->smax, (int64_t)(n->bits | (n->unknown & ~SIGN)));
	RAISE(n->umin32, bits32);
	LOWER_TO(n->umax32, bits32 | unknown32);
	RAISE(n->smin32, (int32_t)(bits32 | (unknown32 & SIGN32)));
	LOWER_TO(n->smax32, (int32_t)(bits32 | (unknown32 & ~SIGN32)));
}

/* Bounds without a sign that do not cross the sign's change hold with a sign, too; and back. */
static void bounds_across_sign(struct gpumon_number *n)
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

/* Where the upper half is the same for all, or only the sign's, both sizes have the same bounds. */
static void bounds_across_size(struct gpumon_number *n)
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

static bool is_empty(const struct gpumon_number *n)
{
	return n->umin > n->umax || n->smin > n->smax || n->umin32 > n->umax32 ||
	       n->smin32 > n->smax32;
}

/* The upper bits that @min and @max share are known. */
static bool bits_from_bounds(struct gpumon_number *n, uint64_t min, uint64_t max, uint64_t within)
{
	uint64_t differ = min ^ max, shared = within;

	if (differ)
		shared &= ~(UINT64_MAX >> __builtin_clzll(differ));
	if ((n->bits ^ min) & shared & ~n->unknown)
		return false;
	n->bits |= min & shared;
	n->unknown &= ~shared;
	return true;
}

bool gpumon_number_settle(struct gpumon_number *number)
{
	/* What one form of bounds gives another may give to a third. */
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

struct gpumon_number gpumon_number_lower(const struct gpumon_number *number)
{
	struct gpumon_number lower = { .bits = number->bits & LOWER,
				       .unknown = number->unknown & LOWER,
				       .umin = number->umin32,
				       .umax = number->umax32,
				       .smin = number->umin32,
				       .smax = number->umax32,
				       .umin32 = number->umin32,
				       .umax32 = number->umax32,
				       .smin32 = number->smin32,
				       .smax32 = number->smax32 };

	gpumon_number_settle(&lower);
	return lower;
}

struct gpumon_number gpumon_number_lower_signed(const struct gpumon_number *number)
{
	struct gpumon_number lower = gpumon_number_any();

	lower.bits = (uint64_t)(int64_t)(int32_t)number->bits;
	lower.unknown = (uint64_t)(int64_t)(int32_t)number->unknown;
	/* An unknown sign is unknown in the whole upper half. */
	lower.bits &= ~lower.unknown;
	lower.smin = number->smin32;
	lower.smax = number->smax32;
	lower.umin32 = number->umin32;
	lower.umax32 = number->umax32;
	lower.smin32 = number->smin32;
	lower.smax32 = number->smax32;
	gpumon_number_settle(&lower);
	return lower;
}

struct gpumon_number gpumon_number_join(const struct gpumon_number *a,
					const struct gpumon_number *b)
{
	struct gpumon_number joined = *a;

	joined.unknown = a->unknown | b->unknown | (a->bits ^ b->bits);
	joined.bits &= ~joined.unknown;
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

void gpumon_number_mark(struct gpumon_number_marks *marks, int64_t value)
{
	unsigned int at = 0;

	while (at < marks->n && marks->marks[at] < value)
		at++;
	if (marks->n == GPUMON_NUMBER_MAX_MARKS || (at < marks->n && marks->marks[at] == value))
		return;
	memmove(&marks->marks[at + 1], &marks->marks[at], (marks->n - at) * sizeof(int64_t));
	marks->marks[at] = value;
	marks->n++;
}

static int64_t next_above(const struct gpumon_number_marks *marks, int64_t value, int64_t otherwise)
{
	for (unsigned int i = 0; marks && i < marks->n; i++)
		if (marks->marks[i] >= value)
			return marks->marks[i];
	return otherwise;
}

static int64_t next_below(const struct gpumon_number_marks *marks, int64_t value, int64_t otherwise)
{
	for (unsigned int i = marks ? marks->n : 0; i; i--)
		if (marks->marks[i - 1] <= value)
			return marks->marks[i - 1];
	return otherwise;
}

/* Where a bound pauses that moved from @value on, at a number with the known lowest bits. */
static int64_t pause_above(const struct gpumon_number *n, const struct gpumon_number_marks *marks,
			   int64_t value, int64_t otherwise)
{
	uint64_t lowest = (n->unknown & -n->unknown) - 1;
	int64_t mark = next_above(marks, value, otherwise), pause;

	pause = (int64_t)((uint64_t)mark - (((uint64_t)mark - n->bits) & lowest));
	return mark == otherwise || pause < value || pause > mark ? mark : pause;
}

static int64_t pause_below(const struct gpumon_number *n, const struct gpumon_number_marks *marks,
			   int64_t value, int64_t otherwise)
{
	uint64_t lowest = (n->unknown & -n->unknown) - 1;
	int64_t mark = next_below(marks, value, otherwise), pause;

	pause = (int64_t)((uint64_t)mark + ((n->bits - (uint64_t)mark) & lowest));
	return mark == otherwise || pause > value || pause < mark ? mark : pause;
}

struct gpumon_number gpumon_number_widen(const struct gpumon_number *old,
					 const struct gpumon_number *joined,
					 const struct gpumon_number_marks *marks)
{
	struct gpumon_number wide = *joined;

	/* Of bits only the lowest ones, an alignment, are worth keeping. */
	if (wide.unknown != old->unknown) {
		wide.unknown |= -(wide.unknown & -wide.unknown);
		wide.bits &= ~wide.unknown;
	}
	/* Without a sign there are pauses only from 0 on, where they are the same with a sign. */
	if (wide.umin != old->umin) {
		int64_t value = (int64_t)wide.umin;
		int64_t pause = value < 0 ? 0 : pause_below(&wide, marks, value, 0);

		wide.umin = pause < 0 ? 0 : (uint64_t)pause;
	}
	if (wide.umax != old->umax) {
		int64_t value = (int64_t)wide.umax;

		wide.umax = value < 0 ? UINT64_MAX : (uint64_t)pause_above(&wide, marks, value, -1);
	}
	if (wide.smin != old->smin)
		wide.smin = pause_below(&wide, marks, wide.smin, INT64_MIN);
	if (wide.smax != old->smax)
		wide.smax = pause_above(&wide, marks, wide.smax, INT64_MAX);
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
