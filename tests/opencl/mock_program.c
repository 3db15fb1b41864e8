// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * On each platform, launches NUMBER kernels with the little of OpenCL that mock_driver.c has, half of
 * them with an event of its own.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define PLATFORMS 8

static int use_platform(cl_platform_id platform, long number)
{
	const char *source = "kernel void k(void) { }";
	const size_t one = 1;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_event event;

	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	clBuildProgram(program, 1, &device, "", NULL, NULL);
	kernel = clCreateKernel(program, "k", NULL);
	for (long i = 0; i < number; i++) {
		if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL,
					   i % 2 ? &event : NULL))
			return 1;
		if (i % 2)
			clReleaseEvent(event);
	}
	clFinish(queue);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}

int main(int argc, char **argv)
{
	long number = argc > 1 ? atol(argv[1]) : 10;
	cl_platform_id platforms[PLATFORMS];
	cl_uint count = 0;

	if (clGetPlatformIDs(PLATFORMS, platforms, &count))
		return 1;
	for (cl_uint i = 0; i < count; i++)
		if (use_platform(platforms[i], number))
			return 1;
	printf("did clEnqueueNDRangeKernel %ld 0\n", count * number);
	return 0;
}
