/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is known of a 64-bit number: which bits (a tnum), and bounds of it and of its lower half. */
#ifndef GPUMON_GPUPROG_VERIFY_BOUNDS_H
#define GPUMON_GPUPROG_VERIFY_BOUNDS_H

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

/**
 * gpumon_number_alu - the results of an operation
 * @code: BPF_ALU or BPF_ALU64 with BPF_ADD to BPF_ARSH; not BPF_NEG, BPF_MOV, BPF_END
 * @is_signed: BPF_DIV and BPF_MOD with a sign
 * @a: left operand
 * @b: right operand; shifts take its lowest 6 or 5 bits
 *
 * Return: a set with the result for each pair of numbers.
 */
struct gpumon_number gpumon_number_alu(uint8_t code, bool is_signed, const struct gpumon_number *a,
				       const struct gpumon_number *b);

/* BPF_MOV with a sign of 8, 16 or 32 bits; without one (0) and of BPF_ALU: the lower half. */
struct gpumon_number gpumon_number_move(uint8_t code, int bits, const struct gpumon_number *a);

/* BPF_END of 16, 32 or 64 bits: the lowest of them, as they are or with their bytes turned round. */
struct gpumon_number gpumon_number_byte_order(bool turned, int bits, const struct gpumon_number *a);

/**
 * gpumon_number_assume - keep the numbers for which a jump goes one way
 * @code: BPF_JMP or BPF_JMP32 with BPF_JEQ to BPF_JSLE
 * @taken: the jump is taken
 * @a: left operand, narrowed
 * @b: right operand, narrowed
 *
 * Return: false if it never goes this way; then @a and @b are of no use.
 */
bool gpumon_number_assume(uint8_t code, bool taken, struct gpumon_number *a,
			  struct gpumon_number *b);

#endif /* GPUMON_GPUPROG_VERIFY_BOUNDS_H */
