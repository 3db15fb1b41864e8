// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Launches NUMBER kernels with OpenCL 1.2, half of them with an event of its own. For mock_driver.c. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const char *source = "";
	const size_t one = 1;
	long number = argc > 1 ? atol(argv[1]) : 10;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_event event;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
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
	printf("did clEnqueueNDRangeKernel %ld 0\n", number);
	return 0;
}
