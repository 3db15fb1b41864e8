/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names for people of what programs know by number: kernels, source lines, GPUs. */
#ifndef GPUMON_GPUPROG_VIEW_NAMES_H
#define GPUMON_GPUPROG_VIEW_NAMES_H

#include "lib/pool.h"
#include "result.h"

/**
 * struct gpumon_probe_names - names of a run, made when they are wanted
 * @result: what has the numbers
 * @kernels: demangled, by number; NULL: not yet made
 * @pool: owns all names
 * @failed: there was no memory for a name: then it is ""
 */
struct gpumon_probe_names {
	const struct gpumon_probe_result *result;
	const char **kernels;
	struct gpumon_pool pool;
	bool failed;
};

/* Names stay until they are cleared. */
void gpumon_probe_names_init(struct gpumon_probe_names *names,
			     const struct gpumon_probe_result *result);
void gpumon_probe_names_clear(struct gpumon_probe_names *names);

/* As it is in the PTX, or NULL: there is no kernel with this number. */
const char *gpumon_probe_kernel_mangled(const struct gpumon_probe_names *names, uint64_t kernel);
/* "void scale<float>(float*, int)", or "kernel 7" if there is none with this number. */
const char *gpumon_probe_kernel_name(struct gpumon_probe_names *names, uint64_t kernel);
/* The same without result and parameters, for sentences: "scale<float>". */
const char *gpumon_probe_kernel_short(struct gpumon_probe_names *names, uint64_t kernel);
/* The name of the only kernel that has programs, as in sentences; NULL: there are none or more. */
const char *gpumon_probe_only_kernel(struct gpumon_probe_names *names);
/* "scale.cu:42" of a line number of struct gpumon_context; NULL: it has none. */
const char *gpumon_probe_line_name(struct gpumon_probe_names *names, uint64_t line);
/* "GPU 0" */
const char *gpumon_probe_device_name(struct gpumon_probe_names *names, uint32_t device);

#endif /* GPUMON_GPUPROG_VIEW_NAMES_H */
