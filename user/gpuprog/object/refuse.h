/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The message of a refused program. */
#ifndef GPUMON_GPUPROG_OBJECT_REFUSE_H
#define GPUMON_GPUPROG_OBJECT_REFUSE_H

#include "lib/error.h"
#include "program.h"

/**
 * gpumon_probe_refuse - say that a program is refused
 * @program: its name and its lines are used
 * @instruction: where: @origin of a step
 * @err: out: "NAME: instruction N (FILE:LINE, "TEXT"): reason"
 * @format: printf format of the reason and what to do
 *
 * Return: always -1, so that a function can return the call.
 */
int gpumon_probe_refuse(const struct gpumon_probe_program *program, uint32_t instruction,
			struct gpumon_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* GPUMON_GPUPROG_OBJECT_REFUSE_H */
