// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Executions of lists, calls that wait, and commands that give a device nothing to do. */
#include "tracer.h"
#include "ze/command.h"
#include "ze/harvest.h"

INJECT_ZE_BEFORE(Execute, command_queue_execute_command_lists)
{
	INJECT_ZE_UNUSED();
	inject_ze_execute_begin(*p->phCommandQueue, *p->pnumCommandLists, *p->pphCommandLists,
				p->phFence, mine);
}

INJECT_ZE_AFTER(Execute, command_queue_execute_command_lists)
{
	INJECT_ZE_UNUSED();
	inject_ze_execute_end(*p->phCommandQueue, *p->pnumCommandLists, *p->pphCommandLists,
			      *p->phFence, result, *mine);
}

/* A list may be executed again at once, which overwrites its times. */
INJECT_ZE_BEFORE(QueueSynchronize, command_queue_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_begin(INJECT_zeCommandQueueSynchronize, mine);
}

INJECT_ZE_AFTER(QueueSynchronize, command_queue_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_harvest_after_wait(inject_ze_queue_find(*p->phCommandQueue));
}

INJECT_ZE_BEFORE(FenceSynchronize, fence_host_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_begin(INJECT_zeFenceHostSynchronize, mine);
}

INJECT_ZE_AFTER(FenceSynchronize, fence_host_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_harvest_after_wait(NULL);
}

INJECT_ZE_BEFORE(EventSynchronize, event_host_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_begin(INJECT_zeEventHostSynchronize, mine);
}

INJECT_ZE_AFTER(EventSynchronize, event_host_synchronize)
{
	INJECT_ZE_UNUSED();
	inject_ze_other_end(*mine);
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_harvest_after_wait(NULL);
}

/* A program may ask until it is so, instead of waiting. */
INJECT_ZE_AFTER(EventQueryStatus, event_query_status)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS && !inject_ze_is_ours())
		inject_ze_harvest_after_wait(NULL);
}

INJECT_ZE_AFTER(FenceQueryStatus, fence_query_status)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS && !inject_ze_is_ours())
		inject_ze_harvest_after_wait(NULL);
}

/*
 * Of loaders that are newer than the headers may be, for immediate lists. Its parameters are the list and the
 * time to wait. As a call it is none of the functions that are recorded.
 */
static void after_ListSynchronize(void *p, ze_result_t result, void *tracer, void **mine)
{
	INJECT_ZE_UNUSED();
	if (result == ZE_RESULT_SUCCESS)
		inject_ze_harvest_after_wait(NULL);
}

void inject_ze_trace_new_waits(zel_tracer_handle_t tracer)
{
	ze_result_t (*add)(zel_tracer_handle_t tracer, zel_tracer_reg_t what,
			   void (*callback)(void *p, ze_result_t result, void *tracer, void **mine)) =
		__extension__(void *) inject_ze_symbol(
			"zelTracerCommandListHostSynchronizeRegisterCallback");

	if (add)
		add(tracer, ZEL_REGISTER_EPILOGUE, after_ListSynchronize);
}

#define OTHER(name, what)                                                \
	INJECT_ZE_BEFORE(name, what)                                     \
	{                                                                \
		INJECT_ZE_UNUSED();                                      \
		inject_ze_other_begin(INJECT_zeCommandList##name, mine); \
	}                                                                \
	INJECT_ZE_AFTER(name, what)                                      \
	{                                                                \
		INJECT_ZE_UNUSED();                                      \
		inject_ze_other_end(*mine);                              \
	}

OTHER(AppendBarrier, command_list_append_barrier)
OTHER(AppendMemoryRangesBarrier, command_list_append_memory_ranges_barrier)
OTHER(AppendMemoryPrefetch, command_list_append_memory_prefetch)
OTHER(AppendSignalEvent, command_list_append_signal_event)
OTHER(AppendWaitOnEvents, command_list_append_wait_on_events)
OTHER(AppendEventReset, command_list_append_event_reset)

#define SET(group, name, callback)                               \
	do {                                                     \
		before->group.pfn##name##Cb = before_##callback; \
		after->group.pfn##name##Cb = after_##callback;   \
	} while (0)

void inject_ze_trace_others(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	SET(CommandQueue, ExecuteCommandLists, Execute);
	SET(CommandQueue, Synchronize, QueueSynchronize);
	SET(Fence, HostSynchronize, FenceSynchronize);
	SET(Event, HostSynchronize, EventSynchronize);
	after->Event.pfnQueryStatusCb = after_EventQueryStatus;
	after->Fence.pfnQueryStatusCb = after_FenceQueryStatus;
	SET(CommandList, AppendBarrier, AppendBarrier);
	SET(CommandList, AppendMemoryRangesBarrier, AppendMemoryRangesBarrier);
	SET(CommandList, AppendMemoryPrefetch, AppendMemoryPrefetch);
	SET(CommandList, AppendSignalEvent, AppendSignalEvent);
	SET(CommandList, AppendWaitOnEvents, AppendWaitOnEvents);
	SET(CommandList, AppendEventReset, AppendEventReset);
}
