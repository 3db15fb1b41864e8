// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A driver of OpenCL that does nothing, and says of its times what MOCK_TIMES asks for:
 *   good                    those of CLOCK_MONOTONIC
 *   own                     of a clock of its own: 5,000 s later, and 10 ppm faster
 *   backwards, zero, early, late, random    nothing that can be
 *   refused                 an error
 * Commands end at once, with MOCK_STATUS as their status. Each calls the context's callback, as drivers
 * call those of events that have ended.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_icd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every object begins with the table; the loader finds the functions there. */
struct object {
	const struct _cl_icd_dispatch *dispatch;
	int references;
	struct object *of;
	cl_ulong times[4];
	cl_command_queue_properties properties;
};

static void (*notify_program)(const char *, const void *, size_t, void *);
static void *notify_data;
static struct _cl_icd_dispatch dispatch;
static struct object platform = { .dispatch = &dispatch };
static struct object device = { .dispatch = &dispatch };

static struct object *make(void *of)
{
	struct object *object = calloc(1, sizeof(*object));

	object->dispatch = &dispatch;
	object->references = 1;
	object->of = of;
	return object;
}

static cl_int answer(const void *from, size_t length, size_t size, void *value, size_t *size_ret)
{
	if (value && size < length)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, length);
	if (size_ret)
		*size_ret = length;
	return CL_SUCCESS;
}

#define ANSWER_TEXT(text) return answer(text, sizeof(text), size, value, size_ret)
#define ANSWER(type, number)                                           \
	do {                                                           \
		type it = (number);                                    \
		return answer(&it, sizeof(it), size, value, size_ret); \
	} while (0)

static cl_int get_platform_info(cl_platform_id of, cl_platform_info what, size_t size, void *value,
				size_t *size_ret)
{
	(void)of;
	switch (what) {
	case CL_PLATFORM_NAME:
		ANSWER_TEXT("Mock Platform");
	case CL_PLATFORM_VERSION:
		ANSWER_TEXT("OpenCL 1.2 mock");
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		ANSWER_TEXT("MOCK");
	case CL_PLATFORM_EXTENSIONS:
		ANSWER_TEXT("cl_khr_icd");
	default:
		ANSWER_TEXT("mock");
	}
}

