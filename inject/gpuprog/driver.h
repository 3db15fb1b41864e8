/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions of CUDA's driver that the probes call. */
#ifndef GPUMON_INJECT_GPUPROG_DRIVER_H
#define GPUMON_INJECT_GPUPROG_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

/* CUlibrary is newer than the headers of CUDA 11. */
typedef struct inject_cuda_library *inject_library_t;

/* X(member, symbol, parameters) */
#define INJECT_GPUPROG_DRIVER(X)                                                               \
	X(context_current, "cuCtxGetCurrent", (CUcontext *))                                   \
	X(context_push, "cuCtxPushCurrent_v2", (CUcontext))                                    \
	X(context_pop, "cuCtxPopCurrent_v2", (CUcontext *))                                    \
	X(primary_state, "cuDevicePrimaryCtxGetState", (CUdevice, unsigned int *, int *))      \
	X(primary_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                 \
	X(primary_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                         \
	X(context_device, "cuCtxGetDevice", (CUdevice *))                                      \
	X(device_attribute, "cuDeviceGetAttribute", (int *, CUdevice_attribute, CUdevice))     \
	X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                             \
	X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                \
	X(alloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                     \
	X(free, "cuMemFree_v2", (CUdeviceptr))                                                 \
	X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned int))               \
	X(host_address, "cuMemHostGetDevicePointer_v2", (CUdeviceptr *, void *, unsigned int)) \
	X(set, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))              \
	X(copy_in, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))      \
	X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))           \
	X(stream_create, "cuStreamCreate", (CUstream *, unsigned int))                         \
	X(stream_wait, "cuStreamSynchronize", (CUstream))                                      \
	X(event_create, "cuEventCreate", (CUevent *, unsigned int))                            \
	X(event_record, "cuEventRecord", (CUevent, CUstream))                                  \
	X(event_query, "cuEventQuery", (CUevent))                                              \
	X(event_destroy, "cuEventDestroy_v2", (CUevent))                                       \
	X(capture_mode, "cuThreadExchangeStreamCaptureMode", (CUstreamCaptureMode *))          \
	X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                         \
	X(module_load_log, "cuModuleLoadDataEx",                                               \
	  (CUmodule *, const void *, unsigned int, CUjit_option *, void **))                   \
	X(module_unload, "cuModuleUnload", (CUmodule))                                         \
	X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))      \
	X(module_global, "cuModuleGetGlobal_v2",                                               \
	  (CUdeviceptr *, size_t *, CUmodule, const char *))                                   \
	X(launch, "cuLaunchKernel",                                                            \
	  (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,   \
	   unsigned int, unsigned int, CUstream, void **, void **))                            \
	X(function_attribute, "cuFuncGetAttribute", (int *, CUfunction_attribute, CUfunction)) \
	X(resident_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                      \
	  (int *, CUfunction, int, size_t))

/* Older drivers lack these. A kernel's handle may be a CUkernel. */
#define INJECT_GPUPROG_DRIVER_12(X)                                \
	X(function_name, "cuFuncGetName", (const char **, void *)) \
	X(kernel_name, "cuKernelGetName", (const char **, void *)) \
	X(library_global, "cuLibraryGetGlobal",                    \
	  (CUdeviceptr *, size_t *, inject_library_t, const char *))

/* The functions, by what they do. */
struct inject_gpuprog_driver {
#define INJECT_GPUPROG_MEMBER(member, symbol, parameters) CUresult(*member) parameters;
	INJECT_GPUPROG_DRIVER(INJECT_GPUPROG_MEMBER)
	INJECT_GPUPROG_DRIVER_12(INJECT_GPUPROG_MEMBER)
#undef INJECT_GPUPROG_MEMBER
};

extern struct inject_gpuprog_driver inject_gpuprog_driver;

/* Finds them. @why: out: why not. */
bool inject_gpuprog_driver_load(const char **why);

/* Architecture of the current context's GPU, such as 90; 0: there is none. */
unsigned int inject_gpuprog_current_sm(void);

/*
 * Calls of the driver that are the library's own: callbacks of them are ignored, and they may allocate
 * and copy while the program captures a stream into a graph.
 */
struct inject_gpuprog_inside {
	CUstreamCaptureMode mode;
};

void inject_gpuprog_inside_begin(struct inject_gpuprog_inside *inside);
void inject_gpuprog_inside_end(struct inject_gpuprog_inside *inside);
/* Whether the calling thread is between these two. */
bool inject_gpuprog_is_inside(void);

/* Whether this process has programs in its kernels: not in a child after fork, where CUDA does not work. */
bool inject_gpuprog_is_active(void);
void inject_gpuprog_set_active(bool is_active);

#endif /* GPUMON_INJECT_GPUPROG_DRIVER_H */
