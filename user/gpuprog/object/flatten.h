/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Instructions with calls of functions become one sequence of steps. */
#ifndef GPUMON_GPUPROG_OBJECT_FLATTEN_H
#define GPUMON_GPUPROG_OBJECT_FLATTEN_H

#include "lib/error.h"
#include "lib/map.h"
#include "program.h"

#define GPUMON_GPUPROG_MAX_INSTRUCTIONS 65536 /* of a program with the functions that it calls */

/**
 * gpumon_gpuprog_flatten - make the steps of a program
 * @program: its name, maps and lines are read; its steps are set
 * @code: instructions of the program, then those of the functions that it calls. A function is called
 *        by BPF_PSEUDO_CALL, relative; a map is BPF_PSEUDO_MAP_IDX, data is
 *        BPF_PSEUDO_MAP_IDX_VALUE. Nothing in it is trusted.
 * @code_n: how many
 * @pool: for the steps
 * @err: the instruction that is refused, and why
 *
 * A call becomes a jump to the next step, with the depth of the caller; the copy of the function
 * follows, one deeper. So a frame begins where a step leads to a greater depth, and ends where one
 * leads to a smaller depth: there R1 to R5 are lost. A function's EXIT becomes a jump to the step
 * behind the call. Each jump without a condition is BPF_JMP | BPF_JA, also gotol.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_flatten(struct gpumon_gpuprog *program, const struct bpf_insn *code,
			   uint32_t code_n, struct gpumon_pool *pool, struct gpumon_error *err);

/**
 * gpumon_gpuprog_split_prints - copy calls that print to the jumps that lead there
 * @program: flat program; its steps are replaced by more
 * @pool: owns the new ones
 *
 * Two calls with different texts have the same code but for the texts, and a compiler makes one of
 * them, with a text that varies. The verifier wants one text for each call. A call that is too far
 * from where the ways meet stays as it is, and so does what would make the program too long.
 */
void gpumon_gpuprog_split_prints(struct gpumon_gpuprog *program, struct gpumon_pool *pool);

#endif /* GPUMON_GPUPROG_OBJECT_FLATTEN_H */
