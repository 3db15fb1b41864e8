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
#include <fcntl.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Most calls need only some of what they are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define HERE __attribute__((visibility("default")))

/* A clock of its own, as Intel's: 19.2 MHz, and times of events wrap around every 224 s. */
#define HERTZ	    19200000u
#define CLOCK_AHEAD 5000000000000u
#define KERNEL_BITS 32

#define NEVER	  UINT64_MAX
#define BEFORE_NS 2000u

enum what {
	RUN,	/* takes time */
	RESET,	/* of an event */
	SIGNAL, /* of an event, takes no time */
};

/* In headers that are newer than Debian 12's. */
#define MAPPED_TIMESTAMP (1u << 3)

/* An object that commands are put into, or that they signal. */
struct pool {
	ze_event_pool_flags_t flags;
	struct context *context;
};

struct event {
	struct pool *pool;
	uint64_t start, end; /* 0: not signalled */
	bool is_signalled;
};

struct context {
	int pools, events, fences;
};

struct queue {
	struct context *context;
	uint64_t busy_until;
};

struct fence {
	struct queue *queue;
	uint64_t end;
};

struct command {
	enum what what;
	uint64_t takes;
	struct event *event;
};

struct list {
	struct queue *immediate;
	bool is_closed;
	struct command *commands;
	size_t count, room;
};

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
static long commands;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t to_cycles(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)(ns + CLOCK_AHEAD) * HERTZ / 1000000000);
}

static void say(const char *format, uint64_t a, uint64_t b)
{
	const char *path = getenv("ZE_TEST_LOG");
	char text[80];
	int fd, length;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	length = snprintf(text, sizeof(text), format, (unsigned long)a, (unsigned long)b);
	if (fd < 0 || write(fd, text, (size_t)length) != length)
		abort();
	close(fd);
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

/* Under the lock. */
static void run(struct queue *queue, const struct command *command)
{
	const char *hang = getenv("ZE_TEST_HANG");
	struct event *event = command->event;
	uint64_t start = now_ns();

	if (event && command->what == RESET) {
		event->start = event->end = 0;
		event->is_signalled = false;
		return;
	}
	if (queue->busy_until > start)
		start = queue->busy_until;
	if (command->what == SIGNAL) {
		if (event) {
			event->end = start;
			event->is_signalled = true;
		}
		return;
	}
	if ((hang && ++commands >= atol(hang)) || queue->busy_until == NEVER) {
		queue->busy_until = NEVER;
		if (event) {
			event->end = NEVER;
			event->is_signalled = true;
		}
		return;
	}
	start += BEFORE_NS;
	queue->busy_until = start + command->takes;
	say("%lu %lu\n", start, queue->busy_until);
	if (event) {
		event->start = start;
		event->end = queue->busy_until;
		event->is_signalled = true;
	}
}

static ze_result_t append(ze_command_list_handle_t handle, enum what what, uint64_t takes,
			  ze_event_handle_t event)
{
	struct command command = { what, takes, (struct event *)event };
	struct list *list = (struct list *)handle;

	pthread_mutex_lock(&lock);
	if (list->immediate) {
		run(list->immediate, &command);
	} else {
		if (list->count == list->room) {
			list->room = list->room ? 2 * list->room : 16;
			list->commands =
				realloc(list->commands, list->room * sizeof(*list->commands));
		}
		list->commands[list->count++] = command;
	}
	pthread_mutex_unlock(&lock);
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
	*queue = (void *)MAKE(queue, (struct context *)context, 0);
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
	struct queue *queue = MAKE(queue, .context = (struct context *)context);

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

HERE ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t count,
						   ze_command_list_handle_t *lists,
						   ze_fence_handle_t fence)
{
	struct queue *queue = (struct queue *)handle;
	const struct list *list;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++) {
		list = (const struct list *)lists[i];
		if (!list->is_closed || list->immediate) {
			pthread_mutex_unlock(&lock);
			return ZE_RESULT_ERROR_INVALID_ARGUMENT;
		}
		for (size_t at = 0; at < list->count; at++)
			run(queue, &list->commands[at]);
	}
	if (fence)
		((struct fence *)fence)->end = queue->busy_until ? queue->busy_until : 1;
	pthread_mutex_unlock(&lock);
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

/* --- commands. What they wait for is done in order anyway. */

#define WAIT ze_event_handle_t event, uint32_t count, ze_event_handle_t *events

#define LAUNCHES(name)                                                                  \
	HERE ze_result_t name(ze_command_list_handle_t list, ze_kernel_handle_t kernel, \
			      const ze_group_count_t *groups, WAIT)                     \
	{                                                                               \
		if (!groups->groupCountX)                                               \
			return ZE_RESULT_ERROR_INVALID_ARGUMENT;                        \
		return append(list, RUN, groups->groupCountX * 1000ull, event);         \
	}

LAUNCHES(zeCommandListAppendLaunchKernel)
LAUNCHES(zeCommandListAppendLaunchCooperativeKernel)
LAUNCHES(zeCommandListAppendLaunchKernelIndirect)

HERE ze_result_t zeCommandListAppendLaunchMultipleKernelsIndirect(
	ze_command_list_handle_t list, uint32_t number, ze_kernel_handle_t *kernels,
	const uint32_t *counts, const ze_group_count_t *groups, WAIT)
{
	return append(list, RUN, groups->groupCountX * 1000ull, event);
}

HERE ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *to,
					       const void *from, size_t bytes, WAIT)
{
	return append(list, RUN, bytes, event);
}

HERE ze_result_t zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t list, void *to,
						     const ze_copy_region_t *to_region,
						     uint32_t to_pitch, uint32_t to_slice,
						     const void *from,
						     const ze_copy_region_t *from_region,
						     uint32_t from_pitch, uint32_t from_slice, WAIT)
{
	return append(list, RUN, to_region->width * to_region->height, event);
}

HERE ze_result_t zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t list, void *to,
							  ze_context_handle_t context,
							  const void *from, size_t bytes, WAIT)
{
	return append(list, RUN, bytes, event);
}

HERE ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void *to,
					       const void *pattern, size_t pattern_bytes,
					       size_t bytes, WAIT)
{
	return append(list, RUN, bytes / 2, event);
}

HERE ze_result_t zeCommandListAppendImageCopy(ze_command_list_handle_t list, ze_image_handle_t to,
					      ze_image_handle_t from, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendImageCopyRegion(ze_command_list_handle_t list,
						    ze_image_handle_t to, ze_image_handle_t from,
						    const ze_image_region_t *to_region,
						    const ze_image_region_t *from_region, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t list, void *to,
						      ze_image_handle_t from,
						      const ze_image_region_t *region, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t list,
							ze_image_handle_t to, const void *from,
							const ze_image_region_t *region, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t list, void *to,
							 ze_image_handle_t from,
							 const ze_image_region_t *region,
							 uint32_t pitch, uint32_t slice, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t list,
							   ze_image_handle_t to, const void *from,
							   const ze_image_region_t *region,
							   uint32_t pitch, uint32_t slice, WAIT)
{
	return append(list, RUN, 3000, event);
}

HERE ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t list, WAIT)
{
	return append(list, SIGNAL, 0, event);
}

HERE ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t list,
						ze_event_handle_t event)
{
	return append(list, SIGNAL, 0, event);
}

HERE ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t list,
					       ze_event_handle_t event)
{
	return append(list, RESET, 0, event);
}

#include "tables.h"
