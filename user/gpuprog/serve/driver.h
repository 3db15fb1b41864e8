/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUDA's driver, for kernels that gpumon-user launches itself. It is looked for at run time: nothing of
 * CUDA is needed to build. The names and types are those of NVIDIA's cuda.h.
 */
#ifndef GPUMON_GPUPROG_SERVE_DRIVER_H
#define GPUMON_GPUPROG_SERVE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

typedef struct gpumon_cuda_context *gpumon_cuda_context_t;
typedef struct gpumon_cuda_module *gpumon_cuda_module_t;
typedef struct gpumon_cuda_function *gpumon_cuda_function_t;
typedef struct gpumon_cuda_event *gpumon_cuda_event_t;
typedef uint64_t gpumon_cuda_address_t;

/* X(member, symbol, parameters) */
#define GPUMON_CUDA_DRIVER(X)                                                                     \
	X(init, "cuInit", (unsigned int))                                                         \
	X(error_text, "cuGetErrorString", (int, const char **))                                   \
	X(device_count, "cuDeviceGetCount", (int *))                                              \
	X(device_get, "cuDeviceGet", (int *, int))                                                \
	X(device_name, "cuDeviceGetName", (char *, int, int))                                     \
	X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                            \
	X(primary_retain, "cuDevicePrimaryCtxRetain", (gpumon_cuda_context_t *, int))             \
	X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int))                                 \
	X(context_set, "cuCtxSetCurrent", (gpumon_cuda_context_t))                                \
	X(wait, "cuCtxSynchronize", (void))                                                       \
	X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                   \
	X(alloc, "cuMemAlloc_v2", (gpumon_cuda_address_t *, size_t))                              \
	X(free, "cuMemFree_v2", (gpumon_cuda_address_t))                                          \
	X(set, "cuMemsetD8Async", (gpumon_cuda_address_t, unsigned char, size_t, void *))         \
	X(copy_in, "cuMemcpyHtoDAsync_v2", (gpumon_cuda_address_t, const void *, size_t, void *)) \
	X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, gpumon_cuda_address_t, size_t, void *))      \
	X(module_load, "cuModuleLoadDataEx",                                                      \
	  (gpumon_cuda_module_t *, const void *, unsigned int, int *, void **))                   \
	X(module_function, "cuModuleGetFunction",                                                 \
	  (gpumon_cuda_function_t *, gpumon_cuda_module_t, const char *))                         \
	X(module_global, "cuModuleGetGlobal_v2",                                                  \
	  (gpumon_cuda_address_t *, size_t *, gpumon_cuda_module_t, const char *))                \
	X(launch, "cuLaunchKernel",                                                               \
	  (gpumon_cuda_function_t, unsigned int, unsigned int, unsigned int, unsigned int,        \
	   unsigned int, unsigned int, unsigned int, void *, void **, void **))                   \
	X(event_create, "cuEventCreate", (gpumon_cuda_event_t *, unsigned int))                   \
	X(event_record, "cuEventRecord", (gpumon_cuda_event_t, void *))                           \
	X(event_destroy, "cuEventDestroy_v2", (gpumon_cuda_event_t))                              \
	X(event_time, "cuEventElapsedTime", (float *, gpumon_cuda_event_t, gpumon_cuda_event_t))

/* The functions, by what they do; each returns 0 or CUDA's error. */
struct gpumon_cuda_driver {
#define GPUMON_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters;
	GPUMON_CUDA_DRIVER(GPUMON_CUDA_MEMBER)
#undef GPUMON_CUDA_MEMBER
};

/* CUdevice_attribute and CUjit_option that are used. */
#define GPUMON_CUDA_MAJOR     75
#define GPUMON_CUDA_MINOR     76
#define GPUMON_CUDA_LOG	      5
#define GPUMON_CUDA_LOG_BYTES 6

/**
 * gpumon_cuda_load - find the driver
 * @driver: out
 * @err: it is not installed, or lacks a function
 *
 * The library stays loaded: it cannot be unloaded safely.
 *
 * Return: 0, or -1 with @err, exit status 77.
 */
int gpumon_cuda_load(struct gpumon_cuda_driver *driver, struct gpumon_error *err);

/* "out of memory (2)", in static memory. */
const char *gpumon_cuda_error(const struct gpumon_cuda_driver *driver, int error);

#endif /* GPUMON_GPUPROG_SERVE_DRIVER_H */
