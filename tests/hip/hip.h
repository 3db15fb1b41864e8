/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the program of the tests calls of HIP. There are no headers for a compiler of C. */
#ifndef GPUMON_TEST_HIP_H
#define GPUMON_TEST_HIP_H

#include <stddef.h>
#include <stdint.h>

struct size {
	uint32_t x, y, z;
};

#define NOT_READY	 600
#define INVALID_VALUE	 1
#define INVALID_FUNCTION 98

/* Kinds of hipMemcpy(). */
#define TO_DEVICE   1
#define FROM_DEVICE 2

void **__hipRegisterFatBinary(const void *binary);
void __hipRegisterFunction(void **modules, const void *stub, char *name, const char *device_name,
			   unsigned int limit, void *tid, void *bid, void *block, void *grid,
			   int *size);
int hipDeviceSynchronize(void);
/* Not in each library. */
__attribute__((weak)) int hipExtModuleLaunchKernel(void *function, uint32_t x, uint32_t y,
						   uint32_t z, uint32_t local_x, uint32_t local_y,
						   uint32_t local_z, size_t shared, void *stream,
						   void **arguments, void **extra, void *start,
						   void *stop, uint32_t flags);
int hipGetDeviceCount(int *count);
int hipGetLastError(void);
int hipGraphInstantiate(void **executable, void *graph, void **node, char *text, size_t size);
int hipGraphLaunch(void *executable, void *stream);
int hipLaunchCooperativeKernel(const void *stub, struct size grid, struct size block,
			       void **arguments, unsigned int shared, void *stream);
int hipLaunchKernel(const void *stub, struct size grid, struct size block, void **arguments,
		    size_t shared, void *stream);
int hipMalloc(void **memory, size_t bytes);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemset(void *to, int value, size_t bytes);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleLaunchKernel(void *function, uint32_t x, uint32_t y, uint32_t z, uint32_t local_x,
			  uint32_t local_y, uint32_t local_z, unsigned int shared, void *stream,
			  void **arguments, void **extra);
int hipPeekAtLastError(void);
int hipSetDevice(int device);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamCreate(void **stream);
int hipStreamEndCapture(void *stream, void **graph);
int hipStreamSynchronize(void *stream);

#endif /* GPUMON_TEST_HIP_H */
