/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_PROCESS_OPENCL_LOADER_H
#define GPUMON_PROCESS_OPENCL_LOADER_H

#include <limits.h>
#include <stdbool.h>

enum gpumon_opencl_loader {
	GPUMON_OPENCL_NONE,	 /* in none of the usual folders */
	GPUMON_OPENCL_LAYERS,	 /* "record" can see programs that use it */
	GPUMON_OPENCL_NO_LAYERS, /* too old */
};

/**
 * gpumon_opencl_loader - find OpenCL's loader, and whether it knows layers
 * @root: folder of the machine's files, "" for this machine
 * @path: out, without @root
 *
 * ocl-icd has layers from 2.3 on, Khronos's loader from 3.0 on: the name of their variable is in it.
 */
enum gpumon_opencl_loader gpumon_opencl_loader(const char *root, char path[PATH_MAX]);

#endif /* GPUMON_PROCESS_OPENCL_LOADER_H */
