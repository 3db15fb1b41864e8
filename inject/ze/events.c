// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "events.h"

/* Events are made in lots, so that few launches have to make some. */
#define EVENTS_PER_POOL 256

/* Number of pending events that are looked at before the next regular look. */
#define MANY 4096

/* Memory of an event in the driver is unknown; this is about the size in Intel's driver. */
#define EVENT_BYTES 1024

/**
 * struct inject_ze_pool - events that were made together
 * @handle: the driver's
 * @next: of the same context, or free
 * @count: of @events
 * @events: each is in use, or free
 */
struct inject_ze_pool {
	ze_event_pool_handle_t handle;
	struct inject_ze_pool *next;
	uint32_t count;
	struct inject_ze_event events[EVENTS_PER_POOL];
};

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inject_ze_pool *free_pools;
static uint32_t pools_left;

/* Memory of those whose queue is gone, with the same lock. */
static struct inject_ze_fence *unused_fences;

void inject_ze_events_reserve(uint32_t mib)
{
	static uint32_t reserved;
	uint32_t count = (uint32_t)(((uint64_t)mib << 20) / EVENT_BYTES / EVENTS_PER_POOL);

	pthread_mutex_lock(&pools_lock);
	if (count > reserved) {
		pools_left += count - reserved;
		reserved = count;
	}
	pthread_mutex_unlock(&pools_lock);
}

static struct inject_ze_pool *take_pool(void)
{
	struct inject_ze_pool *pool = NULL;

	pthread_mutex_lock(&pools_lock);
	if (pools_left) {
		pools_left--;
		pool = free_pools;
		if (pool)
			free_pools = pool->next;
		else
			pool = inject_ze_memory(sizeof(*pool));
	}
	pthread_mutex_unlock(&pools_lock);
	return pool;
}

static void return_pool(struct inject_ze_pool *pool)
{
	pthread_mutex_lock(&pools_lock);
	pools_left++;
	pool->next = free_pools;
	free_pools = pool;
	pthread_mutex_unlock(&pools_lock);
}

static bool fill_pool(struct inject_ze_pool *pool, struct inject_ze_context *context)
{
	const ze_event_pool_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
		.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
		.count = EVENTS_PER_POOL,
	};
	ze_event_desc_t event = {
		.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
		.signal = ZE_EVENT_SCOPE_FLAG_HOST,
	};
	uint32_t *i = &pool->count;

	*i = 0;
	if (inject_ze.zeEventPoolCreate(context->handle, &description, 0, NULL, &pool->handle) !=
	    ZE_RESULT_SUCCESS)
		return false;
	for (; *i < EVENTS_PER_POOL; (*i)++) {
		event.index = *i;
		if (inject_ze.zeEventCreate(pool->handle, &event, &pool->events[*i].handle) !=
		    ZE_RESULT_SUCCESS)
			break;
		pool->events[*i].context = context;
	}
	if (!pool->count)
		inject_ze.zeEventPoolDestroy(pool->handle);
	return pool->count;
}

static struct inject_ze_event *make_events(struct inject_ze_context *context)
{
	struct inject_ze_pool *pool = take_pool();
	uint32_t i;

	if (!pool)
		return NULL;
	if (!fill_pool(pool, context)) {
		context->refused = true;
		return_pool(pool);
		return NULL;
	}
	pthread_mutex_lock(&context->lock);
	pool->next = context->pools;
	context->pools = pool;
	for (i = 1; i < pool->count; i++) {
		pool->events[i].next = context->free;
		context->free = &pool->events[i];
	}
	pthread_mutex_unlock(&context->lock);
	return &pool->events[0];
}

struct inject_ze_event *inject_ze_event_take(struct inject_ze_context *context)
{
	struct inject_ze_event *event;

	pthread_mutex_lock(&context->lock);
	event = context->free;
	if (event)
		context->free = event->next;
	pthread_mutex_unlock(&context->lock);
	return event || context->refused ? event : make_events(context);
}

void inject_ze_event_give_back(struct inject_ze_event *event)
{
	if (!event->handle || inject_ze.zeEventHostReset(event->handle) != ZE_RESULT_SUCCESS)
		return;
	pthread_mutex_lock(&event->context->lock);
	event->next = event->context->free;
	event->context->free = event;
	pthread_mutex_unlock(&event->context->lock);
}

