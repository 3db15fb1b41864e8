// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The callbacks before and after the program's calls. */
#include <string.h>

#include "callbacks.h"
#include "ze/command.h"
#include "ze/completion.h"

/* Parameters of a callback; @p is a pointer to a structure of pointers to the call's arguments. */
#define BEFORE(name, what)                                                                   \
	static void before_##name(ze_##what##_params_t *p, ze_result_t result, void *tracer, \
				  void **mine)
#define AFTER(name, what)                                                                   \
	static void after_##name(ze_##what##_params_t *p, ze_result_t result, void *tracer, \
				 void **mine)
#define UNUSED() ((void)p, (void)result, (void)tracer, (void)mine)

/* A thread of this library: its calls are not the program's. */
static bool is_ours(void)
{
	return inject_self && inject_self->ours;
}

AFTER(ContextCreate, context_create)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_context_made(**p->pphContext, *p->phDriver);
}

BEFORE(ContextDestroy, context_destroy)
{
	struct inject_ze_context *context = inject_ze_context_find(*p->phContext);

	UNUSED();
	if (!context)
		return;
	inject_ze_completion_before(context);
	inject_ze_events_end(context);
}

AFTER(QueueCreate, command_queue_create)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_queue_made(**p->pphCommandQueue, *p->phContext, *p->phDevice,
				     *p->pdesc);
}

BEFORE(QueueDestroy, command_queue_destroy)
{
	struct inject_ze_queue *queue = inject_ze_queue_find(*p->phCommandQueue);

	UNUSED();
	if (!queue)
		return;
	inject_ze_completion_before(queue);
	inject_ze_fences_end(queue);
}

AFTER(ListCreate, command_list_create)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_list_made(**p->pphCommandList, *p->phContext, *p->phDevice, NULL);
}

AFTER(ListCreateImmediate, command_list_create_immediate)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_list_made(**p->pphCommandList, *p->phContext, *p->phDevice,
				    *p->paltdesc);
}

static void end_list(ze_command_list_handle_t handle)
{
	struct inject_ze_list *list = inject_ze_list_find(handle);

	if (!list)
		return;
	if (list->queue) {
		list->spare = inject_ze_completion_before(list->queue) ? list->queue : NULL;
		return;
	}
	inject_ze_completion_before(list);
	inject_ze_list_empty(list);
}

BEFORE(ListDestroy, command_list_destroy)
{
	UNUSED();
	end_list(*p->phCommandList);
}

BEFORE(ListReset, command_list_reset)
{
	UNUSED();
	end_list(*p->phCommandList);
}

AFTER(KernelCreate, kernel_create)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_kernel_made(**p->pphKernel, (*p->pdesc)->pKernelName);
}

AFTER(KernelSetGroupSize, kernel_set_group_size)
{
	struct inject_ze_kernel *kernel = inject_ze_kernel_find(*p->phKernel);

	UNUSED();
	if (result != ZE_RESULT_SUCCESS || !kernel)
		return;
	kernel->local[0] = *p->pgroupSizeX;
	kernel->local[1] = *p->pgroupSizeY;
	kernel->local[2] = *p->pgroupSizeZ;
}

/* Times in the host's time: ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP, which older headers lack. */
#define MAPPED_TIMESTAMP (1u << 3)

/*
 * The program's events say times, too, and the host can ask them. A pool that other processes use
 * stays as it is, since such pools may have no times. One with mapped times has times already, and may
 * not have the other flag.
 */
BEFORE(PoolCreate, event_pool_create)
{
	struct inject_thread *thread;
	ze_event_pool_desc_t *changed;

	(void)result;
	(void)tracer;
	*mine = NULL;
	if (is_ours() || !*p->pdesc || (*p->pdesc)->flags & ZE_EVENT_POOL_FLAG_IPC ||
	    !atomic_load(&inject_session.is_open) || inject_session.record & GPUMON_RECORD_NO_TIMES)
		return;
	thread = inject_thread_get();
	if (!thread)
		return;
	_Static_assert(sizeof(*changed) <= sizeof(thread->scratch), "larger than its room");
	changed = (void *)thread->scratch;
	memcpy(changed, *p->pdesc, sizeof(*changed));
	changed->flags |= ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
	if (!(changed->flags & MAPPED_TIMESTAMP))
		changed->flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
	*p->pdesc = changed;
}

