// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/handles.h"
#include "base/prepared.h"
#include "channel/intern.h"
#include "channel/process.h"
#include "objects.h"

/* Handles of different kinds of objects may be equal. */
enum kind {
	CONTEXT,
	DEVICE,
	QUEUE,
	LIST,
	KERNEL,
	POOL,
	EVENT,
};

struct inject_ze inject_ze;

#define UNKNOWN_KERNEL "[unknown kernel]"

static struct inject_handles handles = INJECT_HANDLES;

/* Events, and their pools: programs may have so many that others would find no room beside them. */
static struct inject_handles events = INJECT_HANDLES;

/* Names by their hashes. */
static struct inject_handles names = INJECT_HANDLES;
static _Atomic uint32_t devices, contexts, queues, lists;
static _Atomic uint64_t nodes;

/* Whose locks have to be made new in a child. Entries are never removed. */
static _Atomic(struct inject_ze_context *) all_contexts;
static _Atomic(struct inject_ze_queue *) all_queues;

void *inject_ze_memory(size_t size)
{
	return inject_handle_memory(&handles, size);
}

struct inject_ze_context *inject_ze_context_find(ze_context_handle_t handle)
{
	return inject_handle_find(&handles, handle, CONTEXT);
}

struct inject_ze_list *inject_ze_list_find(ze_command_list_handle_t handle)
{
	return inject_handle_find(&handles, handle, LIST);
}

struct inject_ze_queue *inject_ze_queue_find(ze_command_queue_handle_t handle)
{
	return inject_handle_find(&handles, handle, QUEUE);
}

struct inject_ze_kernel *inject_ze_kernel_find(ze_kernel_handle_t handle)
{
	return inject_handle_find(&handles, handle, KERNEL);
}

struct inject_ze_their_event *inject_ze_their_event_find(ze_event_handle_t handle)
{
	return inject_handle_find(&events, handle, EVENT);
}

void inject_ze_context_made(ze_context_handle_t handle, ze_driver_handle_t driver)
{
	struct inject_ze_context *context =
		inject_handle_add(&handles, handle, CONTEXT, sizeof(*context));

	if (!context)
		return;
	if (!context->handle) {
		pthread_mutex_init(&context->lock, NULL);
		context->next = atomic_load(&all_contexts);
		while (!atomic_compare_exchange_weak(&all_contexts, &context->next, context))
			;
	}
	context->handle = handle;
	context->driver = driver;
	context->id = INJECT_ZE_ID(atomic_fetch_add(&contexts, 1) + 1);
	context->refused = false;
}

static uint64_t mask_of(uint32_t bits)
{
	return bits && bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
}

static struct inject_ze_device *add_device(ze_device_handle_t handle, ze_driver_handle_t driver)
{
	struct inject_ze_device *device =
		inject_handle_add(&handles, handle, DEVICE, sizeof(*device));
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };

	if (!device || __atomic_load_n(&device->handle, __ATOMIC_ACQUIRE))
		return device;
	if (inject_ze.zeDeviceGetProperties(handle, &properties) != ZE_RESULT_SUCCESS)
		properties.timerResolution = 0;
	pthread_mutex_lock(&handles.adding);
	if (!device->handle) {
		device->id = INJECT_ZE_ID(devices++);
		device->driver = driver;
		device->hertz = properties.timerResolution;
		device->time_mask = mask_of(properties.timestampValidBits);
		device->kernel_mask = mask_of(properties.kernelTimestampValidBits);
		__atomic_store_n(&device->handle, handle, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&handles.adding);
	return device;
}

static void begin_queue(struct inject_ze_queue *queue, ze_command_queue_handle_t handle,
			struct inject_ze_context *context, struct inject_ze_device *device,
			const ze_command_queue_desc_t *description)
{
	/* The fences of an earlier queue with this handle have gone with it. */
	if (!queue->id) {
		pthread_mutex_init(&queue->lock, NULL);
		queue->next = atomic_load(&all_queues);
		while (!atomic_compare_exchange_weak(&all_queues, &queue->next, queue))
			;
	}
	queue->handle = handle;
	queue->is_synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	queue->context = context;
	queue->device = device;
	queue->id = INJECT_ZE_ID(atomic_fetch_add(&queues, 1) + 1);
	queue->fences = NULL;
	atomic_store(&queue->generation, 0);
}

void inject_ze_queue_made(ze_command_queue_handle_t handle, ze_context_handle_t context_handle,
			  ze_device_handle_t device_handle,
			  const ze_command_queue_desc_t *description)
{
	struct inject_ze_context *context = inject_ze_context_find(context_handle);
	struct inject_ze_device *device = context ? add_device(device_handle, context->driver) :
						    NULL;
	struct inject_ze_queue *queue =
		device ? inject_handle_add(&handles, handle, QUEUE, sizeof(*queue)) : NULL;

	if (queue)
		begin_queue(queue, handle, context, device, description);
}

