/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Decides whether a program may run inside another program's GPU kernels. */
#ifndef GPUMON_GPUPROG_VERIFY_VERIFY_H
#define GPUMON_GPUPROG_VERIFY_VERIFY_H

#include "lib/error.h"
#include "gpuprog/object/program.h"

struct gpumon_gpuprog_rules {
	bool allow_exit; /* cuda_exit may be called: --allow-exit */
};

/**
 * gpumon_gpuprog_verify - check a program
 * @program: program; any content is allowed, nothing in it is trusted
 * @rules: what is allowed beyond the usual
 * @facts: out, @program->steps_n of them, for the translator
 * @err: the refusal: program, instruction, source line, reason and remedy
 *
 * Guarantees for an accepted program: each access is inside its stack, map value or context, or is
 * checked at run time (operand.check); stack and registers are set before they are read; helpers get
 * what they expect; atomic operations are aligned; no address reaches a map or a record; each loop
 * takes fuel. Divergence of a warp is legal.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_verify(const struct gpumon_gpuprog *program,
			  const struct gpumon_gpuprog_rules *rules,
			  struct gpumon_gpuprog_fact *facts, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_VERIFY_VERIFY_H */
