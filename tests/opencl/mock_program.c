// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * On each platform, launches NUMBER kernels with the little of OpenCL that mock_driver.c has, half of
 * them with an event of its own. With a second argument, one more is launched within each, in a callback.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PLATFORMS 8

static const size_t one = 1;
static cl_command_queue queue;
static cl_kernel kernel;
static bool is_nested;

static void CL_CALLBACK launch_in_callback(const char *text, const void *more, size_t size,
					   void *data)
{
	(void)text;
	(void)more;
	(void)size;
	(void)data;
	if (is_nested)
		return;
	is_nested = true;
	if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL))
		exit(1);
	is_nested = false;
}

static int use_platform(cl_platform_id platform, long number, bool is_to_nest)
{
	const char *source = "kernel void k(void) { }";
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_event event;

	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 1;
	context = clCreateContext(NULL, 1, &device, is_to_nest ? launch_in_callback : NULL, NULL,
				  NULL);
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
	bool is_to_nest = argc > 2;
	cl_platform_id platforms[PLATFORMS];
	cl_uint count = 0;

	if (clGetPlatformIDs(PLATFORMS, platforms, &count))
		return 1;
	for (cl_uint i = 0; i < count; i++)
		if (use_platform(platforms[i], number, is_to_nest))
			return 1;
	printf("did clEnqueueNDRangeKernel %ld 0\n", count * number * (is_to_nest ? 2 : 1));
	return 0;
}