void inject_ze_events_end(struct inject_ze_context *context)
{
	struct inject_ze_pool *pool, *next;
	uint32_t i;

	pthread_mutex_lock(&context->lock);
	pool = context->pools;
	context->pools = NULL;
	context->free = NULL;
	pthread_mutex_unlock(&context->lock);
	for (; pool; pool = next) {
		next = pool->next;
		for (i = 0; i < pool->count; i++) {
			inject_ze.zeEventDestroy(pool->events[i].handle);
			pool->events[i].handle = NULL;
		}
		inject_ze.zeEventPoolDestroy(pool->handle);
		return_pool(pool);
	}
}

static struct inject_ze_fence *take_unused_fence(void)
{
	struct inject_ze_fence *fence;

	pthread_mutex_lock(&pools_lock);
	fence = unused_fences;
	if (fence)
		unused_fences = fence->next;
	pthread_mutex_unlock(&pools_lock);
	return fence ? fence : inject_ze_memory(sizeof(*fence));
}

static void keep_unused_fence(struct inject_ze_fence *fence)
{
	pthread_mutex_lock(&pools_lock);
	fence->next = unused_fences;
	unused_fences = fence;
	pthread_mutex_unlock(&pools_lock);
}

struct inject_ze_fence *inject_ze_fence_take(struct inject_ze_queue *queue)
{
	const ze_fence_desc_t description = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	struct inject_ze_fence *fence;

	pthread_mutex_lock(&queue->lock);
	fence = queue->fences;
	if (fence)
		queue->fences = fence->next;
	pthread_mutex_unlock(&queue->lock);
	if (fence)
		return fence;
	fence = take_unused_fence();
	if (!fence)
		return NULL;
	if (inject_ze.zeFenceCreate(queue->handle, &description, &fence->handle) !=
	    ZE_RESULT_SUCCESS) {
		keep_unused_fence(fence);
		return NULL;
	}
	fence->queue = queue;
	return fence;
}

void inject_ze_fence_give_back(struct inject_ze_fence *fence)
{
	if (inject_ze.zeFenceReset(fence->handle) != ZE_RESULT_SUCCESS)
		return;
	pthread_mutex_lock(&fence->queue->lock);
	fence->next = fence->queue->fences;
	fence->queue->fences = fence;
	pthread_mutex_unlock(&fence->queue->lock);
}

void inject_ze_fence_done(struct inject_ze_fence *fence)
{
	if (atomic_fetch_sub(&fence->waited, 1) == 1)
		inject_ze_fence_give_back(fence);
}

void inject_ze_fences_end(struct inject_ze_queue *queue)
{
	struct inject_ze_fence *fence, *next;

	pthread_mutex_lock(&queue->lock);
	fence = queue->fences;
	queue->fences = NULL;
	pthread_mutex_unlock(&queue->lock);
	for (; fence; fence = next) {
		next = fence->next;
		inject_ze.zeFenceDestroy(fence->handle);
		keep_unused_fence(fence);
	}
}

_Atomic uint32_t inject_ze_executions;

/* Commands and executions that the program's threads have added, and those that the library's thread has taken. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct inject_ze_pending *added, *taken;
static size_t added_count, added_room, taken_room, most;

void inject_ze_pending_reserve(uint32_t mib)
{
	pthread_mutex_lock(&adding);
	most = ((size_t)mib << 20) / sizeof(*added);
	pthread_mutex_unlock(&adding);
}

bool inject_ze_pending_add(const struct inject_ze_pending *pending)
{
	bool is_added;

	pthread_mutex_lock(&adding);
	is_added = (added_count < added_room || added_count < most) &&
		   inject_grow((void **)&added, &added_room, added_count + 1, sizeof(*added));
	if (is_added)
		added[added_count++] = *pending;
	if (added_count == MANY)
		inject_wake();
	pthread_mutex_unlock(&adding);
	if (!is_added)
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
	return is_added;
}

const struct inject_ze_pending *inject_ze_pending_take(size_t *count)
{
	struct inject_ze_pending *other = taken;
	size_t room = taken_room;

	pthread_mutex_lock(&adding);
	*count = added_count;
	taken = added;
	taken_room = added_room;
	added = other;
	added_room = room;
	added_count = 0;
	pthread_mutex_unlock(&adding);
	return taken;
}

void inject_ze_events_forked(void)
{
	pthread_mutex_init(&pools_lock, NULL);
	pthread_mutex_init(&adding, NULL);
	added_count = 0;
	atomic_store(&inject_ze_executions, 0);
}
