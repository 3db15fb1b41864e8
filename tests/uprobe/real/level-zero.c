// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Level Zero: two threads, each with a queue and a list of commands. */
#include <level_zero/ze_api.h>

#include "real.h"

#define BYTES 256

const unsigned int threads = 2;

static ze_command_queue_handle_t queues[2];
static ze_command_list_handle_t lists[2];
static ze_fence_handle_t fences[2];

void before_go(const char *mode)
{
	ze_context_desc_t context_is = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue_is = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_desc_t list_is = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_fence_desc_t fence_is = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	uint32_t count = 1;

	(void)mode;
	NEED(!zeInit(0));
	NEED(!zeDriverGet(&count, &driver) && count == 1);
	NEED(!zeDeviceGet(driver, &count, &device) && count == 1);
	NEED(!zeContextCreate(driver, &context_is, &context));
	for (unsigned int i = 0; i < threads; i++) {
		NEED(!zeCommandQueueCreate(context, device, &queue_is, &queues[i]));
		NEED(!zeCommandListCreate(context, device, &list_is, &lists[i]));
		NEED(!zeFenceCreate(queues[i], &fence_is, &fences[i]));
	}
}

void after_go(const char *mode)
{
	(void)mode;
}

void work(unsigned int thread)
{
	ze_command_list_handle_t list = lists[thread];
	ze_command_queue_handle_t queue = queues[thread];
	ze_kernel_handle_t kernel = (void *)(uintptr_t)1;
	ze_group_count_t groups = { 1, 1, 1 };
	char from[BYTES] = { 0 }, to[BYTES];

	for (unsigned int i = 0; i < 3; i++)
		NEED(!CALL(zeCommandListAppendLaunchKernel, list, kernel, &groups, NULL, 0, NULL));
	NEED(!CALL(zeCommandListAppendMemoryCopy, list, to, from, BYTES, NULL, 0, NULL));
	NEED(!CALL(zeCommandListAppendMemoryFill, list, to, from, 1, BYTES, NULL, 0, NULL));
	NEED(!CALL(zeCommandListAppendImageCopyFromMemory, list, (void *)(uintptr_t)2, from, NULL,
		   NULL, 0, NULL));
	/* Not probed: it moves nothing. */
	NEED(!zeCommandListAppendBarrier(list, NULL, 0, NULL));
	NEED(!zeCommandListClose(list));
	NEED(!CALL(zeCommandQueueExecuteCommandLists, queue, 1, &list, fences[thread]));
	NEED(!CALL(zeFenceHostSynchronize, fences[thread], UINT64_MAX));
	NEED(!CALL(zeCommandQueueSynchronize, queue, UINT64_MAX));
	NEED(!zeCommandListReset(list));
}
