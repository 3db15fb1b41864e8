/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which instructions a program may consist of. */
#ifndef GPUMON_GPUPROG_OBJECT_INSTRUCTION_H
#define GPUMON_GPUPROG_OBJECT_INSTRUCTION_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * gpumon_probe_instruction_refusal - check one instruction by itself
 * @insn: instruction; of LDDW the first half
 *
 * Fields that it does not use have to be 0, as for the kernel. The second half of LDDW, indices of
 * maps, and targets of jumps and calls are left to the caller.
 *
 * Return: NULL, or why it is refused and what to do.
 */
const char *gpumon_probe_instruction_refusal(const struct bpf_insn *insn);

/* What does an instruction or a step of a well-formed program do, by its code? */
bool gpumon_probe_is_jump(uint8_t code); /* with or without a condition */
bool gpumon_probe_runs_on(uint8_t code); /* the next one may follow */
/* Bytes that a load, a store or an atomic operation accesses. */
uint32_t gpumon_probe_access_size(uint8_t code);

#endif /* GPUMON_GPUPROG_OBJECT_INSTRUCTION_H */
