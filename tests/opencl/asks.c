// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Asks OpenCL for all that it says of the program's objects, and prints the answers, without
 * addresses and times: they have to be the same with the layer and without.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How an answer is shown. */
enum how {
	NUMBER, /* in bytes of any number */
	HANDLE, /* whether there is one */
	SIZE,	/* that alone: times, names of folders */
};

static void show(const char *what, cl_int result, size_t size, const unsigned char *value,
		 enum how how)
{
	printf("%s: %d", what, result);
	if (result == CL_SUCCESS) {
		printf(" size %zu:", size);
		for (size_t i = 0; how == NUMBER && i < size && i < 64; i++)
			printf(" %02x", value[i]);
		for (size_t i = 0; how == HANDLE && i + sizeof(void *) <= size;
		     i += sizeof(void *)) {
			void *handle;

			memcpy(&handle, value + i, sizeof(handle));
			printf(" %s", handle ? "one" : "none");
		}
	}
	putchar('\n');
}

/* A driver's own threads hold references for some time after a command has ended: the least of many. */
#define ASK_COUNT(function, object, name)                                           \
	do {                                                                        \
		cl_uint least = ~0u, seen = 0;                                      \
		cl_int answer = CL_SUCCESS;                                         \
		for (int tries = 0; tries < 20 && answer == CL_SUCCESS; tries++) {  \
			answer = function(object, name, sizeof(seen), &seen, NULL); \
			tries = seen < least ? 0 : tries;                           \
			least = seen < least ? seen : least;                        \
			usleep(200);                                                \
		}                                                                   \
		printf(#function " " #object " " #name ": %d %u\n", answer, least); \
	} while (0)

/* With enough room, without room, with too little, and for the size alone. */
#define ASK(function, object, name, how)                                                     \
	do {                                                                                 \
		unsigned char value[4096];                                                   \
		size_t size = 0;                                                             \
		cl_int answer;                                                               \
		memset(value, 0xee, sizeof(value));                                          \
		answer = function(object, name, sizeof(value), value, &size);                \
		show(#function " " #object " " #name, answer, size, value, how);             \
		answer = function(object, name, 1, value, NULL);                             \
		printf("  in one byte: %d\n", answer);                                       \
		size = 77;                                                                   \
		answer = function(object, name, 0, NULL, &size);                             \
		printf("  for the size: %d %zu\n", answer, answer == CL_SUCCESS ? size : 0); \
	} while (0)

static cl_device_id device;
static cl_context context;
static cl_kernel kernel;
static cl_mem memory;

static void ask_event(cl_event event)
{
	ASK(clGetEventInfo, event, CL_EVENT_COMMAND_QUEUE, HANDLE);
	ASK(clGetEventInfo, event, CL_EVENT_CONTEXT, HANDLE);
	ASK(clGetEventInfo, event, CL_EVENT_COMMAND_TYPE, NUMBER);
	ASK(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, NUMBER);
	ASK_COUNT(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
	ASK(clGetEventInfo, event, 0x4321, NUMBER);
	ASK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_QUEUED, SIZE);
	ASK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_SUBMIT, SIZE);
	ASK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_START, SIZE);
	ASK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END, SIZE);
	ASK(clGetEventProfilingInfo, event, 0x4321, SIZE);
}

static void ask_queue_itself(cl_command_queue queue)
{
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, HANDLE);
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, HANDLE);
	ASK_COUNT(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES, NUMBER);
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES_ARRAY, NUMBER);
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_SIZE, NUMBER);
	ASK(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE_DEFAULT, HANDLE);
	ASK(clGetCommandQueueInfo, queue, 0x4321, NUMBER);
}

static void ask_counts(cl_command_queue queue)
{
	ASK_COUNT(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
	ASK_COUNT(clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
	ASK_COUNT(clGetMemObjectInfo, memory, CL_MEM_REFERENCE_COUNT);
	ASK_COUNT(clGetMemObjectInfo, memory, CL_MEM_MAP_COUNT);
	ASK_COUNT(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
}

static void ask_queue(const char *how, cl_command_queue queue, cl_int created)
{
	cl_int result, number = 3;
	cl_event event, user;
	const size_t one = 1;
	void *mapped;

	printf("queue %s: %d\n", how, created);
	if (!queue)
		return;
	ask_queue_itself(queue);
	result = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &event);
	printf("enqueue: %d\n", result);
	printf("wait: %d\n", clWaitForEvents(1, &event));
	ask_event(event);
	printf("retain: %d\n", clRetainEvent(event));
	ASK_COUNT(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
	printf("release: %d\n", clReleaseEvent(event));
	printf("release: %d\n", clReleaseEvent(event));
	/* Many commands that nobody asks about. */
	for (int i = 0; i < 100; i++)
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
	clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, sizeof(number), &number, 0, NULL, NULL);
	mapped = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL,
				    &result);
	printf("map: %d\n", result);
	printf("unmap: %d\n", clEnqueueUnmapMemObject(queue, memory, mapped, 0, NULL, NULL));
	printf("finish: %d\n", clFinish(queue));
	ask_counts(queue);
	/* A command that waits for the user. */
	user = clCreateUserEvent(context, &result);
	printf("enqueue: %d\n",
	       clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 1, &user, &event));
	printf("flush: %d\n", clFlush(queue));
	ASK_COUNT(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
	ASK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END, SIZE);
	ASK(clGetEventProfilingInfo, user, CL_PROFILING_COMMAND_END, SIZE);
	ASK(clGetEventInfo, user, CL_EVENT_COMMAND_QUEUE, HANDLE);
	printf("set: %d\n", clSetUserEventStatus(user, CL_COMPLETE));
	printf("finish: %d\n", clFinish(queue));
	ask_event(event);
	clReleaseEvent(event);
	clReleaseEvent(user);
	printf("retain: %d\n", clRetainCommandQueue(queue));
	ASK_COUNT(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
	printf("release: %d\n", clReleaseCommandQueue(queue));
	printf("release: %d\n", clReleaseCommandQueue(queue));
	ASK_COUNT(clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
}

static void ask_queues(void)
{
	static const cl_queue_properties lists[][5] = {
		{ 0 },
		{ CL_QUEUE_PROPERTIES, 0, 0 },
		{ CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 },
		{ CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 },
		{ CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, 0 },
		{ 0x9999, 1, 0 },
	};
	cl_command_queue queue;
	cl_int result;
	char how[32];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(how, sizeof(how), "list %zu", i);
		queue = clCreateCommandQueueWithProperties(context, device, lists[i], &result);
		ask_queue(how, queue, result);
	}
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &result);
	ask_queue("NULL", queue, result);
	/* Not those of the device itself, on which pocl ends the program. */
	for (cl_command_queue_properties bits = 0; bits < 4; bits++) {
		snprintf(how, sizeof(how), "bits %u", (unsigned int)bits);
		queue = clCreateCommandQueue(context, device, bits, &result);
		ask_queue(how, queue, result);
	}
	printf("no context: %d\n", (clCreateCommandQueue(NULL, device, 0, &result), result));
	printf("no device: %d\n",
	       (clCreateCommandQueueWithProperties(context, NULL, NULL, &result), result));
	ASK(clGetCommandQueueInfo, NULL, CL_QUEUE_PROPERTIES, NUMBER);
	ASK(clGetEventInfo, NULL, CL_EVENT_REFERENCE_COUNT, NUMBER);
	ASK(clGetEventProfilingInfo, NULL, CL_PROFILING_COMMAND_END, SIZE);
}

