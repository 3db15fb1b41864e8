/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The environment of a program that is recorded. */
#ifndef GPUMON_RECORD_VARIABLES_H
#define GPUMON_RECORD_VARIABLES_H

#include <limits.h>

/* More than there are APIs. */
#define GPUMON_VARIABLES_MAX 8

/**
 * struct gpumon_variables - variables by which each API loads the injection library
 * @list: each as NAME=VALUE, NULL behind the last
 * @not_preloaded: why programs that use HIP or Level Zero, which this machine has, are not seen; or NULL
 */
struct gpumon_variables {
	char *list[GPUMON_VARIABLES_MAX + 1];
	const char *not_preloaded;
};

/**
 * gpumon_variables_make - what to set for a program
 * @variables: out, for gpumon_variables_free(), also after an error
 * @library: absolute path of the injection library; only of APIs that it was built with
 * @socket: of the recorder
 * @more: another variable, as NAME=VALUE; NULL: there is none
 *
 * Return: 0, -ENOMEM.
 */
int gpumon_variables_make(struct gpumon_variables *variables, const char *library,
			  const char *socket, const char *more);

void gpumon_variables_free(struct gpumon_variables *variables);

#endif /* GPUMON_RECORD_VARIABLES_H */
