// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prepared.h"
#include "channel/intern.h"
#include "channel/process.h"
#include "objects.h"

/* Held to add or to free an entry. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct inject_vulkan_instance *) instances;
static _Atomic(struct inject_vulkan_device *) devices;
static struct inject_vulkan_physical physicals[INJECT_VULKAN_PHYSICALS];
static uint32_t physical_count, context_count, queue_count;

/* In place of a key, while an entry is filled. */
static char reserved;

struct inject_vulkan_instance *inject_vulkan_instance_find(const void *handle)
{
	void *key = inject_vulkan_key(handle);
	struct inject_vulkan_instance *instance;

	for (instance = atomic_load(&instances); instance; instance = instance->next)
		if (atomic_load(&instance->key) == key)
			return instance;
	return NULL;
}

static void find_instance_functions(struct inject_vulkan_instance *instance)
{
#define FIND(name) instance->below.name = (PFN_##name)instance->below.get(instance->handle, #name);
	INJECT_VULKAN_OF_INSTANCE(FIND)
#undef FIND
	instance->below.domains_khr =
		(PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)instance->below.get(
			instance->handle, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR");
	if (instance->api >= VK_API_VERSION_1_1)
		return;
	instance->below.vkGetPhysicalDeviceFeatures2 =
		instance->below.vkGetPhysicalDeviceFeatures2KHR;
	instance->below.vkGetPhysicalDeviceProperties2 =
		instance->below.vkGetPhysicalDeviceProperties2KHR;
}

struct inject_vulkan_instance *inject_vulkan_instance_add(VkInstance handle,
							  PFN_vkGetInstanceProcAddr get,
							  uint32_t api, bool has_properties2)
{
	struct inject_vulkan_instance *instance;

	pthread_mutex_lock(&adding);
	for (instance = atomic_load(&instances); instance; instance = instance->next)
		if (!atomic_load(&instance->key))
			break;
	if (!instance) {
		instance = inject_memory_take(sizeof(*instance));
		if (instance) {
			instance->next = atomic_load(&instances);
			atomic_store(&instances, instance);
		}
	}
	if (instance) {
		instance->handle = handle;
		instance->api = api;
		instance->has_properties2 = has_properties2;
		instance->below.get = get;
		find_instance_functions(instance);
		atomic_store(&instance->key, inject_vulkan_key(handle));
	}
	pthread_mutex_unlock(&adding);
	return instance;
}

void inject_vulkan_instance_remove(struct inject_vulkan_instance *instance)
{
	atomic_store(&instance->key, NULL);
}

struct inject_vulkan_device *inject_vulkan_device_first(void)
{
	return atomic_load(&devices);
}

struct inject_vulkan_device *inject_vulkan_device_find(const void *handle)
{
	void *key = inject_vulkan_key(handle);
	struct inject_vulkan_device *device;

	for (device = atomic_load(&devices); device; device = device->next)
		if (INJECT_LIKELY(atomic_load_explicit(&device->key, memory_order_acquire) == key))
			return device;
	return NULL;
}

struct inject_vulkan_device *inject_vulkan_device_new(void)
{
	struct inject_vulkan_device *device, *next;

	pthread_mutex_lock(&adding);
	for (device = atomic_load(&devices); device; device = device->next)
		if (!atomic_load(&device->key))
			break;
	if (device) {
		next = device->next;
		memset(device, 0, sizeof(*device));
		device->next = next;
		atomic_store(&device->key, &reserved);
	} else {
		device = inject_memory_take(sizeof(*device));
		if (device) {
			device->next = atomic_load(&devices);
			atomic_store(&device->key, &reserved);
			atomic_store(&devices, device);
		}
	}
	pthread_mutex_unlock(&adding);
	return device;
}

static uint32_t type_of(VkPhysicalDeviceType type)
{
	switch (type) {
	case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
	case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
	case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
		return GPUMON_DEVICE_GPU;
	case VK_PHYSICAL_DEVICE_TYPE_CPU:
		return GPUMON_DEVICE_CPU;
	default:
		return GPUMON_DEVICE_OTHER;
	}
}

VkExtensionProperties *inject_vulkan_extensions(const struct inject_vulkan_instance *instance,
						VkPhysicalDevice physical, uint32_t *count)
{
	PFN_vkEnumerateDeviceExtensionProperties ask =
		instance->below.vkEnumerateDeviceExtensionProperties;
	VkExtensionProperties *list;

	*count = 0;
	if (ask(physical, NULL, count, NULL) != VK_SUCCESS)
		return NULL;
	list = calloc(*count + 1, sizeof(*list));
	if (!list || ask(physical, NULL, count, list) < VK_SUCCESS)
		*count = 0;
	return list;
}

bool inject_vulkan_has_extension(const VkExtensionProperties *list, uint32_t count,
				 const char *name)
{
	while (count-- > 0)
		if (strcmp(list[count].extensionName, name) == 0)
			return true;
	return false;
}

/* What only newer functions say: the driver, and where the device is. Returns the driver's number. */
static VkDriverId ask_more(const struct inject_vulkan_instance *instance, VkPhysicalDevice handle,
			   struct inject_vulkan_physical *physical)
{
	VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT,
	};
	VkPhysicalDeviceDriverProperties driver = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
	};
	VkPhysicalDeviceIDProperties ids = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
		.pNext = &driver,
	};
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
		.pNext = &ids,
	};
	VkExtensionProperties *list;
	uint32_t count;

	if (!instance->has_properties2 || !instance->below.vkGetPhysicalDeviceProperties2)
		return 0;
	list = inject_vulkan_extensions(instance, handle, &count);
	if (inject_vulkan_has_extension(list, count, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
		driver.pNext = &pci;
	free(list);
	instance->below.vkGetPhysicalDeviceProperties2(handle, &all);
	memcpy(physical->uuid, ids.deviceUUID, sizeof(physical->uuid));
	if (driver.pNext)
		physical->pci = pci.pciDomain << 16 | pci.pciBus << 8 | pci.pciDevice << 3;
	snprintf(physical->driver, sizeof(physical->driver), "%s%s%s", driver.driverName,
		 driver.driverInfo[0] ? " " : "", driver.driverInfo);
	return driver.driverID;
}

static void ask_physical(const struct inject_vulkan_instance *instance, VkPhysicalDevice handle,
			 struct inject_vulkan_physical *physical, double *period_ns,
			 VkDriverId *driver)
{
	VkPhysicalDeviceMemoryProperties memory;
	VkPhysicalDeviceProperties properties;
	uint32_t i;

	memset(physical, 0, sizeof(*physical));
	instance->below.vkGetPhysicalDeviceProperties(handle, &properties);
	instance->below.vkGetPhysicalDeviceMemoryProperties(handle, &memory);
	*period_ns = (double)properties.limits.timestampPeriod;
	physical->api = properties.apiVersion;
	physical->vendor = properties.vendorID;
	physical->type = type_of(properties.deviceType);
	physical->pci = UINT32_MAX;
	memcpy(physical->name, properties.deviceName, sizeof(physical->name));
	physical->name[sizeof(physical->name) - 1] = '\0';
	for (i = 0; i < memory.memoryHeapCount; i++)
		if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
			physical->bytes += memory.memoryHeaps[i].size;
	*driver = ask_more(instance, handle, physical);
}

/* Under the lock. Two equal GPUs of a driver that has no UUIDs are one here. */
static struct inject_vulkan_physical *keep_physical(const struct inject_vulkan_physical *asked)
{
	struct inject_vulkan_physical *physical = physicals;
	uint32_t i;

	for (i = 0; i < physical_count; i++, physical++)
		if (!memcmp(physical->uuid, asked->uuid, sizeof(asked->uuid)) &&
		    physical->pci == asked->pci && !strcmp(physical->name, asked->name))
			return physical;
	if (physical_count == INJECT_VULKAN_PHYSICALS)
		return NULL;
	*physical = *asked;
	physical->id = INJECT_VULKAN_ID(physical_count++);
	return physical;
}

/* A type of memory that the host sees as it is. */
static bool find_host_type(const struct inject_vulkan_instance *instance,
			   VkPhysicalDevice physical, uint32_t *type)
{
	const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
					     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkPhysicalDeviceMemoryProperties memory;

	instance->below.vkGetPhysicalDeviceMemoryProperties(physical, &memory);
	for (*type = 0; *type < memory.memoryTypeCount; ++*type)
		if ((memory.memoryTypes[*type].propertyFlags & wanted) == wanted)
			return true;
	return false;
}

static void find_device_functions(struct inject_vulkan_device *device)
{
#define FIND(name) device->below.name = (PFN_##name)device->below.get(device->handle, #name);
	INJECT_VULKAN_OF_DEVICE(FIND)
#undef FIND
}

void inject_vulkan_device_add(struct inject_vulkan_device *device, VkDevice handle,
			      const struct inject_vulkan_instance *instance,
			      VkPhysicalDevice physical)
{
	struct inject_vulkan_physical asked;
	VkDriverId driver;

	device->handle = handle;
	find_device_functions(device);
	ask_physical(instance, physical, &asked, &device->period_ns, &driver);
	device->copies_times = driver == VK_DRIVER_ID_MESA_LLVMPIPE &&
			       find_host_type(instance, physical, &device->host_type);
	if (device->copies_times)
		device->below.reset = NULL;
	device->families = INJECT_VULKAN_FAMILIES;
	instance->below.vkGetPhysicalDeviceQueueFamilyProperties(physical, &device->families,
								 device->family);
	device->bits = 64;
	for (uint32_t i = 0; i < device->families; i++)
		if (device->family[i].timestampValidBits &&
		    device->family[i].timestampValidBits < device->bits)
			device->bits = device->family[i].timestampValidBits;
	pthread_mutex_lock(&adding);
	device->physical = keep_physical(&asked);
	device->context = INJECT_VULKAN_ID(++context_count);
	pthread_mutex_unlock(&adding);
	atomic_store(&device->key, inject_vulkan_key(handle));
}

void inject_vulkan_device_remove(struct inject_vulkan_device *device)
{
	struct inject_vulkan_queue *queue = atomic_exchange(&device->queues, NULL), *next;

	for (; queue; queue = next) {
		next = queue->next;
		pthread_mutex_destroy(&queue->adding);
		inject_memory_give(queue, sizeof(*queue));
	}
	atomic_store(&device->key, NULL);
}

struct inject_vulkan_queue *inject_vulkan_queue_find(const struct inject_vulkan_device *device,
						     VkQueue handle)
{
	struct inject_vulkan_queue *queue = atomic_load(&device->queues);

	while (queue && queue->handle != handle)
		queue = queue->next;
	return queue;
}

/* Command buffers are reset by the host, or else by a command that needs one of these. */
bool inject_vulkan_family_is_timed(const struct inject_vulkan_device *device, uint32_t family)
{
	const VkQueueFamilyProperties *of = &device->family[family];

	return !device->untimed && family < device->families && of->timestampValidBits &&
	       device->period_ns > 0 &&
	       (device->below.reset ||
		(of->queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)));
}

