// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Functions of extensions do not go through the loader: the program asks for their addresses, and
 * gets ours. Those of each platform are kept; a command buffer says of which one it is.
 */
#include <stdio.h>
#include <string.h>

#include "opencl/command.h"
#include "wrappers.h"

#define PLATFORMS 16

/* The type of the properties has another name in newer headers. */
typedef cl_int CL_API_CALL command_kernel_fn(cl_command_buffer_khr buffer, cl_command_queue queue,
					     const void *properties, cl_kernel kernel,
					     cl_uint dimensions, const size_t *offset,
					     const size_t *global, const size_t *local,
					     cl_uint count, const cl_sync_point_khr *list,
					     cl_sync_point_khr *point, void *command);

/**
 * struct platform - functions of a platform's extensions, NULL before the program asks for them
 * @handle: NULL: free
 */
struct platform {
	_Atomic(cl_platform_id) handle;
	inject_opencl_create_queue_fn create_queue;
	clCreateCommandBufferKHR_fn create_buffer;
	clEnqueueCommandBufferKHR_fn enqueue;
	command_kernel_fn *command_kernel;
};

static struct platform platforms[PLATFORMS];

static struct platform *find_platform(cl_platform_id handle, bool add)
{
	cl_platform_id there;
	unsigned int i;

	for (i = 0; handle && i < PLATFORMS; i++) {
		there = atomic_load(&platforms[i].handle);
		if (!there && add)
			atomic_compare_exchange_strong(&platforms[i].handle, &there, handle);
		if (atomic_load(&platforms[i].handle) == handle)
			return &platforms[i];
	}
	return NULL;
}

static struct platform *platform_of_device(cl_device_id device)
{
	cl_platform_id handle = NULL;

	if (inject_opencl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(handle), &handle,
					  NULL) != CL_SUCCESS)
		return NULL;
	return find_platform(handle, false);
}

static struct platform *platform_of_queue(cl_command_queue queue)
{
	cl_device_id device = NULL;

	if (inject_opencl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device,
						NULL) != CL_SUCCESS)
		return NULL;
	return platform_of_device(device);
}

static cl_command_queue create_queue(cl_context context, cl_device_id device,
				     const cl_queue_properties *properties, cl_int *result)
{
	const struct platform *platform = platform_of_device(device);

	if (platform && platform->create_queue)
		return inject_opencl_create_queue_by(platform->create_queue, context, device,
						     properties, result);
	if (result)
		*result = CL_INVALID_DEVICE;
	return NULL;
}

/* This one, or the first that has command buffers. */
static const struct platform *with_buffers(const struct platform *platform)
{
	unsigned int i;

	if (platform && platform->create_buffer && platform->enqueue)
		return platform;
	for (i = 0; i < PLATFORMS; i++)
		if (platforms[i].create_buffer && platforms[i].enqueue)
			return &platforms[i];
	return NULL;
}

static cl_command_buffer_khr create_buffer(cl_uint queues, const cl_command_queue *queue_list,
					   const cl_command_buffer_properties_khr *properties,
					   cl_int *result)
{
	const struct platform *platform = queues && queue_list ? platform_of_queue(queue_list[0]) :
								 NULL;
	cl_command_buffer_khr handle;
	struct inject_opencl_buffer *buffer;

	/* The program asked for the function of some platform, whose error this is. */
	platform = with_buffers(platform);
	if (!platform) {
		if (result)
			*result = CL_INVALID_COMMAND_QUEUE;
		return NULL;
	}
	handle = platform->create_buffer(queues, queue_list, properties, result);
	buffer = handle ? inject_opencl_buffer_add(handle) : NULL;
	if (buffer) {
		buffer->queue = queue_list[0];
		buffer->platform = platform;
		buffer->kernels = 0;
		buffer->is_cut = false;
		buffer->names[0] = '\0';
	}
	return handle;
}

static cl_int command_kernel(cl_command_buffer_khr handle, cl_command_queue queue,
			     const void *properties, cl_kernel kernel, cl_uint dimensions,
			     const size_t *offset, const size_t *global, const size_t *local,
			     cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
			     void *command)
{
	struct inject_opencl_buffer *buffer = inject_opencl_buffer_find(handle);
	const struct platform *platform = with_buffers(buffer ? buffer->platform : NULL);
	cl_int result;

	if (!platform || !platform->command_kernel)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	result = platform->command_kernel(handle, queue, properties, kernel, dimensions, offset,
					  global, local, count, list, point, command);
	if (result == CL_SUCCESS && buffer)
		inject_opencl_buffer_add_kernel(buffer, kernel);
	return result;
}

/* Its kernels are no operations of their own, so their names stand in that of the whole. */
static void name_buffer(struct inject_opencl_command *command,
			const struct inject_opencl_buffer *buffer)
{
	char name[320] = "[command buffer]";

	if (buffer && buffer->kernels == 1)
		snprintf(name, sizeof(name), "[command buffer] %s", buffer->names);
	else if (buffer && buffer->kernels)
		snprintf(name, sizeof(name), "[command buffer of %u kernels] %s%s", buffer->kernels,
			 buffer->names, buffer->is_cut ? ", ..." : "");
	inject_opencl_command_named(command, name, buffer ? buffer->id : 0);
}

static cl_int enqueue_buffer(cl_uint queues, cl_command_queue *queue_list,
			     cl_command_buffer_khr handle, cl_uint count, const cl_event *list,
			     cl_event *event)
{
	const struct inject_opencl_buffer *buffer = inject_opencl_buffer_find(handle);
	const struct platform *platform = with_buffers(buffer ? buffer->platform : NULL);
	cl_command_queue queue = queues && queue_list ? queue_list[0] :
				 buffer		      ? buffer->queue :
							NULL;
	struct inject_opencl_command command;
	cl_int result;

	if (!platform)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueCommandBufferKHR);
	result = platform->enqueue(queues, queue_list, handle, count, list, command.event);
	name_buffer(&command, buffer);
	inject_opencl_command_end(&command, result);
	return result;
}

static void *wrap_address(cl_platform_id handle, const char *name, void *address)
{
	struct platform *platform = address && name ? find_platform(handle, true) : NULL;

	if (!platform)
		return address;
	if (strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0) {
		platform->create_queue = (inject_opencl_create_queue_fn)address;
		return (void *)create_queue;
	}
	if (strcmp(name, "clCreateCommandBufferKHR") == 0) {
		platform->create_buffer = (clCreateCommandBufferKHR_fn)address;
		return (void *)create_buffer;
	}
	if (strcmp(name, "clEnqueueCommandBufferKHR") == 0) {
		platform->enqueue = (clEnqueueCommandBufferKHR_fn)address;
		return (void *)enqueue_buffer;
	}
	if (strcmp(name, "clCommandNDRangeKernelKHR") == 0) {
		platform->command_kernel = (command_kernel_fn *)address;
		return (void *)command_kernel;
	}
	return address;
}

static void *get_address_of_platform(cl_platform_id platform, const char *name)
{
	return wrap_address(platform, name,
			    inject_opencl.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void inject_opencl_wrap_extensions(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clGetExtensionFunctionAddressForPlatform,
			   get_address_of_platform);
}
