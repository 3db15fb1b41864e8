/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What instructions do to numbers. */
#ifndef GPUMON_TESTS_PROBE_CONCRETE_H
#define GPUMON_TESTS_PROBE_CONCRETE_H

#include <stdbool.h>
#include <stdint.h>

/* Result of BPF_ALU or BPF_ALU64, @off as of the instruction, @b the right operand; of BPF_END: @imm. */
uint64_t concrete_alu(uint8_t code, int16_t off, uint64_t a, uint64_t b);
/* Is the jump taken? */
bool concrete_jump(uint8_t code, uint64_t a, uint64_t b);
/* What an atomic operation leaves in memory, of 32 or 64 bits. @compare: R0 */
uint64_t concrete_atomic(int32_t imm, uint64_t old, uint64_t operand, uint64_t compare);

#endif /* GPUMON_TESTS_PROBE_CONCRETE_H */
