// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/handles.h"
#include "channel/intern.h"
#include "channel/operation.h"
#include "channel/process.h"
#include "objects.h"

/* Handles of different kinds of objects may be equal. */
enum kind {
	QUEUE,
	KERNEL,
	DEVICE,
	CONTEXT,
	BUFFER,
};

static struct inject_handles handles = INJECT_HANDLES;

/* Mapped memory: there may be so many addresses that objects would find no room beside them. */
static struct inject_handles mapped = INJECT_HANDLES;
static _Atomic uint32_t devices, buffers;
static uint32_t contexts;

struct inject_opencl_queue *inject_opencl_queue_find(cl_command_queue handle)
{
	return inject_handle_find(&handles, handle, QUEUE);
}

struct inject_opencl_kernel *inject_opencl_kernel_find(cl_kernel handle)
{
	return inject_handle_find(&handles, handle, KERNEL);
}

struct inject_opencl_buffer *inject_opencl_buffer_find(cl_command_buffer_khr handle)
{
	return inject_handle_find(&handles, handle, BUFFER);
}

struct inject_opencl_buffer *inject_opencl_buffer_add(cl_command_buffer_khr handle)
{
	struct inject_opencl_buffer *buffer =
		inject_handle_add(&handles, handle, BUFFER, sizeof(*buffer));

	if (buffer)
		buffer->id = INJECT_OPENCL_ID(atomic_fetch_add(&buffers, 1) + 1);
	return buffer;
}

struct inject_opencl_queue *inject_opencl_queue_add(cl_command_queue handle)
{
	return inject_handle_add(&handles, handle, QUEUE, sizeof(struct inject_opencl_queue));
}

struct inject_opencl_kernel *inject_opencl_kernel_learn(cl_kernel handle)
{
	struct inject_opencl_kernel *kernel =
		inject_handle_add(&handles, handle, KERNEL, sizeof(struct inject_opencl_kernel));
	char name[1024] = "";
	bool is_known;

	if (!kernel)
		return NULL;
	/* OpenCL refuses a name for which there is no room. */
	is_known = inject_opencl.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1,
						 name, NULL) == CL_SUCCESS &&
		   name[0];
	snprintf(kernel->name, sizeof(kernel->name), "%s", is_known ? name : "[unknown kernel]");
	atomic_store(&kernel->id, 0);
	return kernel;
}

