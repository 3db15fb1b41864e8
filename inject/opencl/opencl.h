/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by the files of the OpenCL backend: the functions below the layer, and the function list.
 */
#ifndef GPUMON_INJECT_OPENCL_OPENCL_H
#define GPUMON_INJECT_OPENCL_OPENCL_H

/* The program decides which version it uses, so old functions are wrapped as well. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

#include "channel/call.h"
#include "channel/thread.h"

/* Functions of the loader or of the layer below, by their names. NULL where there are none. */
extern struct _cl_icd_dispatch inject_opencl;

/* The number of an object, as an id in the capture. */
#define INJECT_OPENCL_ID(number) ((uint32_t)GPUMON_API_OPENCL << GPUMON_API_SHIFT | (number))

/* Functions that are recorded, with what they do. */
#define INJECT_OPENCL_FUNCTIONS(f)                         \
	f(clEnqueueNDRangeKernel, INJECT_CLASS_KERNEL)     \
	f(clEnqueueTask, INJECT_CLASS_KERNEL)              \
	f(clEnqueueNativeKernel, INJECT_CLASS_KERNEL)      \
	f(clEnqueueCommandBufferKHR, INJECT_CLASS_GRAPH)   \
	f(clEnqueueReadBuffer, INJECT_CLASS_COPY)          \
	f(clEnqueueWriteBuffer, INJECT_CLASS_COPY)         \
	f(clEnqueueCopyBuffer, INJECT_CLASS_COPY)          \
	f(clEnqueueReadBufferRect, INJECT_CLASS_COPY)      \
	f(clEnqueueWriteBufferRect, INJECT_CLASS_COPY)     \
	f(clEnqueueCopyBufferRect, INJECT_CLASS_COPY)      \
	f(clEnqueueReadImage, INJECT_CLASS_COPY)           \
	f(clEnqueueWriteImage, INJECT_CLASS_COPY)          \
	f(clEnqueueCopyImage, INJECT_CLASS_COPY)           \
	f(clEnqueueCopyImageToBuffer, INJECT_CLASS_COPY)   \
	f(clEnqueueCopyBufferToImage, INJECT_CLASS_COPY)   \
	f(clEnqueueMapBuffer, INJECT_CLASS_COPY)           \
	f(clEnqueueMapImage, INJECT_CLASS_COPY)            \
	f(clEnqueueUnmapMemObject, INJECT_CLASS_COPY)      \
	f(clEnqueueMigrateMemObjects, INJECT_CLASS_COPY)   \
	f(clEnqueueSVMMemcpy, INJECT_CLASS_COPY)           \
	f(clEnqueueSVMMap, INJECT_CLASS_COPY)              \
	f(clEnqueueSVMUnmap, INJECT_CLASS_COPY)            \
	f(clEnqueueSVMMigrateMem, INJECT_CLASS_COPY)       \
	f(clEnqueueFillBuffer, INJECT_CLASS_SET)           \
	f(clEnqueueFillImage, INJECT_CLASS_SET)            \
	f(clEnqueueSVMMemFill, INJECT_CLASS_SET)           \
	f(clFinish, INJECT_CLASS_BLOCKING)                 \
	f(clWaitForEvents, INJECT_CLASS_BLOCKING)          \
	f(clFlush, 0)                                      \
	f(clEnqueueMarker, 0)                              \
	f(clEnqueueMarkerWithWaitList, 0)                  \
	f(clEnqueueBarrier, 0)                             \
	f(clEnqueueBarrierWithWaitList, 0)                 \
	f(clEnqueueSVMFree, 0)

enum inject_opencl_function {
#define INJECT_OPENCL_NUMBER(name, class) INJECT_##name,
	INJECT_OPENCL_FUNCTIONS(INJECT_OPENCL_NUMBER)
#undef INJECT_OPENCL_NUMBER
	INJECT_OPENCL_COUNT
};

#endif /* GPUMON_INJECT_OPENCL_OPENCL_H */
