/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The program's instances, devices and queues. There are few of each, so they are in lists, which are read
 * without a lock; entries are never freed, and used again for objects that come later.
 */
#ifndef GPUMON_INJECT_VULKAN_OBJECTS_H
#define GPUMON_INJECT_VULKAN_OBJECTS_H

#include "base/threads.h"
#include "channel/clock.h"
#include "vulkan.h"

/**
 * struct inject_vulkan_instance - an instance
 * @next: in the list of all
 * @key: what its handle and those of its physical devices point to; NULL: free
 * @handle: of the program
 * @api: version that the program asked for, VK_API_VERSION_1_0 where it did not
 * @has_properties2: has the functions of VK_KHR_get_physical_device_properties2
 * @below: functions
 */
struct inject_vulkan_instance {
	struct inject_vulkan_instance *next;
	_Atomic(void *) key;
	VkInstance handle;
	uint32_t api;
	bool has_properties2;
	struct inject_vulkan_below_instance below;
};

/* More GPUs than any machine has: those beyond have no record. */
#define INJECT_VULKAN_PHYSICALS 64

/**
 * struct inject_vulkan_physical - a physical device, the same one for all instances of the program
 * @id: in the capture
 * @generation: of the session in which its record was written
 * @api: version
 * @name: as its driver says it
 * @uuid: all 0 where it is not known
 * @vendor: number
 * @type: enum gpumon_device_type
 * @pci: as in the record
 * @bytes: of its own memory
 * @driver: name and version of the driver
 */
struct inject_vulkan_physical {
	uint32_t id;
	_Atomic uint32_t generation;
	uint32_t api;
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
	uint8_t uuid[VK_UUID_SIZE];
	uint32_t vendor;
	uint32_t type;
	uint32_t pci;
	uint64_t bytes;
	char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];
};

struct inject_vulkan_block;
struct inject_vulkan_pool;

/**
 * struct inject_vulkan_queue - a queue
 * @next: of its device
 * @device: that it belongs to
 * @handle: of the program
 * @id: in the capture
 * @family: number
 * @index: in its family
 * @flags: of its family
 * @name: that the program gives it, empty: none
 * @generation: of the session in which its records were written
 * @is_timed: command buffers can be timed in it
 * @adding: taken to add a slot (slots.c), and what follows is under it
 * @pool: of the slots' command buffers
 * @current: block whose slots are given out; NULL: none
 * @first: the oldest block with slots that were not read
 * @last: where the next one goes
 * @free: blocks all of whose slots were read
 * @blocks: how many there are
 * @filled: blocks whose slots were all given out, ever
 */
struct inject_vulkan_queue {
	struct inject_vulkan_queue *next;
	struct inject_vulkan_device *device;
	VkQueue handle;
	uint32_t id;
	uint32_t family;
	uint32_t index;
	VkQueueFlags flags;
	char name[64];
	_Atomic uint32_t generation;
	_Atomic bool is_timed;
	pthread_mutex_t adding;
	VkCommandPool pool;
	struct inject_vulkan_block *current;
	struct inject_vulkan_block *first;
	struct inject_vulkan_block **last;
	struct inject_vulkan_block *free;
	unsigned int blocks;
	unsigned int filled;
};

/* Why no command buffer of a device can be timed. */
enum inject_vulkan_untimed {
	INJECT_VULKAN_TIMED,
	INJECT_VULKAN_SEVERAL, /* the device stands for several physical ones */
	INJECT_VULKAN_NO_DATA, /* its loader has no function that command buffers of a layer need */
};

/* Families of queues; more are not timed. */
#define INJECT_VULKAN_FAMILIES 16

/**
 * struct inject_vulkan_device - a device
 * @next: in the list of all
 * @key: what its handle and those of its queues point to; NULL: free
 * @handle: of the program
 * @physical: NULL where there was no room
 * @context: id in the capture
 * @untimed: whether and why it cannot be timed
 * @is_inherited: of the parent of this child: it is not recorded
 * @is_lost: its driver says so
 * @copies_times: command buffers copy times to memory, because the driver must not be asked: lavapipe 22.3 waits until
 *		  the device has nothing to do, and may do so for ever if the program submits meanwhile
 * @host_type: type of memory that the host sees as it is, if it @copies_times
 * @hides_calibration: the extension is there because of the layer, and the program does not see it
 * @hides_reset: likewise, VK_EXT_host_query_reset
 * @set_data: the loader's, for objects that the layer makes
 * @families: how many
 * @family: properties
 * @bits: of its clock that are valid in all families that have times
 * @period_ns: of its clock
 * @has_monotonic: CLOCK_MONOTONIC can be asked for together with its clock
 * @ticks: its clock, when it was last asked for
 * @ticks_ns: the same in ns; has_ticks says whether there is one
 * @clock: to CLOCK_MONOTONIC
 * @measured_ns: when it was measured
 * @queues: list
 * @has_passes: when it was made, the recorder asked for times inside of command buffers
 * @pools: of the program's command buffers, if it has_passes (passes.c)
 * @below: functions
 */
