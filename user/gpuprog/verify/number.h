/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is known of a 64-bit number: which bits, and bounds of it and of its lower half. */
#ifndef GPUMON_GPUPROG_VERIFY_NUMBER_H
#define GPUMON_GPUPROG_VERIFY_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct gpumon_number - a set of 64-bit numbers
 * @bits: the known bits; 0 where @unknown is 1
 * @unknown: bits that may be either
 * @umin: least and greatest of them, without a sign
 * @smin: least and greatest of them, with a sign
 * @umin32: the same of the lower halves
 *
 * The set has the numbers that meet all of these. It is never empty.
 */
struct gpumon_number {
	uint64_t bits;
	uint64_t unknown;
	uint64_t umin, umax;
	int64_t smin, smax;
	uint32_t umin32, umax32;
	int32_t smin32, smax32;
};

struct gpumon_number gpumon_number_any(void);
struct gpumon_number gpumon_number_constant(uint64_t value);
/* All from @min to @max. */
struct gpumon_number gpumon_number_range(uint64_t min, uint64_t max);

bool gpumon_number_is_constant(const struct gpumon_number *number);
/* Greatest power of two up to 8 that divides all of them. */
unsigned int gpumon_number_alignment(const struct gpumon_number *number);

/**
 * gpumon_number_settle - let bits and bounds narrow each other
 * @number: changed
 *
 * Return: false if nothing is left, then @number is of no use.
 */
bool gpumon_number_settle(struct gpumon_number *number);

/* The lower half, without or with its sign. */
struct gpumon_number gpumon_number_lower(const struct gpumon_number *number);
struct gpumon_number gpumon_number_lower_signed(const struct gpumon_number *number);

struct gpumon_number gpumon_number_join(const struct gpumon_number *a,
					const struct gpumon_number *b);

#define GPUMON_NUMBER_MAX_MARKS 64

/* Constants that a program compares with, by rising value: where widened bounds pause. */
struct gpumon_number_marks {
	unsigned int n;
	int64_t marks[GPUMON_NUMBER_MAX_MARKS];
};

void gpumon_number_mark(struct gpumon_number_marks *marks, int64_t value);

/**
 * gpumon_number_widen - a set that does not grow for ever
 * @old: what was known before
 * @joined: @old with more numbers
 * @marks: bounds that moved move on to the next of these; NULL: as far as possible
 *
 * Return: a set with all of @joined. After a few calls it stays the same.
 */
struct gpumon_number gpumon_number_widen(const struct gpumon_number *old,
					 const struct gpumon_number *joined,
					 const struct gpumon_number_marks *marks);

#endif /* GPUMON_GPUPROG_VERIFY_NUMBER_H */
