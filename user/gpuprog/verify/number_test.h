/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a conditional jump tells about the numbers that it compares. */
#ifndef GPUMON_GPUPROG_VERIFY_NUMBER_TEST_H
#define GPUMON_GPUPROG_VERIFY_NUMBER_TEST_H

#include "number.h"

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

#endif /* GPUMON_GPUPROG_VERIFY_NUMBER_TEST_H */
