/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Events with times, and fences, which this library makes for commands of the program that have none. */
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

/* Memory for events, at most. */
void inject_ze_events_reserve(uint32_t mib);

/* One that is not in use. NULL where the driver has none, or there is no memory. */
struct inject_ze_event *inject_ze_event_take(struct inject_ze_context *context);
struct inject_ze_fence *inject_ze_fence_take(struct inject_ze_queue *queue);

/* It is no longer in use. Calls the driver: not in a launch. */
void inject_ze_event_give_back(struct inject_ze_event *event);
void inject_ze_fence_give_back(struct inject_ze_fence *fence);

/* One execution less waits for it: the last one gives it back. */
void inject_ze_fence_done(struct inject_ze_fence *fence);

/* The program is about to destroy what they belong to. */
void inject_ze_events_end(struct inject_ze_context *context);
void inject_ze_fences_end(struct inject_ze_queue *queue);

/* In a child after fork. */
void inject_ze_events_forked(void);

#endif /* GPUMON_INJECT_ZE_EVENTS_H */
