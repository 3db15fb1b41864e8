// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "records.h"
#include "write/intern.h"
#include "write/process.h"

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

static bool is_new_platform(cl_platform_id platform, uint32_t generation)
{
	cl_platform_id there;
	unsigned int i;

	for (i = 0; i < PLATFORMS; i++) {
		there = NULL;
		if (!atomic_compare_exchange_strong(&platforms[i], &there, platform) &&
		    there != platform)
			continue;
		return atomic_exchange(&platform_generations[i], generation) != generation;
	}
	return true;
}

static void write_platform(struct inject_thread *thread, cl_platform_id platform,
			   uint32_t generation)
{
	char name[256], version[256];

	if (!is_new_platform(platform, generation))
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

static void write_device(struct inject_thread *thread, const struct inject_device *device)
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

void inject_records_queue(struct inject_thread *thread, struct inject_queue *queue)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	const struct gpumon_record_context context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(context) },
		.time_ns = inject_now(),
		.id = queue->context,
		.device = queue->device->id,
	};
	const struct gpumon_record_stream stream = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(stream) },
		.context = queue->context,
		.id = queue->id,
	};
	cl_platform_id platform = NULL;

	if (atomic_exchange(&queue->generation, generation) == generation)
		return;
	if (atomic_exchange(&queue->device->generation, generation) != generation) {
		if (ASK_DEVICE(queue->device->handle, CL_DEVICE_PLATFORM, &platform))
			write_platform(thread, platform, generation);
		write_device(thread, queue->device);
	}
	inject_append(thread, &context);
	inject_append(thread, &stream);
}