/* Whether @name is one of those with ", " between. */
static bool has_name(const char *names, const char *name)
{
	size_t length = strlen(name);
	const char *at = names;

	while ((at = strstr(at, name))) {
		if ((at == names || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

void inject_opencl_buffer_add_kernel(struct inject_opencl_buffer *buffer, cl_kernel handle)
{
	struct inject_opencl_kernel *kernel = inject_opencl_kernel_find(handle);
	size_t used = strlen(buffer->names);
	int length;

	if (!kernel || !kernel->name[0])
		kernel = inject_opencl_kernel_learn(handle);
	buffer->kernels++;
	if (!kernel || has_name(buffer->names, kernel->name))
		return;
	length = snprintf(buffer->names + used, sizeof(buffer->names) - used, "%s%s",
			  used ? ", " : "", kernel->name);
	if (length < 0 || (size_t)length >= sizeof(buffer->names) - used) {
		buffer->names[used] = '\0';
		buffer->is_cut = true;
	}
}

struct inject_opencl_device *inject_opencl_device_add(cl_device_id handle)
{
	struct inject_opencl_device *device =
		inject_handle_add(&handles, handle, DEVICE, sizeof(*device));

	if (!device)
		return NULL;
	pthread_mutex_lock(&handles.adding);
	if (!device->handle) {
		device->id = INJECT_OPENCL_ID(devices++);
		device->handle = handle;
	}
	pthread_mutex_unlock(&handles.adding);
	return device;
}

uint32_t inject_opencl_context_number(cl_context handle)
{
	return (uint32_t)inject_handle_count(&handles, handle, CONTEXT, &contexts);
}

void inject_opencl_context_forget(cl_context handle)
{
	if (inject_handle_number(&handles, handle, CONTEXT))
		inject_handle_set(&handles, handle, CONTEXT, 0);
}

void inject_opencl_mapped_add(const void *pointer, uint64_t bytes)
{
	inject_handle_set(&mapped, pointer, 0, bytes);
}

uint64_t inject_opencl_mapped_bytes(const void *pointer)
{
	return inject_handle_number(&mapped, pointer, 0);
}

void inject_opencl_objects_forked(void)
{
	inject_handles_forked(&handles);
	inject_handles_forked(&mapped);
}

/* More platforms than any machine has: those beyond are written once for each device. */
#define PLATFORMS 16

/* Which platforms have a record, of which generation. */
static _Atomic(cl_platform_id) platforms[PLATFORMS];
static _Atomic uint32_t platform_generations[PLATFORMS];

static const char *platform_text(cl_platform_id platform, cl_platform_info what, char *text,
				 size_t size)
{
	text[0] = '\0';
	if (inject_opencl.clGetPlatformInfo(platform, what, size - 1, text, NULL) != CL_SUCCESS)
		text[0] = '\0';
	text[size - 1] = '\0';
	return text;
}

static bool is_new_platform(cl_platform_id platform)
{
	cl_platform_id there;
	unsigned int i;

	for (i = 0; i < PLATFORMS; i++) {
		there = NULL;
		if (!atomic_compare_exchange_strong(&platforms[i], &there, platform) &&
		    there != platform)
			continue;
		return inject_first_in_capture(&platform_generations[i]);
	}
	return true;
}

static void write_platform(struct inject_thread *thread, cl_platform_id platform)
{
	char name[256], version[256];

	if (!is_new_platform(platform))
		return;
	inject_api_write(thread, GPUMON_API_OPENCL, "OpenCL",
			 platform_text(platform, CL_PLATFORM_VERSION, version, sizeof(version)),
			 platform_text(platform, CL_PLATFORM_NAME, name, sizeof(name)));
}

static uint32_t device_text(struct inject_thread *thread, cl_device_id device, cl_device_info what)
{
	char text[512] = "";

	if (inject_opencl.clGetDeviceInfo(device, what, sizeof(text) - 1, text, NULL) != CL_SUCCESS)
		return 0;
	text[sizeof(text) - 1] = '\0';
	return inject_intern_string(thread, text);
}

#define ASK_DEVICE(device, what, to) \
	(inject_opencl.clGetDeviceInfo(device, what, sizeof(*(to)), to, NULL) == CL_SUCCESS)

static uint32_t device_type(cl_device_id device)
{
	cl_device_type type = 0;

	if (!ASK_DEVICE(device, CL_DEVICE_TYPE, &type))
		return GPUMON_DEVICE_OTHER;
	return type & CL_DEVICE_TYPE_GPU	 ? GPUMON_DEVICE_GPU :
	       type & CL_DEVICE_TYPE_CPU	 ? GPUMON_DEVICE_CPU :
	       type & CL_DEVICE_TYPE_ACCELERATOR ? GPUMON_DEVICE_ACCELERATOR :
						   GPUMON_DEVICE_OTHER;
}

static void write_device(struct inject_thread *thread, const struct inject_opencl_device *device)
{
	struct gpumon_record_device record = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(record) },
		.id = device->id,
		.name = device_text(thread, device->handle, CL_DEVICE_NAME),
		.pci = UINT32_MAX,
		.type = device_type(device->handle),
		.vendor = device_text(thread, device->handle, CL_DEVICE_VENDOR),
		.driver = device_text(thread, device->handle, CL_DRIVER_VERSION),
	};
	cl_device_pci_bus_info_khr pci;
	cl_ulong bytes = 0;
	cl_uint units = 0;

	if (ASK_DEVICE(device->handle, CL_DEVICE_MAX_COMPUTE_UNITS, &units))
		record.multiprocessors = units;
	if (ASK_DEVICE(device->handle, CL_DEVICE_GLOBAL_MEM_SIZE, &bytes))
		record.memory_bytes = bytes;
	if (ASK_DEVICE(device->handle, CL_DEVICE_PCI_BUS_INFO_KHR, &pci))
		record.pci = pci.pci_domain << 16 | pci.pci_bus << 8 | pci.pci_device << 3;
	if (!ASK_DEVICE(device->handle, CL_DEVICE_UUID_KHR, &record.uuid))
		memset(record.uuid, 0, sizeof(record.uuid));
	inject_append(thread, &record);
}

void inject_opencl_records_queue(struct inject_thread *thread, struct inject_opencl_queue *queue)
{
	cl_platform_id platform = NULL;

	if (!inject_first_in_capture(&queue->generation))
		return;
	if (inject_first_in_capture(&queue->device->generation)) {
		if (ASK_DEVICE(queue->device->handle, CL_DEVICE_PLATFORM, &platform))
			write_platform(thread, platform);
		write_device(thread, queue->device);
	}
	inject_stream_write(thread, queue->device->id, queue->context, queue->id);
}
