// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* When commands ran, and what they cost. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "program.h"

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

static unsigned long spun[2];

/* Exactly so long, and it says when. */
static void CL_CALLBACK spin(void *arguments)
{
	unsigned long ns;

	memcpy(&ns, arguments, sizeof(ns));
	spun[0] = now();
	while (now() < spun[0] + ns)
		;
	spun[1] = now();
}

void mode_known(long number)
{
	unsigned long ns = (unsigned long)number * 1000000;

	for (int i = 0; i < 5; i++) {
		unsigned long begun = now();

		NEED(clEnqueueNativeKernel(queue, spin, &ns, sizeof(ns), 0, NULL, NULL, 0, NULL,
					   NULL));
		NEED(clFinish(queue));
		printf("spun %lu %lu %lu %lu\n", begun, spun[0], spun[1], now());
	}
}

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
	cl_ulong time;

	NEED(clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL));
	return time;
}

/* Four at once, if the driver does that, with the times that it gives the program. */
void mode_overlap(long number)
{
	cl_command_queue any =
		make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
	const cl_uint times = (cl_uint)number * 1000000;
	const size_t one = 1;
	cl_event events[4];
	cl_mem written;
	cl_kernel busy;
	cl_int result;

	written = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &result);
	need(result, "clCreateBuffer");
	busy = clCreateKernel(program, "busy", &result);
	need(result, "busy");
	NEED(clSetKernelArg(busy, 0, sizeof(written), &written));
	NEED(clSetKernelArg(busy, 1, sizeof(times), &times));
	for (int i = 0; i < 4; i++)
		NEED(clEnqueueNDRangeKernel(any, busy, 1, NULL, &one, &one, 0, NULL, &events[i]));
	NEED(clFinish(any));
	for (int i = 0; i < 4; i++)
		printf("ran %lu %lu\n", time_of(events[i], CL_PROFILING_COMMAND_START),
		       time_of(events[i], CL_PROFILING_COMMAND_END));
	printf("did clEnqueueNDRangeKernel 4 0\n");
}

/* Processor time of the process for a launch, the library's thread included. */
void mode_bench(long number)
{
	struct timespec from, to;

	/* The first commands make what the driver reuses. */
	for (int i = 0; i < 1000; i++)
		launch_empty(queue);
	NEED(clFinish(queue));

	for (int turn = 0; turn < 5; turn++) {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		for (long i = 0; i < number; i++)
			launch_empty(queue);
		NEED(clFinish(queue));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		printf("cpu %.1f\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 +
				      (double)(to.tv_nsec - from.tv_nsec)) /
					     (double)number);
	}
}

/* The flag that the layer adds, set by the program. */
void mode_bench_flag(long number)
{
	queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
	mode_bench(number);
}

/* As clpeak measures it: from queued to start, one launch at a time, by the driver's clock. */
void mode_latency(long number)
{
	cl_command_queue timed = make_queue(CL_QUEUE_PROFILING_ENABLE);
	const size_t one = 1;
	cl_ulong sum = 0;
	cl_event event;

	for (long i = -1000; i < number; i++) {
		NEED(clEnqueueNDRangeKernel(timed, empty, 1, NULL, &one, &one, 0, NULL, &event));
		NEED(clFinish(timed));
		if (i >= 0)
			sum += time_of(event, CL_PROFILING_COMMAND_START) -
			       time_of(event, CL_PROFILING_COMMAND_QUEUED);
		NEED(clReleaseEvent(event));
	}
	printf("latency %.1f\n", (double)sum / (double)number);
}