AFTER(PoolCreate, event_pool_create)
{
	const ze_event_pool_flags_t timed = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | MAPPED_TIMESTAMP;
	ze_event_pool_flags_t flags;

	UNUSED();
	if (result != ZE_RESULT_SUCCESS || is_ours())
		return;
	flags = (*p->pdesc)->flags;
	inject_ze_event_pool_made(**p->pphEventPool,
				  flags & timed && flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
}

AFTER(EventCreate, event_create)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS && !is_ours())
		inject_ze_their_event_made(**p->pphEvent, *p->phEventPool);
}

static void end_event(ze_event_handle_t handle, bool is_destroyed)
{
	struct inject_ze_their_event *event = is_ours() ? NULL : inject_ze_their_event_find(handle);

	if (!event)
		return;
	if (atomic_load(&event->waited) || atomic_load(&event->is_in_list))
		inject_ze_completion_their_event(event);
	if (is_destroyed) {
		atomic_store(&event->is_in_list, false);
		atomic_fetch_add(&event->version, 1);
	}
}

BEFORE(EventDestroy, event_destroy)
{
	UNUSED();
	end_event(*p->phEvent, true);
}

BEFORE(EventHostReset, event_host_reset)
{
	UNUSED();
	end_event(*p->phEvent, false);
}

/* A fence of the program: executions that wait for it are done by now. */
BEFORE(FenceDestroy, fence_destroy)
{
	UNUSED();
	if (!is_ours())
		inject_ze_completion_fence(*p->phFence);
}

BEFORE(FenceReset, fence_reset)
{
	UNUSED();
	if (!is_ours())
		inject_ze_completion_fence(*p->phFence);
}

static void set_objects(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	after->Context.pfnCreateCb = after_ContextCreate;
	before->Context.pfnDestroyCb = before_ContextDestroy;
	after->CommandQueue.pfnCreateCb = after_QueueCreate;
	before->CommandQueue.pfnDestroyCb = before_QueueDestroy;
	after->CommandList.pfnCreateCb = after_ListCreate;
	after->CommandList.pfnCreateImmediateCb = after_ListCreateImmediate;
	before->CommandList.pfnDestroyCb = before_ListDestroy;
	before->CommandList.pfnResetCb = before_ListReset;
	after->Kernel.pfnCreateCb = after_KernelCreate;
	after->Kernel.pfnSetGroupSizeCb = after_KernelSetGroupSize;
	before->EventPool.pfnCreateCb = before_PoolCreate;
	after->EventPool.pfnCreateCb = after_PoolCreate;
	after->Event.pfnCreateCb = after_EventCreate;
	before->Event.pfnDestroyCb = before_EventDestroy;
	before->Event.pfnHostResetCb = before_EventHostReset;
	before->Fence.pfnDestroyCb = before_FenceDestroy;
	before->Fence.pfnResetCb = before_FenceReset;
}

/* Executions of lists, calls that wait, and commands that give a device nothing to do. */

BEFORE(Execute, command_queue_execute_command_lists)
{
	UNUSED();
	inject_ze_execute_begin(*p->phCommandQueue, *p->pnumCommandLists, *p->pphCommandLists,
				p->phFence, mine);
}

AFTER(Execute, command_queue_execute_command_lists)
{
	UNUSED();
	inject_ze_execute_end(*p->phCommandQueue, *p->pnumCommandLists, *p->pphCommandLists,
			      *p->phFence, result, *mine);
}

/* A list may be executed again at once, which overwrites its times. */
BEFORE(QueueSynchronize, command_queue_synchronize)
{
	UNUSED();
	inject_ze_wait_begin(INJECT_zeCommandQueueSynchronize, *p->ptimeout, mine);
}

AFTER(QueueSynchronize, command_queue_synchronize)
{
	UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_completion_after_wait(inject_ze_queue_find(*p->phCommandQueue));
}

