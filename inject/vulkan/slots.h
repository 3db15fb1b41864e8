/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Slots: two command buffers of the library's own around one or more of the program's, and two queries into
 * which they write the time. They are recorded once and submitted again and again. The program's threads take
 * them, one queue's in the order of its submissions; completion.c reads the queries and gives them back.
 */
#ifndef GPUMON_INJECT_VULKAN_SLOTS_H
#define GPUMON_INJECT_VULKAN_SLOTS_H

#include "queries.h"

struct inject_vulkan_commands;

enum inject_vulkan_state {
	INJECT_VULKAN_TAKEN,	 /* the submission has not returned */
	INJECT_VULKAN_SUBMITTED, /* the queries will have times */
	INJECT_VULKAN_VOID,	 /* the submission failed */
};

/**
 * struct inject_vulkan_slot - what is around a command buffer of the program
 * @state: enum inject_vulkan_state
 * @generation: of the capture that has its launch; 0: of none that is still there
 * @correlation: of the launch
 * @name: string id
 * @begin_ns: of the call
 * @begin: command buffer that is in front
 * @end: command buffer that is behind
 * @commands: the program's, if it has passes that are to be read; NULL: none (passes.h)
 */
struct inject_vulkan_slot {
	_Atomic uint32_t state;
	uint32_t generation;
	uint32_t correlation;
	uint32_t name;
	uint64_t begin_ns;
	VkCommandBuffer begin;
	VkCommandBuffer end;
	struct inject_vulkan_commands *commands;
};

#define INJECT_VULKAN_SLOTS   64
#define INJECT_VULKAN_QUERIES (2 * INJECT_VULKAN_SLOTS)

/* Of a queue: command buffers that have not ended, or that nobody has asked for. */
#define INJECT_VULKAN_SLOTS_MAX 8192u

/**
 * struct inject_vulkan_block - slots whose queries are in one pool
 * @next: of its queue
 * @queries: for times, two for each slot
 * @event: set by the GPU when it has reset the queries; VK_NULL_HANDLE: the host resets them, or copies of them
 * @is_reset: @event was seen
 * @recorded: how many slots have commands in their command buffers
 * @used: slots that were taken
 * @read: of these, whose times were read
 * @slots: slots
 */
struct inject_vulkan_block {
	struct inject_vulkan_block *next;
	struct inject_vulkan_queries queries;
	VkEvent event;
	bool is_reset;
	unsigned int recorded;
	_Atomic uint32_t used;
	uint32_t read;
	struct inject_vulkan_slot slots[INJECT_VULKAN_SLOTS];
};

/**
 * inject_vulkan_slot_take - a slot for the next command buffer of a submission
 * @queue: that it is for
 *
 * Return: NULL: there is none, because the driver refuses it, or too many are on their way.
 */
struct inject_vulkan_slot *inject_vulkan_slot_take(struct inject_vulkan_queue *queue);

/* The submission has returned. Before that, all but @state was set. */
static inline void inject_vulkan_slot_submitted(struct inject_vulkan_slot *slot)
{
	atomic_store_explicit(&slot->state, INJECT_VULKAN_SUBMITTED, memory_order_release);
}

/* The submission has failed. */
void inject_vulkan_slot_failed(struct inject_vulkan_queue *queue, struct inject_vulkan_slot *slot);

/* All slots of the queue's oldest block were read: it can be used again. Context: completion.c's lock. */
void inject_vulkan_slots_reuse(struct inject_vulkan_queue *queue);

/* The device is about to be destroyed. @is_idle: false: some may still run, so the driver keeps them. */
void inject_vulkan_slots_destroy(struct inject_vulkan_queue *queue, bool is_idle);

#endif /* GPUMON_INJECT_VULKAN_SLOTS_H */