void inject_vulkan_queue_add(struct inject_vulkan_device *device, VkQueue handle, uint32_t family,
			     uint32_t index)
{
	struct inject_vulkan_queue *queue;

	if (!handle || family >= INJECT_VULKAN_FAMILIES)
		return;
	pthread_mutex_lock(&adding);
	queue = inject_vulkan_queue_find(device, handle) ? NULL :
							   inject_memory_take(sizeof(*queue));
	if (queue) {
		memset(queue, 0, sizeof(*queue));
		queue->next = atomic_load(&device->queues);
		queue->device = device;
		queue->handle = handle;
		queue->id = INJECT_VULKAN_ID(++queue_count);
		queue->family = family;
		queue->index = index;
		queue->flags = device->family[family].queueFlags;
		queue->is_timed = inject_vulkan_family_is_timed(device, family);
		queue->last = &queue->first;
		pthread_mutex_init(&queue->adding, NULL);
		atomic_store(&device->queues, queue);
	}
	pthread_mutex_unlock(&adding);
}

static const char *vendor_name(uint32_t vendor)
{
	switch (vendor) {
	case 0x1002:
		return "AMD";
	case 0x1010:
		return "Imagination";
	case 0x10de:
		return "NVIDIA";
	case 0x13b5:
		return "Arm";
	case 0x5143:
		return "Qualcomm";
	case 0x8086:
		return "Intel";
	case VK_VENDOR_ID_MESA:
		return "Mesa";
	default:
		return NULL;
	}
}