BEFORE(FenceSynchronize, fence_host_synchronize)
{
	UNUSED();
	inject_ze_wait_begin(INJECT_zeFenceHostSynchronize, *p->ptimeout, mine);
}

AFTER(FenceSynchronize, fence_host_synchronize)
{
	UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_completion_after_wait(NULL);
}

BEFORE(EventSynchronize, event_host_synchronize)
{
	UNUSED();
	inject_ze_wait_begin(INJECT_zeEventHostSynchronize, *p->ptimeout, mine);
}

AFTER(EventSynchronize, event_host_synchronize)
{
	UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_completion_after_wait(NULL);
}

/* A program may ask until it is so, instead of waiting. */
AFTER(EventQueryStatus, event_query_status)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS && !is_ours())
		inject_ze_completion_after_wait(NULL);
}

AFTER(FenceQueryStatus, fence_query_status)
{
	UNUSED();
	if (result == ZE_RESULT_SUCCESS && !is_ours())
		inject_ze_completion_after_wait(NULL);
}

/* Parameters of a function of loaders that may be newer than the headers, for immediate lists. */
struct list_synchronize {
	ze_command_list_handle_t *list;
	uint64_t *timeout;
};

typedef void list_synchronize_fn(struct list_synchronize *p, ze_result_t result, void *tracer,
				 void **mine);

static void before_ListSynchronize(struct list_synchronize *p, ze_result_t result, void *tracer,
				   void **mine)
{
	UNUSED();
	inject_ze_wait_begin(INJECT_zeCommandListHostSynchronize, *p->timeout, mine);
}

static void after_ListSynchronize(struct list_synchronize *p, ze_result_t result, void *tracer,
				  void **mine)
{
	UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_completion_after_wait(NULL);
}

static void register_waits(zel_tracer_handle_t tracer, void *(*find)(const char *name))
{
	void *found = find("zelTracerCommandListHostSynchronizeRegisterCallback");
	ze_result_t (*add)(zel_tracer_handle_t tracer, zel_tracer_reg_t what,
			   list_synchronize_fn *callback);

	if (!found)
		return;
	memcpy(&add, &found, sizeof(add));
	add(tracer, ZEL_REGISTER_PROLOGUE, before_ListSynchronize);
	add(tracer, ZEL_REGISTER_EPILOGUE, after_ListSynchronize);
}

