/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Events with times, and fences, which this library makes for commands of the program that have none, and
 * what waits for them: from the end of a call until the library's own thread has its times (completion.h).
 */
#ifndef GPUMON_INJECT_ZE_EVENTS_H
#define GPUMON_INJECT_ZE_EVENTS_H

#include "objects.h"

/**
 * struct inject_ze_event - an event of this library
 * @handle: NULL: its context is gone
 * @context: of it
 * @next: that is free
 */
struct inject_ze_event {
	ze_event_handle_t handle;
	struct inject_ze_context *context;
	struct inject_ze_event *next;
};

/**
 * struct inject_ze_fence - a fence of this library
 * @handle: the driver's
 * @queue: of it
 * @waited: executions that wait for it
 * @next: that is free
 */
struct inject_ze_fence {
	ze_fence_handle_t handle;
	struct inject_ze_queue *queue;
	_Atomic uint32_t waited;
	struct inject_ze_fence *next;
};

/**
 * struct inject_ze_pending - a command of an immediate list, or an execution of a list
 * @queue: where it runs
 * @list: that is executed; NULL: it is a command
 * @command: otherwise
 * @execution: number of it among those of @list
 * @fence: of an execution; NULL: it has none
 * @own_fence: the same if it is this library's
 * @is_done: nothing is to be waited for
 * @begin_ns: begin of the call
 * @correlation: id of the call
 */
struct inject_ze_pending {
	struct inject_ze_queue *queue;
	struct inject_ze_list *list;
	struct inject_ze_command command;
	uint64_t execution;
	ze_fence_handle_t fence;
	struct inject_ze_fence *own_fence;
	bool is_done;
	uint64_t begin_ns;
	uint32_t correlation;
};

/* Memory for what is pending, at most. */
void inject_ze_pending_reserve(uint32_t mib);

/* The call that launched it has returned. False: there is no room, which is counted. */
bool inject_ze_pending_add(const struct inject_ze_pending *pending);

/**
 * inject_ze_pending_take - all that was kept since the last time
 * @count: of these
 *
 * Return: valid until the next call. One thread at a time.
 */
const struct inject_ze_pending *inject_ze_pending_take(size_t *count);

/* How many executions of lists are pending. */
extern _Atomic uint32_t inject_ze_executions INJECT_HIDDEN;

/* Memory for events, at most. */
void inject_ze_events_reserve(uint32_t mib);

/* An event or fence that is not in use. NULL where the driver has none, or there is no memory. */
struct inject_ze_event *inject_ze_event_take(struct inject_ze_context *context);
struct inject_ze_fence *inject_ze_fence_take(struct inject_ze_queue *queue);

/* The event or fence is no longer in use. Calls the driver: not in a launch. */
void inject_ze_event_give_back(struct inject_ze_event *event);
void inject_ze_fence_give_back(struct inject_ze_fence *fence);

/* An execution does not wait for the fence any more. The last one gives it back. */
void inject_ze_fence_done(struct inject_ze_fence *fence);

/* The program is about to destroy what they belong to. */
void inject_ze_events_end(struct inject_ze_context *context);
void inject_ze_fences_end(struct inject_ze_queue *queue);

/* Called in a child after fork. */
void inject_ze_events_forked(void);

#endif /* GPUMON_INJECT_ZE_EVENTS_H */