struct inject_vulkan_device {
	struct inject_vulkan_device *next;
	_Atomic(void *) key;
	VkDevice handle;
	struct inject_vulkan_physical *physical;
	uint32_t context;
	enum inject_vulkan_untimed untimed;
	bool is_inherited;
	_Atomic bool is_lost;
	bool copies_times;
	uint32_t host_type;
	bool hides_calibration;
	bool hides_reset;
	PFN_vkSetDeviceLoaderData set_data;
	uint32_t families;
	VkQueueFamilyProperties family[INJECT_VULKAN_FAMILIES];
	uint32_t bits;
	double period_ns;
	bool has_monotonic;
	bool has_ticks;
	uint64_t ticks;
	uint64_t ticks_ns;
	struct inject_clock clock;
	uint64_t measured_ns;
	_Atomic(struct inject_vulkan_queue *) queues;
	bool has_passes;
	struct inject_vulkan_pool *pools;
	struct inject_vulkan_below below;
};

/* Any handle that is dispatched begins with a pointer of the loader's, the same for all of one device. */
static inline void *inject_vulkan_key(const void *handle)
{
	return *(void *const *)handle;
}

/* Of an instance or physical device; NULL: it was not seen. */
struct inject_vulkan_instance *inject_vulkan_instance_find(const void *handle);

/* A new instance. NULL: no memory. */
struct inject_vulkan_instance *inject_vulkan_instance_add(VkInstance handle,
							  PFN_vkGetInstanceProcAddr get,
							  uint32_t api, bool has_properties2);

/* It is being destroyed. */
void inject_vulkan_instance_remove(struct inject_vulkan_instance *instance);

/* Of a device, queue or command buffer; NULL: it was not seen. */
struct inject_vulkan_device *inject_vulkan_device_find(const void *handle);

/* All devices, also entries without one. */
struct inject_vulkan_device *inject_vulkan_device_first(void);

/* Extensions of a device, for free(); NULL: none. */
VkExtensionProperties *inject_vulkan_extensions(const struct inject_vulkan_instance *instance,
						VkPhysicalDevice physical, uint32_t *count);
bool inject_vulkan_has_extension(const VkExtensionProperties *list, uint32_t count,
				 const char *name);

/* An entry for a device that is yet to be made, all 0 but for its functions. NULL: no memory. */
struct inject_vulkan_device *inject_vulkan_device_new(void);

/* Fills what is known of the physical device, and lets others find it. */
void inject_vulkan_device_add(struct inject_vulkan_device *device, VkDevice handle,
			      const struct inject_vulkan_instance *instance,
			      VkPhysicalDevice physical);

/* An entry whose device is gone, or was never made. */
void inject_vulkan_device_remove(struct inject_vulkan_device *device);

/* Whether command buffers for queues of this family can have times. */
bool inject_vulkan_family_is_timed(const struct inject_vulkan_device *device, uint32_t family);

/* NULL: it was not seen. */
struct inject_vulkan_queue *inject_vulkan_queue_find(const struct inject_vulkan_device *device,
						     VkQueue handle);

/* The program asks for a queue. Without memory it is not recorded. */
void inject_vulkan_queue_add(struct inject_vulkan_device *device, VkQueue handle, uint32_t family,
			     uint32_t index);

/* The program names a queue, empty: no longer. Its record is written again. @text: UTF-8, less than 64 bytes */
void inject_vulkan_queue_name(struct inject_vulkan_queue *queue, const char *text);

/**
 * inject_vulkan_records - write the records of a queue, its context, device and API, once in a capture
 * @thread: caller, within
 * @queue: queue
 */
void inject_vulkan_records(struct inject_thread *thread, struct inject_vulkan_queue *queue);

/* In a child after fork, where Vulkan's objects of its parent do not work. */
void inject_vulkan_objects_forked(void);

#endif /* GPUMON_INJECT_VULKAN_OBJECTS_H */
