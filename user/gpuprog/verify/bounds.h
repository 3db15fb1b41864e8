/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Knowledge of a 64-bit number: its known bits (a tnum), and bounds of it and of its lower half. */
#ifndef GPUMON_GPUPROG_VERIFY_BOUNDS_H
#define GPUMON_GPUPROG_VERIFY_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct gpumon_tnum - what is known of each bit, as in the kernel
 * @value: the known bits; 0 where @mask is 1
 * @mask: bits that may be either
 */
struct gpumon_tnum {
	uint64_t value;
	uint64_t mask;
};

/**
 * struct gpumon_bounds - a set of 64-bit numbers
 * @tnum: their bits
 * @umin: least and greatest of them, without a sign
 * @smin: least and greatest of them, with a sign
 * @umin32: the same of the lower halves
 *
 * The set has the numbers that meet all of these. It is never empty.
 */
struct gpumon_bounds {
	struct gpumon_tnum tnum;
	uint64_t umin, umax;
	int64_t smin, smax;
	uint32_t umin32, umax32;
	int32_t smin32, smax32;
};

struct gpumon_bounds gpumon_bounds_any(void);
struct gpumon_bounds gpumon_bounds_constant(uint64_t value);

bool gpumon_bounds_is_constant(const struct gpumon_bounds *number);
/* Greatest power of two up to 8 that divides all of them. */
unsigned int gpumon_bounds_alignment(const struct gpumon_bounds *number);

/**
 * gpumon_bounds_sync - let tnum and bounds narrow each other
 * @number: changed
 *
 * Return: false if nothing is left, then @number is of no use.
 */
bool gpumon_bounds_sync(struct gpumon_bounds *number);

struct gpumon_bounds gpumon_bounds_join(const struct gpumon_bounds *a,
					const struct gpumon_bounds *b);

#define GPUMON_THRESHOLDS_MAX 64

/* Constants that a program compares with, by rising value: widening goes from one to the next. */
struct gpumon_thresholds {
	unsigned int n;
	int64_t values[GPUMON_THRESHOLDS_MAX];
};

void gpumon_thresholds_add(struct gpumon_thresholds *thresholds, int64_t value);

/**
 * gpumon_bounds_widen - a set that does not grow for ever
 * @old: what was known before
 * @joined: @old with more numbers
 * @thresholds: bounds that moved move on to the next of these; NULL: as far as possible
 *
 * Return: a set with all of @joined. After a few calls it stays the same.
 */
struct gpumon_bounds gpumon_bounds_widen(const struct gpumon_bounds *old,
					 const struct gpumon_bounds *joined,
					 const struct gpumon_thresholds *thresholds);

/**
 * gpumon_bounds_alu - the results of an operation
 * @code: BPF_ALU or BPF_ALU64 with BPF_ADD to BPF_ARSH; not BPF_NEG, BPF_MOV, BPF_END
 * @is_signed: BPF_DIV and BPF_MOD with a sign
 * @a: left operand
 * @b: right operand; shifts take its lowest 6 or 5 bits
 *
 * Return: a set with the result for each pair of numbers.
 */
struct gpumon_bounds gpumon_bounds_alu(uint8_t code, bool is_signed, const struct gpumon_bounds *a,
				       const struct gpumon_bounds *b);

/* BPF_MOV with a sign of 8, 16 or 32 bits; without one (0) and of BPF_ALU: the lower half. */
struct gpumon_bounds gpumon_bounds_move(uint8_t code, int bits, const struct gpumon_bounds *a);

/* BPF_END of 16, 32 or 64 bits: the lowest of them, as they are or with their bytes turned round. */
struct gpumon_bounds gpumon_bounds_byte_order(bool turned, int bits, const struct gpumon_bounds *a);

/**
 * gpumon_bounds_assume - keep the numbers for which a jump goes one way
 * @code: BPF_JMP or BPF_JMP32 with BPF_JEQ to BPF_JSLE
 * @taken: the jump is taken
 * @a: left operand, narrowed
 * @b: right operand, narrowed
 *
 * Return: false if it never goes this way; then @a and @b are of no use.
 */
bool gpumon_bounds_assume(uint8_t code, bool taken, struct gpumon_bounds *a,
			  struct gpumon_bounds *b);

#endif /* GPUMON_GPUPROG_VERIFY_BOUNDS_H */