static void ask_platform_and_device(cl_platform_id platform)
{
	static const char *const functions[] = {
		"clCreateCommandBufferKHR",
		"clEnqueueCommandBufferKHR",
		"clCreateCommandQueueWithPropertiesKHR",
		"clEnqueueSVMMemcpyARM",
		"clNothing",
	};

	for (cl_platform_info what = CL_PLATFORM_PROFILE; what < CL_PLATFORM_PROFILE + 8; what++)
		ASK(clGetPlatformInfo, platform, what, NUMBER);
	/* Numbers of memory that is free change. */
	for (cl_device_info what = CL_DEVICE_TYPE; what < CL_DEVICE_TYPE + 0x70; what++)
		ASK(clGetDeviceInfo, device, what, SIZE);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		printf("%s: %s\n", functions[i],
		       clGetExtensionFunctionAddressForPlatform(platform, functions[i]) ?
			       "there" :
			       "not there");
}

static void ask_objects(cl_program program)
{
	for (cl_context_info what = CL_CONTEXT_REFERENCE_COUNT;
	     what < CL_CONTEXT_REFERENCE_COUNT + 4; what++)
		ASK(clGetContextInfo, context, what, HANDLE);
	for (cl_mem_info what = CL_MEM_TYPE; what < CL_MEM_TYPE + 12; what++)
		ASK(clGetMemObjectInfo, memory, what, SIZE);
	ASK(clGetMemObjectInfo, memory, CL_MEM_SIZE, NUMBER);
	ASK_COUNT(clGetMemObjectInfo, memory, CL_MEM_REFERENCE_COUNT);
	for (cl_kernel_info what = CL_KERNEL_FUNCTION_NAME; what < CL_KERNEL_FUNCTION_NAME + 6;
	     what++)
		ASK(clGetKernelInfo, kernel, what, SIZE);
	ASK(clGetKernelInfo, kernel, CL_KERNEL_FUNCTION_NAME, NUMBER);
	ASK_COUNT(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
	ASK_COUNT(clGetProgramInfo, program, CL_PROGRAM_REFERENCE_COUNT);
	ASK(clGetProgramInfo, program, CL_PROGRAM_NUM_KERNELS, NUMBER);
	ASK(clGetProgramInfo, program, CL_PROGRAM_KERNEL_NAMES, NUMBER);
}

static void ask_timers(void)
{
	cl_ulong one, other;
	cl_int result = clGetDeviceAndHostTimer(device, &one, &other);

	printf("timers: %d\n", result);
	printf("timer: %d\n", clGetHostTimer(device, &one));
}

int main(void)
{
	const char *source =
		"kernel void one(int a) { } kernel void two(global int *a) { *a = 1; }";
	cl_context_properties properties[3] = { CL_CONTEXT_PLATFORM };
	cl_platform_id platform;
	cl_program program;
	cl_uint count = 0;
	cl_int result;

	if (clGetPlatformIDs(1, &platform, &count) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count))
		return 1;
	printf("devices: %u\n", count);
	properties[1] = (cl_context_properties)platform;
	context = clCreateContext(properties, 1, &device, NULL, NULL, &result);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &result);
	printf("build: %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "one", &result);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &result);
	if (!kernel || !memory)
		return 1;
	clSetKernelArg(kernel, 0, sizeof(result), &result);
	printf("no such kernel: %d\n", (clCreateKernel(program, "three", &result), result));
	printf("kernels: %d", clCreateKernelsInProgram(program, 0, NULL, &count));
	printf(" %u\n", count);
	ask_platform_and_device(platform);
	ask_objects(program);
	ask_queues();
	ask_timers();
	ask_objects(program);
	printf("release: %d", clReleaseKernel(kernel));
	printf(" %d", clReleaseMemObject(memory));
	printf(" %d", clReleaseProgram(program));
	ASK_COUNT(clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
	printf(" %d\n", clReleaseContext(context));
	return 0;
}
