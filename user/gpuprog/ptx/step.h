/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What steps become, by their kind: arithmetic, comparisons, calls. */
#ifndef GPUMON_GPUPROG_PTX_STEP_H
#define GPUMON_GPUPROG_PTX_STEP_H

#include "text.h"

/* BPF_ALU and BPF_ALU64. */
void text_alu(struct text *text, const struct gpumon_probe_step *step);

/* The condition of a BPF_JMP or BPF_JMP32, as a new predicate. */
uint32_t text_condition(struct text *text, const struct gpumon_probe_step *step);

/* A call of a helper. */
void text_call(struct text *text, const struct gpumon_probe_step *step);
/* Calls of gpumon_keep() and gpumon_kept(): registers of the kernel, or memory. */
void text_keep(struct text *text);
void text_kept(struct text *text);

#endif /* GPUMON_GPUPROG_PTX_STEP_H */
