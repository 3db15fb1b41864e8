/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Calls of CUDA's driver that load, unload or launch. */
#ifndef GPUMON_INJECT_GPUPROG_LOADER_H
#define GPUMON_INJECT_GPUPROG_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/* Meaning of a function of the driver. */
enum inject_gpuprog_call {
	INJECT_GPUPROG_NONE,
	INJECT_GPUPROG_LOAD_MODULE,	 /* (CUmodule *, const void *image, ...) */
	INJECT_GPUPROG_LOAD_MODULE_FILE, /* (CUmodule *, const char *path) */
	INJECT_GPUPROG_LOAD_LIBRARY,
	INJECT_GPUPROG_LOAD_LIBRARY_FILE,
	INJECT_GPUPROG_LINK,	  /* (CUlinkState, type, void *data, size_t size, ...) */
	INJECT_GPUPROG_LINK_FILE, /* (CUlinkState, type, const char *path, ...) */
	INJECT_GPUPROG_UNLOAD_MODULE,
	INJECT_GPUPROG_UNLOAD_LIBRARY,
	INJECT_GPUPROG_LAUNCH,		   /* (CUfunction, ...) */
	INJECT_GPUPROG_LAUNCH_EX,	   /* (const CUlaunchConfig *, CUfunction, ...) */
	INJECT_GPUPROG_LAUNCH_COOPERATIVE, /* (CUfunction, grid, block, shared memory, ...) */
	INJECT_GPUPROG_LAUNCH_OTHER,	   /* of several kernels, or of a graph */
	INJECT_GPUPROG_SYNCHRONISE,	   /* the program has waited for the GPU */
	INJECT_GPUPROG_CONTEXT_DESTROY,
	INJECT_GPUPROG_PRIMARY_RELEASE,
	INJECT_GPUPROG_PRIMARY_RESET,
};

/* Finds a function's meaning by its name, such as cuModuleLoadDataEx or cuLaunchKernel_ptsz. */
enum inject_gpuprog_call inject_gpuprog_classify(const char *name);

/**
 * inject_gpuprog_call_begins - a call of the driver begins
 * @call: which
 * @parameters: CUPTI's structure of its parameters: what is changed there is what the driver gets
 */
void inject_gpuprog_call_begins(enum inject_gpuprog_call call, void *parameters);

/* Called when the function returns. @succeeded: with CUDA_SUCCESS. */
void inject_gpuprog_call_ends(enum inject_gpuprog_call call, void *parameters, bool succeeded);

#endif /* GPUMON_INJECT_GPUPROG_LOADER_H */
