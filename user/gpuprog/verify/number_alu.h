/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Arithmetic of eBPF on sets of numbers. */
#ifndef GPUMON_GPUPROG_VERIFY_NUMBER_ALU_H
#define GPUMON_GPUPROG_VERIFY_NUMBER_ALU_H

#include "number.h"

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

#endif /* GPUMON_GPUPROG_VERIFY_NUMBER_ALU_H */
