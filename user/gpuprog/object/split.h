/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Gives each way to a printed text its own call, which compilers like to merge. */
#ifndef GPUMON_GPUPROG_OBJECT_SPLIT_H
#define GPUMON_GPUPROG_OBJECT_SPLIT_H

#include "lib/pool.h"
#include "program.h"

/**
 * gpumon_probe_split_prints - copy calls that print to the jumps that lead there
 * @program: flat program; its steps are replaced by more
 * @pool: owns the new ones
 *
 * Two calls with different texts have the same code but for the texts, and a compiler makes one of
 * them, with a text that varies. The verifier wants one text for each call. A call that is too far
 * from where the ways meet stays as it is, and so does what would make the program too long.
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_probe_split_prints(struct gpumon_probe_program *program, struct gpumon_pool *pool);

#endif /* GPUMON_GPUPROG_OBJECT_SPLIT_H */
