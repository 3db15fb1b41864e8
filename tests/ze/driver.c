// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A driver for Level Zero's loader (ZE_ENABLE_ALT_DRIVERS). Its device computes nothing, but each
 * command takes a known time: a kernel a microsecond for each group, a copy a nanosecond for each
 * byte, a fill half of that. ZE_TEST_LOG=FILE gets a line "START END" for each, CLOCK_MONOTONIC ns.
 * Like Intel's, it exports its functions, too.
 *
 * ZE_TEST_TIMES: what it says of times: "backwards", "early", "late", "zero", "refused".
 * ZE_TEST_STATUS: what it says of events, as a number.
 * ZE_TEST_HANG: the command with this number, from 1 on, and those behind it never end.
 */
#include <errno.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* A clock of its own, as Intel's: 19.2 MHz, and times of events wrap around every 224 s. */
#define HERTZ	    19200000u
#define CLOCK_AHEAD 5000000000000u
#define KERNEL_BITS 32

/* In headers that are newer than Debian 12's. */
#define MAPPED_TIMESTAMP (1u << 3)

struct kernel {
	char name[64];
};

struct memory {
	struct memory *next;
	char *bytes;
	size_t size;
	ze_memory_type_t type;
};

static uint64_t driver_object[2], device_object[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;

static uint64_t to_cycles(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)(ns + CLOCK_AHEAD) * HERTZ / 1000000000);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/* Waits at most @timeout ns. */
static ze_result_t wait_for(uint64_t end, uint64_t timeout)
{
	uint64_t now = now_ns();

	if (end <= now)
		return ZE_RESULT_SUCCESS;
	if (timeout != UINT64_MAX && end - now > timeout) {
		sleep_until(now + timeout);
		return ZE_RESULT_NOT_READY;
	}
	sleep_until(end);
	return ZE_RESULT_SUCCESS;
}

/* --- driver and device */

