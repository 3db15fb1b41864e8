/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the section of a program says about where it runs. */
#ifndef GPUMON_GPUPROG_OBJECT_SECTION_H
#define GPUMON_GPUPROG_OBJECT_SECTION_H

#include "lib/error.h"
#include "program.h"

/* Whether a program is for the GPU: "gpu/..." is our own, "cuda__..." is bpftime's. */
bool gpumon_probe_section_is_gpu(const char *section, const char *function);

/**
 * gpumon_probe_section_read - understand a section's name
 * @section: name
 * @function: name of the program, for messages
 * @point: out: where the program runs
 * @targets: out: kernels or the function that it names, a part of @section; "" for none
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_section_read(const char *section, const char *function,
			      enum gpumon_probe_point *point, const char **targets,
			      struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_OBJECT_SECTION_H */