static void write_api(struct inject_thread *thread, const struct inject_vulkan_physical *physical)
{
	static _Atomic uint32_t written_in;
	char version[32];

	if (!inject_first_in_capture(&written_in))
		return;
	snprintf(version, sizeof(version), "%u.%u.%u", VK_API_VERSION_MAJOR(physical->api),
		 VK_API_VERSION_MINOR(physical->api), VK_API_VERSION_PATCH(physical->api));
	inject_api_write(thread, GPUMON_API_VULKAN, "Vulkan", version, NULL);
}

static void write_device(struct inject_thread *thread,
			 const struct inject_vulkan_physical *physical)
{
	struct gpumon_record_device record = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(record) },
		.id = physical->id,
		.name = inject_intern_string(thread, physical->name),
		.pci = physical->pci,
		.memory_bytes = physical->bytes,
		.type = physical->type,
		.vendor = inject_intern_string(thread, vendor_name(physical->vendor)),
		.driver =
			inject_intern_string(thread, physical->driver[0] ? physical->driver : NULL),
	};

	memcpy(record.uuid, physical->uuid, sizeof(record.uuid));
	inject_append(thread, &record);
}

static void write_stream(struct inject_thread *thread, const struct inject_vulkan_queue *queue)
{
	const struct gpumon_record_context of_context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(of_context) },
		.time_ns = inject_now(),
		.id = queue->device->context,
		.device = queue->device->physical->id,
	};
	struct gpumon_record_stream of_stream = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(of_stream) },
		.context = queue->device->context,
		.id = queue->id,
	};
	char name[160];

	snprintf(name, sizeof(name), "%s%sfamily %u queue %u%s%s%s", queue->name,
		 queue->name[0] ? ", " : "", queue->family, queue->index,
		 queue->flags & VK_QUEUE_GRAPHICS_BIT ? " graphics" : "",
		 queue->flags & VK_QUEUE_COMPUTE_BIT ? " compute" : "",
		 queue->flags & VK_QUEUE_TRANSFER_BIT ? " transfer" : "");
	of_stream.name = inject_intern_string(thread, name);
	inject_append(thread, &of_context);
	inject_append(thread, &of_stream);
}

