// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "slots.h"

#define BLOCKS_MAX (INJECT_VULKAN_SLOTS_MAX / INJECT_VULKAN_SLOTS)

/* After so many blocks the library's thread does not wait for its next look. */
#define BLOCKS_LOOK 8

/* With its slot, so that no submission takes long. */
static bool make_buffers(struct inject_vulkan_queue *queue, struct inject_vulkan_slot *slot)
{
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = queue->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 2,
	};
	struct inject_vulkan_device *device = queue->device;
	VkCommandBuffer buffers[2];

	/* What was allocated goes with the pool. */
	if (device->below.vkAllocateCommandBuffers(device->handle, &info, buffers))
		return false;
	slot->begin = buffers[0];
	slot->end = buffers[1];
	/* Without these pointers, layers below and the loader do not know command buffers. */
	return device->set_data(device->handle, slot->begin) == VK_SUCCESS &&
	       device->set_data(device->handle, slot->end) == VK_SUCCESS;
}

static bool make_pool(struct inject_vulkan_queue *queue)
{
	const VkCommandPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.queueFamilyIndex = queue->family,
	};
	struct inject_vulkan_device *device = queue->device;

	return queue->pool || device->below.vkCreateCommandPool(device->handle, &info, NULL,
								&queue->pool) == VK_SUCCESS;
}

static void destroy_block(struct inject_vulkan_device *device, struct inject_vulkan_block *block)
{
	inject_vulkan_queries_destroy(device, &block->queries);
	device->below.vkDestroyEvent(device->handle, block->event, NULL);
}

static bool make_objects(struct inject_vulkan_queue *queue, struct inject_vulkan_block *block)
{
	const VkEventCreateInfo info = { .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO };
	struct inject_vulkan_device *device = queue->device;
	const struct inject_vulkan_below *below = &device->below;

	if (!inject_vulkan_queries_make(device, &block->queries, INJECT_VULKAN_QUERIES))
		return false;
	if (below->reset)
		below->reset(device->handle, block->queries.pool, 0, INJECT_VULKAN_QUERIES);
	return below->reset || device->copies_times ||
	       below->vkCreateEvent(device->handle, &info, NULL, &block->event) == VK_SUCCESS;
}

static struct inject_vulkan_block *make_block(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_block *block;

	if (queue->blocks == BLOCKS_MAX || !make_pool(queue))
		return NULL;
	block = inject_memory_take(sizeof(*block));
	if (!block)
		return NULL;
	if (!make_objects(queue, block)) {
		destroy_block(queue->device, block);
		inject_memory_give(block, sizeof(*block));
		/* The driver will not be asked again. */
		queue->blocks = BLOCKS_MAX;
		return NULL;
	}
	queue->blocks++;
	return block;
}

/* Makes a block the one whose slots are given out. */
static bool next_block(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_block *block = queue->free;

	if (block)
		queue->free = block->next;
	else
		block = make_block(queue);
	if (!block)
		return false;
	block->next = NULL;
	*queue->last = block;
	queue->last = &block->next;
	queue->current = block;
	return true;
}

/*
 * A command buffer that writes the time. The first of a block also resets its queries where the host does not;
 * before the event is set, a query may say that it has a time, of an earlier use.
 */
static bool record(const struct inject_vulkan_device *device,
		   const struct inject_vulkan_block *block, VkCommandBuffer buffer, uint32_t query)
{
	/* The driver may take it as pending for a while after its time was read. */
	const VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
	};
	const struct inject_vulkan_below *below = &device->below;

	if (below->vkBeginCommandBuffer(buffer, &info))
		return false;
	if (!below->reset && !query)
		below->vkCmdResetQueryPool(buffer, block->queries.pool, 0, INJECT_VULKAN_QUERIES);
	if (block->event && !query)
		below->vkCmdSetEvent(buffer, block->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
	inject_vulkan_queries_write(device, &block->queries, buffer, query);
	return below->vkEndCommandBuffer(buffer) == VK_SUCCESS;
}

static struct inject_vulkan_slot *take_of_block(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_block *block = queue->current;
	uint32_t used = atomic_load_explicit(&block->used, memory_order_relaxed);
	struct inject_vulkan_slot *slot = &block->slots[used];

	if (used == block->recorded) {
		if (!make_buffers(queue, slot) ||
		    !record(queue->device, block, slot->begin, 2 * used) ||
		    !record(queue->device, block, slot->end, 2 * used + 1))
			return NULL;
		block->recorded++;
	}
	slot->commands = NULL;
	atomic_store_explicit(&slot->state, INJECT_VULKAN_TAKEN, memory_order_relaxed);
	atomic_store_explicit(&block->used, used + 1, memory_order_release);
	if (used + 1 == INJECT_VULKAN_SLOTS) {
		queue->current = NULL;
		if (!(++queue->filled % BLOCKS_LOOK))
			inject_wake();
	}
	return slot;
}

struct inject_vulkan_slot *inject_vulkan_slot_take(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_slot *slot = NULL;

	pthread_mutex_lock(&queue->adding);
	if (queue->current || next_block(queue))
		slot = take_of_block(queue);
	pthread_mutex_unlock(&queue->adding);
	return slot;
}

void inject_vulkan_slot_failed(struct inject_vulkan_queue *queue, struct inject_vulkan_slot *slot)
{
	/* Perhaps its block will not be reset: the next times would be wrong. */
	if (!queue->device->below.reset)
		atomic_store(&queue->is_timed, false);
	atomic_store_explicit(&slot->state, INJECT_VULKAN_VOID, memory_order_release);
}

void inject_vulkan_slots_reuse(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_device *device = queue->device;
	struct inject_vulkan_block *block = queue->first;

	if (block->queries.copied)
		memset(block->queries.copied, 0, INJECT_VULKAN_QUERIES * sizeof(*block->queries.copied));
	else if (device->below.reset)
		device->below.reset(device->handle, block->queries.pool, 0, INJECT_VULKAN_QUERIES);
	else
		device->below.vkResetEvent(device->handle, block->event);
	block->is_reset = false;
	block->read = 0;
	pthread_mutex_lock(&queue->adding);
	queue->first = block->next;
	if (!queue->first)
		queue->last = &queue->first;
	atomic_store_explicit(&block->used, 0, memory_order_relaxed);
	block->next = queue->free;
	queue->free = block;
	pthread_mutex_unlock(&queue->adding);
}

static void give_blocks(struct inject_vulkan_queue *queue, struct inject_vulkan_block *block,
			bool is_idle)
{
	struct inject_vulkan_block *next;

	for (; block; block = next) {
		next = block->next;
		if (is_idle)
			destroy_block(queue->device, block);
		inject_memory_give(block, sizeof(*block));
	}
}

void inject_vulkan_slots_destroy(struct inject_vulkan_queue *queue, bool is_idle)
{
	struct inject_vulkan_device *device = queue->device;

	give_blocks(queue, queue->first, is_idle);
	give_blocks(queue, queue->free, is_idle);
	if (is_idle)
		device->below.vkDestroyCommandPool(device->handle, queue->pool, NULL);
}
