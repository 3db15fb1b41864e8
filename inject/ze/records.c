// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "records.h"
#include "write/intern.h"
#include "write/process.h"

#define INTEL 0x8086u

/* More memories than any device has. */
#define MEMORIES 16

/* Once in a capture: devices of several drivers are told apart by their own records. */
static void write_api(struct inject_thread *thread, ze_driver_handle_t driver, uint32_t generation)
{
	static _Atomic uint32_t written;
	ze_api_version_t version;
	char text[32] = "";

	if (atomic_exchange(&written, generation) == generation)
		return;
	if (inject_ze.zeDriverGetApiVersion(driver, &version) == ZE_RESULT_SUCCESS)
		snprintf(text, sizeof(text), "%u.%u", ZE_MAJOR_VERSION(version),
			 ZE_MINOR_VERSION(version));
	inject_api_write(thread, GPUMON_API_LEVEL_ZERO, "Level Zero", text[0] ? text : NULL, NULL);
}

static uint32_t device_type(ze_device_type_t type)
{
	switch (type) {
	case ZE_DEVICE_TYPE_GPU:
		return GPUMON_DEVICE_GPU;
	case ZE_DEVICE_TYPE_CPU:
		return GPUMON_DEVICE_CPU;
	case ZE_DEVICE_TYPE_FPGA:
	case ZE_DEVICE_TYPE_MCA:
		return GPUMON_DEVICE_ACCELERATOR;
	default:
		return GPUMON_DEVICE_OTHER;
	}
}

static uint64_t memory_bytes(ze_device_handle_t device)
{
	ze_device_memory_properties_t memories[MEMORIES];
	uint32_t count = MEMORIES, i;
	uint64_t bytes = 0;

	memset(memories, 0, sizeof(memories));
	for (i = 0; i < MEMORIES; i++)
		memories[i].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
	if (inject_ze.zeDeviceGetMemoryProperties(device, &count, memories) != ZE_RESULT_SUCCESS)
		return 0;
	for (i = 0; i < count && i < MEMORIES; i++)
		bytes += memories[i].totalSize;
	return bytes;
}

static uint32_t pci_address(ze_device_handle_t device)
{
	ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };

	if (!inject_ze.zeDevicePciGetPropertiesExt ||
	    inject_ze.zeDevicePciGetPropertiesExt(device, &pci) != ZE_RESULT_SUCCESS)
		return UINT32_MAX;
	return pci.address.domain << 16 | pci.address.bus << 8 | pci.address.device << 3;
}

static uint32_t driver_version(struct inject_thread *thread, ze_driver_handle_t driver)
{
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	char text[16];

	if (inject_ze.zeDriverGetProperties(driver, &properties) != ZE_RESULT_SUCCESS)
		return 0;
	snprintf(text, sizeof(text), "%u", properties.driverVersion);
	return inject_intern_string(thread, text);
}

static uint32_t vendor(struct inject_thread *thread, uint32_t id)
{
	char text[16];

	if (id == INTEL)
		return inject_intern_string(thread, "Intel");
	snprintf(text, sizeof(text), "0x%04x", id);
	return id ? inject_intern_string(thread, text) : 0;
}

static void write_device(struct inject_thread *thread, const struct inject_ze_device *device)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };
	struct gpumon_record_device record = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(record) },
		.id = device->id,
		.pci = pci_address(device->handle),
		.memory_bytes = memory_bytes(device->handle),
		.type = GPUMON_DEVICE_OTHER,
		.driver = driver_version(thread, device->driver),
	};

	if (inject_ze.zeDeviceGetProperties(device->handle, &properties) == ZE_RESULT_SUCCESS) {
		properties.name[sizeof(properties.name) - 1] = '\0';
		record.name = inject_intern_string(thread, properties.name);
		record.type = device_type(properties.type);
		record.vendor = vendor(thread, properties.vendorId);
		record.multiprocessors = properties.numSlices * properties.numSubslicesPerSlice;
		memcpy(record.uuid, properties.uuid.id, sizeof(record.uuid));
	}
	inject_append(thread, &record);
}

void inject_ze_records_queue(struct inject_thread *thread, struct inject_ze_queue *queue)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	const struct gpumon_record_context context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(context) },
		.time_ns = inject_now(),
		.id = queue->context->id,
		.device = queue->device->id,
	};
	const struct gpumon_record_stream stream = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(stream) },
		.context = queue->context->id,
		.id = queue->id,
	};

	if (atomic_exchange(&queue->generation, generation) == generation)
		return;
	write_api(thread, queue->device->driver, generation);
	if (atomic_exchange(&queue->device->generation, generation) != generation)
		write_device(thread, queue->device);
	inject_append(thread, &context);
	inject_append(thread, &stream);
}