void inject_vulkan_queue_name(struct inject_vulkan_queue *queue, const char *text)
{
	struct inject_thread *thread;
	bool is_written;

	memcpy(queue->name, text, strnlen(text, sizeof(queue->name) - 1) + 1);
	thread = inject_thread_enter(true);
	if (!thread)
		return;
	is_written = atomic_load(&queue->generation) == atomic_load(&inject_session.generation);
	if (is_written)
		write_stream(thread, queue);
	inject_thread_leave(thread);
}

void inject_vulkan_records(struct inject_thread *thread, struct inject_vulkan_queue *queue)
{
	uint32_t generation =
		atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	struct inject_vulkan_physical *physical = queue->device->physical;

	if (INJECT_LIKELY(atomic_load_explicit(&queue->generation, memory_order_relaxed) ==
			  generation) ||
	    !inject_first_in_capture(&queue->generation))
		return;
	if (inject_first_in_capture(&physical->generation)) {
		write_api(thread, physical);
		write_device(thread, physical);
	}
	write_stream(thread, queue);
}

void inject_vulkan_objects_forked(void)
{
	struct inject_vulkan_device *device;
	struct inject_vulkan_queue *queue;

	pthread_mutex_init(&adding, NULL);
	for (device = atomic_load(&devices); device; device = device->next) {
		device->is_inherited = true;
		for (queue = atomic_load(&device->queues); queue; queue = queue->next)
			pthread_mutex_init(&queue->adding, NULL);
	}
}