void inject_ze_list_made(ze_command_list_handle_t handle, ze_context_handle_t context_handle,
			 ze_device_handle_t device_handle,
			 const ze_command_queue_desc_t *description)
{
	struct inject_ze_context *context = inject_ze_context_find(context_handle);
	struct inject_ze_device *device = context ? add_device(device_handle, context->driver) :
						    NULL;
	struct inject_ze_list *list =
		device ? inject_handle_add(&handles, handle, LIST, sizeof(*list)) : NULL;

	if (!list)
		return;
	list->context = context;
	list->device = device;
	list->id = INJECT_ZE_ID(atomic_fetch_add(&lists, 1) + 1);
	list->node_count = 0;
	atomic_store(&list->executions, 0);
	list->queue = NULL;
	if (!description)
		return;
	/*
	 * Commands of the old queue may still wait to be written: without a spare queue a new one
	 * is made.
	 */
	list->queue = list->spare ? list->spare : inject_ze_memory(sizeof(*list->queue));
	list->spare = NULL;
	if (list->queue)
		begin_queue(list->queue, NULL, context, device, description);
}

/* The one name with this text. Where there is no room in the table, a new one each time. */
static struct inject_ze_name *find_name(const char *text)
{
	uint64_t hash = 14695981039346656037ull;
	struct inject_ze_name *name;
	size_t i, length = strlen(text);

	if (length >= sizeof(name->text))
		length = sizeof(name->text) - 1;
	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
	name = inject_handle_add(&names, (const void *)(uintptr_t)(hash >> 3), 0, sizeof(*name));
	if (name && !name->text[0])
		memcpy(name->text, text, length);
	if (!name || strncmp(name->text, text, length) || name->text[length])
		name = inject_ze_memory(sizeof(*name));
	if (name && !name->text[0])
		memcpy(name->text, text, length);
	return name;
}

void inject_ze_kernel_made(ze_kernel_handle_t handle, const char *text)
{
	struct inject_ze_kernel *kernel =
		inject_handle_add(&handles, handle, KERNEL, sizeof(*kernel));

	if (!kernel)
		return;
	memset(kernel->local, 0, sizeof(kernel->local));
	kernel->name = find_name(text && *text ? text : UNKNOWN_KERNEL);
}

struct inject_ze_kernel *inject_ze_kernel_learn(ze_kernel_handle_t handle)
{
	char text[1024] = "";
	size_t size = sizeof(text) - 1;

	if (inject_ze.zeKernelGetName(handle, &size, text) != ZE_RESULT_SUCCESS)
		text[0] = '\0';
	inject_ze_kernel_made(handle, text);
	return inject_ze_kernel_find(handle);
}

void inject_ze_event_pool_made(ze_event_pool_handle_t handle, bool is_timed)
{
	/* A pool without times is noted only where an earlier one had its handle. */
	if (is_timed || inject_handle_number(&events, handle, POOL))
		inject_handle_set(&events, handle, POOL, is_timed);
}

void inject_ze_their_event_made(ze_event_handle_t handle, ze_event_pool_handle_t pool)
{
	struct inject_ze_their_event *event =
		inject_handle_add(&events, handle, EVENT, sizeof(*event));

	if (!event)
		return;
	event->is_timed = inject_handle_number(&events, pool, POOL);
	atomic_store(&event->is_in_list, false);
	atomic_fetch_add(&event->version, 1);
}

struct inject_ze_node *inject_ze_node_add(struct inject_ze_list *list)
{
	struct inject_ze_node *node;

	if (!inject_grow((void **)&list->nodes, &list->node_room, list->node_count + 1,
			 sizeof(*node)))
		return NULL;
	node = &list->nodes[list->node_count++];
	node->id = (uint64_t)GPUMON_API_LEVEL_ZERO << 56 | (atomic_fetch_add(&nodes, 1) + 1);
	return node;
}

void inject_ze_objects_forked(void)
{
	struct inject_ze_context *context;
	struct inject_ze_queue *queue;

	for (context = atomic_load(&all_contexts); context; context = context->next)
		pthread_mutex_init(&context->lock, NULL);
	for (queue = atomic_load(&all_queues); queue; queue = queue->next)
		pthread_mutex_init(&queue->lock, NULL);
	inject_handles_forked(&handles);
	inject_handles_forked(&events);
	inject_handles_forked(&names);
}

#define INTEL 0x8086u

/* More memories than any device has. */
#define MEMORIES 16

/* Once in a capture: devices of several drivers are told apart by their own records. */
static void write_api(struct inject_thread *thread, ze_driver_handle_t driver)
{
	static _Atomic uint32_t written;
	ze_api_version_t version;
	char text[32] = "";

	if (!inject_first_in_capture(&written))
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
	if (!inject_first_in_capture(&queue->generation))
		return;
	write_api(thread, queue->device->driver);
	if (inject_first_in_capture(&queue->device->generation))
		write_device(thread, queue->device);
	inject_stream_write(thread, queue->device->id, queue->context->id, queue->id);
}
