// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* OpenCL: two threads, each with a queue of the first device. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "real.h"

#define BYTES 4096

const unsigned int threads = 2;

static cl_context context;
static cl_kernel kernels[2];
static cl_command_queue queues[2];
static cl_mem from[2], to[2];

void before_go(const char *mode)
{
	static const char *source =
		"__kernel void add(__global int *x) { x[get_global_id(0)] += 1; }";
	cl_platform_id platform;
	cl_program program;
	cl_device_id device;
	cl_int err;

	(void)mode;
	NEED(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	NEED(err == CL_SUCCESS);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &err);
	NEED(err == CL_SUCCESS);
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS);
	for (unsigned int i = 0; i < threads; i++) {
		kernels[i] = clCreateKernel(program, "add", &err);
		NEED(err == CL_SUCCESS);
		queues[i] = clCreateCommandQueue(context, device, 0, &err);
		NEED(err == CL_SUCCESS);
		from[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &err);
		NEED(err == CL_SUCCESS);
		to[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &err);
		NEED(err == CL_SUCCESS);
		NEED(clSetKernelArg(kernels[i], 0, sizeof(to[i]), &to[i]) == CL_SUCCESS);
	}
}

void after_go(const char *mode)
{
	(void)mode;
}

void work(unsigned int thread)
{
	static const size_t zero[3] = { 0 }, region[3] = { 16, 16, 1 };
	cl_command_queue queue = queues[thread];
	cl_mem source = from[thread], target = to[thread];
	char data[BYTES] = { 0 };
	size_t size = 64;
	cl_event event;
	cl_int err;
	void *map;

	NEED(!CALL(clEnqueueWriteBuffer, queue, source, CL_TRUE, 0, BYTES, data, 0, NULL, NULL));
	NEED(!CALL(clEnqueueWriteBufferRect, queue, source, CL_TRUE, zero, zero, region, 0, 0, 0, 0,
		   data, 0, NULL, NULL));
	NEED(!CALL(clEnqueueCopyBuffer, queue, source, target, 0, 0, BYTES, 0, NULL, NULL));
	NEED(!CALL(clEnqueueCopyBufferRect, queue, source, target, zero, zero, region, 0, 0, 0, 0,
		   0, NULL, NULL));
	NEED(!CALL(clEnqueueFillBuffer, queue, target, &size, 4, 0, BYTES, 0, NULL, NULL));
	NEED(!CALL(clEnqueueMigrateMemObjects, queue, 1, &target, 0, 0, NULL, NULL));
	for (unsigned int i = 0; i < 3; i++)
		NEED(!CALL(clEnqueueNDRangeKernel, queue, kernels[thread], 1, NULL, &size, NULL, 0,
			   NULL, &event));
	NEED(!CALL(clEnqueueTask, queue, kernels[thread], 0, NULL, NULL));
	NEED(!CALL(clWaitForEvents, 1, &event));
	map = CALL(clEnqueueMapBuffer, queue, target, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL,
		   &err);
	NEED(map);
	NEED(!CALL(clEnqueueUnmapMemObject, queue, target, map, 0, NULL, NULL));
	NEED(!CALL(clEnqueueReadBuffer, queue, target, CL_FALSE, 0, BYTES, data, 0, NULL, NULL));
	NEED(!CALL(clEnqueueReadBufferRect, queue, target, CL_FALSE, zero, zero, region, 0, 0, 0, 0,
		   data, 0, NULL, NULL));
	NEED(!CALL(clFinish, queue));
	/* Not probed: it starts nothing and waits for nothing. */
	NEED(!clFlush(queue));
}
