/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Arithmetic and comparisons. */
#ifndef GPUMON_PROBE_ALU_H
#define GPUMON_PROBE_ALU_H

#include "probe/translate/text.h"

/* BPF_ALU and BPF_ALU64. */
void text_alu(struct text *text, const struct gpumon_probe_step *step);

/* The condition of a BPF_JMP or BPF_JMP32, as a new predicate. */
uint32_t text_condition(struct text *text, const struct gpumon_probe_step *step);

#endif /* GPUMON_PROBE_ALU_H */
