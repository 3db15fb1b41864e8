// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Commands of the driver of these tests: they are kept in lists, and take their times. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

#define NEVER	  UINT64_MAX
#define BEFORE_NS 2000u

enum what {
	RUN,	/* takes time */
	RESET,	/* of an event */
	SIGNAL, /* of an event, takes no time */
};

struct command {
	enum what what;
	uint64_t takes;
	struct event *event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long commands;

void say(const char *format, uint64_t a, uint64_t b)
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
	uint64_t until;

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
	until = list->immediate && list->immediate->is_synchronous ? list->immediate->busy_until :
								     0;
	pthread_mutex_unlock(&lock);
	while (now_ns() < until)
		;
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

/* What they wait for is done in order anyway. */

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
