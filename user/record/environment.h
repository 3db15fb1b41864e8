/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_ENVIRONMENT_H
#define GPUMON_RECORD_ENVIRONMENT_H

#include <limits.h>

#include "lib/api_loader.h"

/* The environment of a program that is recorded. */

/* More than there are APIs. */
#define GPUMON_VARIABLES_MAX 12

/* What is preloaded with "record --gl". */
#define GPUMON_PRELOAD_OPENGL "libgpumon-preload-gl.so"

/* Room for the reason why it cannot be. */
#define GPUMON_NOT_PRELOADED_LEN 160

/**
 * struct gpumon_variables - variables by which each API loads the injection library
 * @list: each as NAME=VALUE, NULL behind the last
 * @folder: with OpenCL's loader, for gpumon_variables_remove() at the recording's end; "" where there is none
 * @not_preloaded: why programs that use OpenGL, or what this machine has of HIP and Level Zero, are not seen; or ""
 */
struct gpumon_variables {
	char *list[GPUMON_VARIABLES_MAX + 1];
	char not_preloaded[GPUMON_API_TEXT_LEN + GPUMON_NOT_PRELOADED_LEN + 32];
	char folder[256];
};

/**
 * gpumon_variables_make - what to set for a program
 * @variables: out, for gpumon_variables_free()
 * @library: absolute path of the injection library
 * @apis: that are wanted of those that it was built with, of enum gpumon_apis
 * @socket: of the recorder
 * @more: another variable, as NAME=VALUE; NULL: there is none
 */
void gpumon_variables_make(struct gpumon_variables *variables, const char *library,
			   unsigned int apis, const char *socket, const char *more);

void gpumon_variables_free(struct gpumon_variables *variables);

/* Removes a folder of OpenCL's loader. */
void gpumon_variables_remove(const char *folder);

#endif /* GPUMON_RECORD_ENVIRONMENT_H */
