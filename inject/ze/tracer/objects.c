// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Objects that the program makes, and destroys or empties: before that, what is pending is read. */
#include <string.h>

#include "tracer.h"
#include "ze/command.h"
#include "ze/harvest.h"

INJECT_ZE_AFTER(ContextCreate, context_create)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_context_made(**p->pphContext, *p->phDriver);
}

INJECT_ZE_BEFORE(ContextDestroy, context_destroy)
{
	struct inject_ze_context *context = inject_ze_context_find(*p->phContext);

	INJECT_ZE_UNUSED();
	if (!context)
		return;
	inject_ze_harvest_before(context);
	inject_ze_events_end(context);
}

INJECT_ZE_AFTER(QueueCreate, command_queue_create)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_queue_made(**p->pphCommandQueue, *p->phContext, *p->phDevice,
				     *p->pdesc);
}

INJECT_ZE_BEFORE(QueueDestroy, command_queue_destroy)
{
	struct inject_ze_queue *queue = inject_ze_queue_find(*p->phCommandQueue);

	INJECT_ZE_UNUSED();
	if (!queue)
		return;
	inject_ze_harvest_before(queue);
	inject_ze_fences_end(queue);
}

INJECT_ZE_AFTER(ListCreate, command_list_create)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_list_made(**p->pphCommandList, *p->phContext, *p->phDevice, NULL);
}

INJECT_ZE_AFTER(ListCreateImmediate, command_list_create_immediate)
{
	INJECT_ZE_UNUSED();
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
		list->spare = inject_ze_harvest_before(list->queue) ? list->queue : NULL;
		return;
	}
	inject_ze_harvest_before(list);
	inject_ze_list_empty(list);
}

INJECT_ZE_BEFORE(ListDestroy, command_list_destroy)
{
	INJECT_ZE_UNUSED();
	end_list(*p->phCommandList);
}

INJECT_ZE_BEFORE(ListReset, command_list_reset)
{
	INJECT_ZE_UNUSED();
	end_list(*p->phCommandList);
}

INJECT_ZE_AFTER(KernelCreate, kernel_create)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_kernel_made(**p->pphKernel, (*p->pdesc)->pKernelName);
}

INJECT_ZE_AFTER(KernelSetGroupSize, kernel_set_group_size)
{
	struct inject_ze_kernel *kernel = inject_ze_kernel_find(*p->phKernel);

	INJECT_ZE_UNUSED();
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
INJECT_ZE_BEFORE(PoolCreate, event_pool_create)
{
	struct inject_thread *thread;
	ze_event_pool_desc_t *changed;

	(void)result;
	(void)tracer;
	*mine = NULL;
	if (inject_ze_is_ours() || !*p->pdesc || (*p->pdesc)->flags & ZE_EVENT_POOL_FLAG_IPC ||
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

INJECT_ZE_AFTER(PoolCreate, event_pool_create)
{
	const ze_event_pool_flags_t timed = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | MAPPED_TIMESTAMP;
	ze_event_pool_flags_t flags;

	INJECT_ZE_UNUSED();
	if (result != ZE_RESULT_SUCCESS || inject_ze_is_ours())
		return;
	flags = (*p->pdesc)->flags;
	inject_ze_event_pool_made(**p->pphEventPool,
				  flags & timed && flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
}

INJECT_ZE_AFTER(EventCreate, event_create)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS && !inject_ze_is_ours())
		inject_ze_their_event_made(**p->pphEvent, *p->phEventPool);
}

static void end_event(ze_event_handle_t handle, bool is_destroyed)
{
	struct inject_ze_their_event *event =
		inject_ze_is_ours() ? NULL : inject_ze_their_event_find(handle);

	if (!event)
		return;
	if (atomic_load(&event->waited) || atomic_load(&event->is_in_list))
		inject_ze_harvest_their_event(event);
	if (is_destroyed) {
		atomic_store(&event->is_in_list, false);
		atomic_fetch_add(&event->version, 1);
	}
}

INJECT_ZE_BEFORE(EventDestroy, event_destroy)
{
	INJECT_ZE_UNUSED();
	end_event(*p->phEvent, true);
}

INJECT_ZE_BEFORE(EventHostReset, event_host_reset)
{
	INJECT_ZE_UNUSED();
	end_event(*p->phEvent, false);
}

/* Of the program: what waits for it is done by now. */
INJECT_ZE_BEFORE(FenceDestroy, fence_destroy)
{
	INJECT_ZE_UNUSED();
	if (!inject_ze_is_ours())
		inject_ze_harvest_fence(*p->phFence);
}

INJECT_ZE_BEFORE(FenceReset, fence_reset)
{
	INJECT_ZE_UNUSED();
	if (!inject_ze_is_ours())
		inject_ze_harvest_fence(*p->phFence);
}

void inject_ze_trace_objects(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
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