HERE ze_result_t zeInit(ze_init_flags_t flags)
{
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (*count && drivers)
		drivers[0] = (ze_driver_handle_t)driver_object;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t *version)
{
	*version = ZE_API_VERSION_1_4;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDriverGetProperties(ze_driver_handle_t driver,
				       ze_driver_properties_t *properties)
{
	properties->driverVersion = 4711;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count,
			     ze_device_handle_t *devices)
{
	if (*count && devices)
		devices[0] = (ze_device_handle_t)device_object;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDeviceGetProperties(ze_device_handle_t device,
				       ze_device_properties_t *properties)
{
	ze_structure_type_t type = properties->stype;

	*properties = (ze_device_properties_t){
		.stype = type,
		.type = ZE_DEVICE_TYPE_GPU,
		.vendorId = 0x8086,
		.numSlices = 4,
		.numSubslicesPerSlice = 8,
		.timerResolution = type == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? HERTZ : 52,
		.timestampValidBits = 64,
		.kernelTimestampValidBits = KERNEL_BITS,
		.uuid.id = "0123456789abcdef",
		.name = "Test GPU",
	};
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t device, uint32_t *count,
					     ze_device_memory_properties_t *properties)
{
	*count = 1;
	if (properties)
		properties->totalSize = 1ull << 30;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host,
					     uint64_t *timestamp)
{
	struct timespec raw;

	/* As Intel's driver, which does not say so. */
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	*host = (uint64_t)raw.tv_sec * 1000000000 + (uint64_t)raw.tv_nsec;
	*timestamp = to_cycles(now_ns());
	return ZE_RESULT_SUCCESS;
}

/* --- objects: all are memory, so that a sanitizer sees what is used too late */

#define MAKE(type, ...)                                      \
	({                                                   \
		struct type *made_ = malloc(sizeof(*made_)); \
		*made_ = (struct type){ __VA_ARGS__ };       \
		made_;                                       \
	})

static void count_in(int *counter, int change)
{
	__atomic_fetch_add(counter, change, __ATOMIC_RELAXED);
}

HERE ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *description,
				 ze_context_handle_t *context)
{
	*context = (void *)MAKE(context, 0);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeContextDestroy(ze_context_handle_t handle)
{
	struct context *context = (struct context *)handle;

	if (context->pools || context->events || context->fences)
		say("left %lu of %lu\n", (uint64_t)(context->pools + context->events),
		    (uint64_t)context->fences);
	free(context);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
				      const ze_command_queue_desc_t *description,
				      ze_command_queue_handle_t *queue)
{
	*queue = (void *)MAKE(queue, .context = (struct context *)context);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t queue)
{
	free(queue);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	return wait_for(((struct queue *)queue)->busy_until, timeout);
}

HERE ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
				     const ze_command_list_desc_t *description,
				     ze_command_list_handle_t *list)
{
	*list = (void *)MAKE(list, 0);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context,
					      ze_device_handle_t device,
					      const ze_command_queue_desc_t *description,
					      ze_command_list_handle_t *list)
{
	struct queue *queue =
		MAKE(queue, .context = (struct context *)context,
		     .is_synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);

	*list = (void *)MAKE(list, .immediate = queue);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle)
{
	struct list *list = (struct list *)handle;

	free(list->immediate);
	free(list->commands);
	free(list);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandListClose(ze_command_list_handle_t list)
{
	((struct list *)list)->is_closed = true;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeCommandListReset(ze_command_list_handle_t handle)
{
	struct list *list = (struct list *)handle;

	list->is_closed = false;
	list->count = 0;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t *description,
			       ze_fence_handle_t *fence)
{
	*fence = (void *)MAKE(fence, (struct queue *)queue, 0);
	count_in(&((struct queue *)queue)->context->fences, 1);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeFenceDestroy(ze_fence_handle_t fence)
{
	count_in(&((struct fence *)fence)->queue->context->fences, -1);
	free(fence);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeFenceReset(ze_fence_handle_t fence)
{
	/* The device would signal it later. */
	if (((struct fence *)fence)->end > now_ns())
		say("left %lu of %lu\n", ((struct fence *)fence)->end, now_ns());
	((struct fence *)fence)->end = 0;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeFenceQueryStatus(ze_fence_handle_t handle)
{
	uint64_t end = ((struct fence *)handle)->end;

	return end && end <= now_ns() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

HERE ze_result_t zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout)
{
	return wait_for(((struct fence *)fence)->end, timeout);
}

HERE ze_result_t zeEventPoolCreate(ze_context_handle_t context,
				   const ze_event_pool_desc_t *description, uint32_t count,
				   ze_device_handle_t *devices, ze_event_pool_handle_t *pool)
{
	if (description->flags & MAPPED_TIMESTAMP &&
	    description->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	*pool = (void *)MAKE(pool, description->flags, (struct context *)context);
	count_in(&((struct context *)context)->pools, 1);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool)
{
	count_in(&((struct pool *)pool)->context->pools, -1);
	free(pool);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *description,
			       ze_event_handle_t *event)
{
	*event = (void *)MAKE(event, .pool = (struct pool *)pool);
	count_in(&((struct pool *)pool)->context->events, 1);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventDestroy(ze_event_handle_t event)
{
	count_in(&((struct event *)event)->pool->context->events, -1);
	free(event);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventHostSignal(ze_event_handle_t event)
{
	((struct event *)event)->is_signalled = true;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventHostReset(ze_event_handle_t handle)
{
	struct event *event = (struct event *)handle;

	event->is_signalled = false;
	event->start = event->end = 0;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventQueryStatus(ze_event_handle_t handle)
{
	const struct event *event = (const struct event *)handle;
	const char *status = getenv("ZE_TEST_STATUS");

	/* As where a driver writes a log. */
	pthread_testcancel();
	if (status)
		return (ze_result_t)strtoul(status, NULL, 0);
	return event->is_signalled && event->end <= now_ns() ? ZE_RESULT_SUCCESS :
							       ZE_RESULT_NOT_READY;
}

HERE ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout)
{
	return wait_for(((struct event *)event)->end, timeout);
}

static ze_result_t distort(const char *how, ze_kernel_timestamp_data_t *data)
{
	/* More than a busy machine holds up a thread, and less than half of the clock's range. */
	uint64_t minute = 60ull * HERTZ, start = data->kernelStart;

	if (strcmp(how, "refused") == 0)
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	if (strcmp(how, "zero") == 0) {
		data->kernelStart = data->kernelEnd = 0;
	} else if (strcmp(how, "backwards") == 0) {
		data->kernelStart = data->kernelEnd;
		data->kernelEnd = start - 10;
	} else if (strcmp(how, "early") == 0) {
		data->kernelStart -= minute;
		data->kernelEnd -= minute;
	} else if (strcmp(how, "late") == 0) {
		data->kernelStart += minute;
		data->kernelEnd += minute;
	}
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t handle,
					     ze_kernel_timestamp_result_t *result)
{
	const uint64_t mask = (1ull << KERNEL_BITS) - 1;
	const struct event *event = (const struct event *)handle;
	const char *how = getenv("ZE_TEST_TIMES");
	ze_result_t status = ZE_RESULT_SUCCESS;

	if (!(event->pool->flags & (ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | MAPPED_TIMESTAMP)))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (zeEventQueryStatus(handle) != ZE_RESULT_SUCCESS)
		return ZE_RESULT_NOT_READY;
	result->global.kernelStart = to_cycles(event->start);
	result->global.kernelEnd = to_cycles(event->end);
	if (how)
		status = distort(how, &result->global);
	result->global.kernelStart &= mask;
	result->global.kernelEnd &= mask;
	result->context = result->global;
	return status;
}

/* --- memory */

static ze_result_t allocate(ze_memory_type_t type, size_t size, void **pointer)
{
	struct memory *memory = MAKE(memory, memories, calloc(1, size), size, type);

	pthread_mutex_lock(&lock);
	memory->next = memories;
	memories = memory;
	pthread_mutex_unlock(&lock);
	*pointer = memory->bytes;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeMemAllocDevice(ze_context_handle_t context,
				  const ze_device_mem_alloc_desc_t *description, size_t size,
				  size_t alignment, ze_device_handle_t device, void **pointer)
{
	return allocate(ZE_MEMORY_TYPE_DEVICE, size, pointer);
}

HERE ze_result_t zeMemAllocHost(ze_context_handle_t context,
				const ze_host_mem_alloc_desc_t *description, size_t size,
				size_t alignment, void **pointer)
{
	return allocate(ZE_MEMORY_TYPE_HOST, size, pointer);
}

HERE ze_result_t zeMemGetAllocProperties(ze_context_handle_t context, const void *pointer,
					 ze_memory_allocation_properties_t *properties,
					 ze_device_handle_t *device)
{
	const struct memory *memory;

	properties->type = ZE_MEMORY_TYPE_UNKNOWN;
	pthread_mutex_lock(&lock);
	for (memory = memories; memory; memory = memory->next)
		if ((const char *)pointer >= memory->bytes &&
		    (const char *)pointer < memory->bytes + memory->size)
			properties->type = memory->type;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

/* --- kernels */

HERE ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
				const ze_module_desc_t *description, ze_module_handle_t *module,
				ze_module_build_log_handle_t *log)
{
	*module = (ze_module_handle_t)device_object;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *description,
				ze_kernel_handle_t *kernel)
{
	struct kernel *made = MAKE(kernel, { 0 });

	snprintf(made->name, sizeof(made->name), "%s", description->pKernelName);
	*kernel = (ze_kernel_handle_t)made;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeKernelDestroy(ze_kernel_handle_t kernel)
{
	free(kernel);
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	return x && y && z ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
}

/* Of handles that the tests of uprobes make up, too. */
HERE ze_result_t zeKernelGetName(ze_kernel_handle_t kernel, size_t *size, char *name)
{
	if ((uintptr_t)kernel < 4096)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	snprintf(name, *size, "%s", ((struct kernel *)kernel)->name);
	return ZE_RESULT_SUCCESS;
}

#include "tables.h"
