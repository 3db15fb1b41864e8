/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Is a program well-formed, whatever its steps do? */
#ifndef GPUMON_PROBE_SHAPE_H
#define GPUMON_PROBE_SHAPE_H

#include "base/error.h"
#include "probe/model/program.h"

/**
 * gpumon_shape_check - check all fields of a program
 * @program: program; nothing in it is trusted
 * @err: the refusal
 *
 * After it registers, depths, maps, targets and opcodes are in range, and the last step does not run
 * on.
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_shape_check(const struct gpumon_probe_program *program, struct gpumon_error *err);

/* What is a step, after gpumon_shape_check()? */
bool gpumon_shape_is_jump(const struct gpumon_probe_step *step); /* with or without a condition */
bool gpumon_shape_runs_on(const struct gpumon_probe_step *step); /* the next one may follow */

#endif /* GPUMON_PROBE_SHAPE_H */
