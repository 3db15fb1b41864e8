/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Is a program well-formed, whatever its steps do? */
#ifndef GPUMON_GPUPROG_VERIFY_SHAPE_H
#define GPUMON_GPUPROG_VERIFY_SHAPE_H

#include "lib/error.h"
#include "gpuprog/object/program.h"

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

#endif /* GPUMON_GPUPROG_VERIFY_SHAPE_H */