static cl_int get_device_ids(cl_platform_id of, cl_device_type type, cl_uint room,
			     cl_device_id *devices, cl_uint *count)
{
	(void)of;
	(void)type;
	if (devices && room)
		devices[0] = (cl_device_id)&device;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int get_device_info(cl_device_id of, cl_device_info what, size_t size, void *value,
			      size_t *size_ret)
{
	(void)of;
	switch (what) {
	case CL_DEVICE_TYPE:
		ANSWER(cl_device_type, CL_DEVICE_TYPE_ACCELERATOR);
	case CL_DEVICE_NAME:
		ANSWER_TEXT("mock device");
	case CL_DEVICE_PLATFORM:
		ANSWER(cl_platform_id, (cl_platform_id)&platform);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_context create_context(const cl_context_properties *properties, cl_uint count,
				 const cl_device_id *devices,
				 void (*notify)(const char *, const void *, size_t, void *),
				 void *data, cl_int *result)
{
	(void)properties;
	(void)count;
	(void)devices;
	notify_program = notify;
	notify_data = data;
	if (result)
		*result = CL_SUCCESS;
	return (cl_context)make(NULL);
}

static cl_command_queue create_queue(cl_context context, cl_device_id of,
				     cl_command_queue_properties properties, cl_int *result)
{
	struct object *queue = make(context);

	(void)of;
	queue->properties = properties;
	if (result)
		*result = CL_SUCCESS;
	return (cl_command_queue)queue;
}

static cl_int get_queue_info(cl_command_queue queue, cl_command_queue_info what, size_t size,
			     void *value, size_t *size_ret)
{
	switch (what) {
	case CL_QUEUE_DEVICE:
		ANSWER(cl_device_id, (cl_device_id)&device);
	case CL_QUEUE_PROPERTIES:
		ANSWER(cl_command_queue_properties, ((struct object *)queue)->properties);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_program create_program(cl_context context, cl_uint count, const char **texts,
				 const size_t *lengths, cl_int *result)
{
	(void)count;
	(void)texts;
	(void)lengths;
	if (result)
		*result = CL_SUCCESS;
	return (cl_program)make(context);
}

static cl_int build_program(cl_program program, cl_uint count, const cl_device_id *devices,
			    const char *options, void (*notify)(cl_program, void *), void *data)
{
	(void)program;
	(void)count;
	(void)devices;
	(void)options;
	(void)notify;
	(void)data;
	return CL_SUCCESS;
}

static cl_kernel create_kernel(cl_program program, const char *name, cl_int *result)
{
	(void)name;
	if (result)
		*result = CL_SUCCESS;
	return (cl_kernel)make(program);
}

/* A name that fills all the room that there is, without an end. */
static cl_int get_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size, void *value,
			      size_t *size_ret)
{
	(void)kernel;
	(void)what;
	if (value)
		memset(value, 'k', size);
	if (size_ret)
		*size_ret = size;
	return CL_SUCCESS;
}

static cl_ulong now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (cl_ulong)time.tv_sec * 1000000000u + (cl_ulong)time.tv_nsec;
}

static const char *times_wanted(void)
{
	return getenv("MOCK_TIMES") ? getenv("MOCK_TIMES") : "good";
}

static void set_times(cl_ulong *times)
{
	const char *how = times_wanted();
	cl_ulong time = now();

	for (int i = 0; i < 4; i++)
		times[i] = time + (cl_ulong)i * 100;
	if (strcmp(how, "own") == 0)
		for (int i = 0; i < 4; i++)
			times[i] += 5000000000000u + times[i] / 100000;
	else if (strcmp(how, "backwards") == 0)
		times[3] = times[2] - 50;
	else if (strcmp(how, "zero") == 0)
		memset(times, 0, 4 * sizeof(*times));
	else if (strcmp(how, "early") == 0)
		times[2] = times[0] - 3600000000000u;
	else if (strcmp(how, "late") == 0)
		times[3] += 3600000000000u;
	else if (strcmp(how, "random") == 0)
		for (int i = 0; i < 4; i++)
			times[i] = (cl_ulong)random() << 33 ^ (cl_ulong)random();
}

static cl_int enqueue(cl_command_queue queue, cl_event *event)
{
	struct object *made;

	if (notify_program)
		notify_program("", NULL, 0, notify_data);
	if (!event)
		return CL_SUCCESS;
	made = make(queue);
	set_times(made->times);
	*event = (cl_event)made;
	return CL_SUCCESS;
}

static cl_int enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			     const size_t *offset, const size_t *global, const size_t *local,
			     cl_uint count, const cl_event *list, cl_event *event)
{
	(void)kernel;
	(void)dimensions;
	(void)offset;
	(void)global;
	(void)local;
	(void)count;
	(void)list;
	return enqueue(queue, event);
}

static cl_int get_event_info(cl_event event, cl_event_info what, size_t size, void *value,
			     size_t *size_ret)
{
	const char *status = getenv("MOCK_STATUS");

	switch (what) {
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		ANSWER(cl_int, status ? atoi(status) : CL_COMPLETE);
	case CL_EVENT_COMMAND_QUEUE:
		ANSWER(cl_command_queue, (cl_command_queue)((struct object *)event)->of);
	case CL_EVENT_REFERENCE_COUNT:
		ANSWER(cl_uint, (cl_uint)((struct object *)event)->references);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_event_times(cl_event event, cl_profiling_info what, size_t size, void *value,
			      size_t *size_ret)
{
	const struct object *of = (const struct object *)event;

	if (strcmp(times_wanted(), "refused") == 0)
		return CL_OUT_OF_RESOURCES;
	if (what < CL_PROFILING_COMMAND_QUEUED || what > CL_PROFILING_COMMAND_END)
		return CL_INVALID_VALUE;
	ANSWER(cl_ulong, of->times[what - CL_PROFILING_COMMAND_QUEUED]);
}

static cl_int retain_event(cl_event event)
{
	__atomic_fetch_add(&((struct object *)event)->references, 1, __ATOMIC_SEQ_CST);
	return CL_SUCCESS;
}

/* One release too many is an error, and ends the program. */
static cl_int release_event(cl_event event)
{
	struct object *of = (struct object *)event;
	int left = __atomic_sub_fetch(&of->references, 1, __ATOMIC_SEQ_CST);

	if (left < 0) {
		fprintf(stderr, "mock: an event was released too often\n");
		abort();
	}
	return CL_SUCCESS;
}

static cl_int finish(cl_command_queue queue)
{
	(void)queue;
	return CL_SUCCESS;
}

static cl_int release_queue(cl_command_queue queue)
{
	(void)queue;
	return CL_SUCCESS;
}

static cl_int release_context(cl_context context)
{
	(void)context;
	return CL_SUCCESS;
}

static cl_int get_context_info(cl_context context, cl_context_info what, size_t size, void *value,
			       size_t *size_ret)
{
	(void)what;
	ANSWER(cl_uint, (cl_uint)((struct object *)context)->references);
}

static cl_int get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
	dispatch.clGetPlatformInfo = get_platform_info;
	dispatch.clGetDeviceIDs = get_device_ids;
	dispatch.clGetDeviceInfo = get_device_info;
	dispatch.clCreateContext = create_context;
	dispatch.clReleaseContext = release_context;
	dispatch.clGetContextInfo = get_context_info;
	dispatch.clCreateCommandQueue = create_queue;
	dispatch.clGetCommandQueueInfo = get_queue_info;
	dispatch.clReleaseCommandQueue = release_queue;
	dispatch.clCreateProgramWithSource = create_program;
	dispatch.clBuildProgram = build_program;
	dispatch.clCreateKernel = create_kernel;
	dispatch.clGetKernelInfo = get_kernel_info;
	dispatch.clEnqueueNDRangeKernel = enqueue_kernel;
	dispatch.clGetEventInfo = get_event_info;
	dispatch.clGetEventProfilingInfo = get_event_times;
	dispatch.clRetainEvent = retain_event;
	dispatch.clReleaseEvent = release_event;
	dispatch.clFlush = finish;
	dispatch.clFinish = finish;
	if (platforms && room)
		platforms[0] = (cl_platform_id)&platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

/* What the loader looks for in a driver. */
void *clGetExtensionFunctionAddress(const char *name)
{
	return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)get_platforms : NULL;
}

cl_int clGetPlatformInfo(cl_platform_id of, cl_platform_info what, size_t size, void *value,
			 size_t *size_ret)
{
	return get_platform_info(of, what, size, value, size_ret);
}