#define OTHER(name, what)                                                \
	BEFORE(name, what)                                               \
	{                                                                \
		UNUSED();                                                \
		inject_ze_other_begin(INJECT_zeCommandList##name, mine); \
	}                                                                \
	AFTER(name, what)                                                \
	{                                                                \
		UNUSED();                                                \
		inject_ze_other_end(*mine);                              \
	}

OTHER(AppendBarrier, command_list_append_barrier)
OTHER(AppendMemoryRangesBarrier, command_list_append_memory_ranges_barrier)
OTHER(AppendMemoryPrefetch, command_list_append_memory_prefetch)
OTHER(AppendSignalEvent, command_list_append_signal_event)
OTHER(AppendWaitOnEvents, command_list_append_wait_on_events)
OTHER(AppendEventReset, command_list_append_event_reset)

#define SET_BOTH(group, name, callback)                          \
	do {                                                     \
		before->group.pfn##name##Cb = before_##callback; \
		after->group.pfn##name##Cb = after_##callback;   \
	} while (0)

static void set_others(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	SET_BOTH(CommandQueue, ExecuteCommandLists, Execute);
	SET_BOTH(CommandQueue, Synchronize, QueueSynchronize);
	SET_BOTH(Fence, HostSynchronize, FenceSynchronize);
	SET_BOTH(Event, HostSynchronize, EventSynchronize);
	after->Event.pfnQueryStatusCb = after_EventQueryStatus;
	after->Fence.pfnQueryStatusCb = after_FenceQueryStatus;
	SET_BOTH(CommandList, AppendBarrier, AppendBarrier);
	SET_BOTH(CommandList, AppendMemoryRangesBarrier, AppendMemoryRangesBarrier);
	SET_BOTH(CommandList, AppendMemoryPrefetch, AppendMemoryPrefetch);
	SET_BOTH(CommandList, AppendSignalEvent, AppendSignalEvent);
	SET_BOTH(CommandList, AppendWaitOnEvents, AppendWaitOnEvents);
	SET_BOTH(CommandList, AppendEventReset, AppendEventReset);
}

/* Commands that are appended to a list: what they are. */

/* The place of memory in the context of a list. */
static uint8_t find_place(ze_command_list_handle_t handle, const void *pointer)
{
	ze_memory_allocation_properties_t properties = {
		.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
	};
	const struct inject_ze_list *list = inject_ze_list_find(handle);

	if (!list || inject_ze.zeMemGetAllocProperties(list->context->handle, pointer, &properties,
						       NULL) != ZE_RESULT_SUCCESS)
		return GPUMON_PLACE_UNKNOWN;
	switch (properties.type) {
	case ZE_MEMORY_TYPE_HOST:
		return GPUMON_PLACE_PINNED;
	case ZE_MEMORY_TYPE_DEVICE:
		return GPUMON_PLACE_DEVICE;
	case ZE_MEMORY_TYPE_SHARED:
		return GPUMON_PLACE_MANAGED;
	default:
		return GPUMON_PLACE_PAGEABLE;
	}
}

static void describe_kernel(struct inject_ze_command *command, ze_kernel_handle_t handle,
			    const ze_group_count_t *groups)
{
	struct inject_ze_kernel *kernel = inject_ze_kernel_find(handle);

	if (!kernel || !kernel->name)
		kernel = inject_ze_kernel_learn(handle);
	command->record = GPUMON_RECORD_KERNEL;
	if (kernel) {
		command->name = kernel->name;
		memcpy(command->local, kernel->local, sizeof(command->local));
	}
	if (groups) {
		command->grid[0] = groups->groupCountX;
		command->grid[1] = groups->groupCountY;
		command->grid[2] = groups->groupCountZ;
	}
}

static uint64_t region_bytes(const ze_copy_region_t *region)
{
	return region ? (uint64_t)region->width * region->height *
				(region->depth ? region->depth : 1) :
			0;
}

static void describe_copy(struct inject_ze_command *command, uint8_t from, uint8_t to,
			  uint64_t bytes)
{
	command->record = GPUMON_RECORD_COPY;
	command->from = from;
	command->to = to;
	command->bytes = bytes;
}

/*
 * Defines both callbacks of a function. @describe runs where the call is recorded, after it
 * succeeded: before, the arguments may point to wrong memory.
 */
#define APPEND(name, what, describe)                                                         \
	BEFORE(name, what)                                                                   \
	{                                                                                    \
		(void)result;                                                                \
		(void)tracer;                                                                \
		inject_ze_append_begin(INJECT_zeCommandList##name, *p->phCommandList,        \
				       p->phSignalEvent, mine);                              \
	}                                                                                    \
	AFTER(name, what)                                                                    \
	{                                                                                    \
		struct inject_ze_command command = { 0 };                                    \
                                                                                             \
		(void)tracer;                                                                \
		if (!*mine)                                                                  \
			return;                                                              \
		if (result == ZE_RESULT_SUCCESS)                                             \
			describe;                                                            \
		inject_ze_append_end(*p->phCommandList, *p->phSignalEvent, result, &command, \
				     *mine);                                                 \
	}

#define PLACE(pointer) find_place(*p->phCommandList, pointer)

APPEND(AppendLaunchKernel, command_list_append_launch_kernel,
       describe_kernel(&command, *p->phKernel, *p->ppLaunchFuncArgs))
APPEND(AppendLaunchCooperativeKernel, command_list_append_launch_cooperative_kernel,
       describe_kernel(&command, *p->phKernel, *p->ppLaunchFuncArgs))
/* How many groups is in memory of the device. */
APPEND(AppendLaunchKernelIndirect, command_list_append_launch_kernel_indirect,
       describe_kernel(&command, *p->phKernel, NULL))
/* Several kernels are one command, whose time is that of all of them. */
APPEND(AppendLaunchMultipleKernelsIndirect, command_list_append_launch_multiple_kernels_indirect,
       describe_kernel(&command, (*p->pphKernels)[0], NULL))

APPEND(AppendMemoryCopy, command_list_append_memory_copy,
       describe_copy(&command, PLACE(*p->psrcptr), PLACE(*p->pdstptr), *p->psize))
APPEND(AppendMemoryCopyRegion, command_list_append_memory_copy_region,
       describe_copy(&command, PLACE(*p->psrcptr), PLACE(*p->pdstptr),
		     region_bytes(*p->pdstRegion)))
APPEND(AppendMemoryCopyFromContext, command_list_append_memory_copy_from_context,
       describe_copy(&command, GPUMON_PLACE_UNKNOWN, PLACE(*p->pdstptr), *p->psize))
/* How many bytes a pixel has is not known here. */
APPEND(AppendImageCopy, command_list_append_image_copy,
       describe_copy(&command, GPUMON_PLACE_ARRAY, GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyRegion, command_list_append_image_copy_region,
       describe_copy(&command, GPUMON_PLACE_ARRAY, GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyToMemory, command_list_append_image_copy_to_memory,
       describe_copy(&command, GPUMON_PLACE_ARRAY, PLACE(*p->pdstptr), 0))
APPEND(AppendImageCopyFromMemory, command_list_append_image_copy_from_memory,
       describe_copy(&command, PLACE(*p->psrcptr), GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyToMemoryExt, command_list_append_image_copy_to_memory_ext,
       describe_copy(&command, GPUMON_PLACE_ARRAY, PLACE(*p->pdstptr), 0))
APPEND(AppendImageCopyFromMemoryExt, command_list_append_image_copy_from_memory_ext,
       describe_copy(&command, PLACE(*p->psrcptr), GPUMON_PLACE_ARRAY, 0))

static void describe_set(struct inject_ze_command *command, const void *pattern,
			 size_t pattern_size, uint64_t bytes)
{
	command->record = GPUMON_RECORD_SET;
	command->bytes = bytes;
	if (pattern && pattern_size <= sizeof(command->value))
		memcpy(&command->value, pattern, pattern_size);
}

APPEND(AppendMemoryFill, command_list_append_memory_fill,
       describe_set(&command, *p->ppattern, *p->ppattern_size, *p->psize))

#define SET(name)                                                  \
	do {                                                       \
		before->CommandList.pfn##name##Cb = before_##name; \
		after->CommandList.pfn##name##Cb = after_##name;   \
	} while (0)

static void set_appends(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	SET(AppendLaunchKernel);
	SET(AppendLaunchCooperativeKernel);
	SET(AppendLaunchKernelIndirect);
	SET(AppendLaunchMultipleKernelsIndirect);
	SET(AppendMemoryCopy);
	SET(AppendMemoryCopyRegion);
	SET(AppendMemoryCopyFromContext);
	SET(AppendImageCopy);
	SET(AppendImageCopyRegion);
	SET(AppendImageCopyToMemory);
	SET(AppendImageCopyFromMemory);
	SET(AppendMemoryFill);
}

#define SET_NEW(name)                                                           \
	do {                                                                    \
		if (inject_ze.zelTracerCommandList##name##RegisterCallback) {   \
			inject_ze.zelTracerCommandList##name##RegisterCallback( \
				tracer, ZEL_REGISTER_PROLOGUE, before_##name);  \
			inject_ze.zelTracerCommandList##name##RegisterCallback( \
				tracer, ZEL_REGISTER_EPILOGUE, after_##name);   \
		}                                                               \
	} while (0)

/* Functions that are newer than version 1.0 are registered one by one. */
static void register_appends(zel_tracer_handle_t tracer)
{
	SET_NEW(AppendImageCopyToMemoryExt);
	SET_NEW(AppendImageCopyFromMemoryExt);
}

void inject_ze_callbacks_set(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	set_appends(before, after);
	set_objects(before, after);
	set_others(before, after);
}

void inject_ze_callbacks_register(zel_tracer_handle_t tracer, void *(*find)(const char *name))
{
	register_appends(tracer);
	register_waits(tracer, find);
}
