/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Times inside of command buffers, where the recorder asks for them: of render passes, dispatches, copies and
 * barriers. Queries are written by the program's own command buffer. They belong to its last submission until they
 * are read, which is before the program records, frees or submits it again.
 */
#ifndef GPUMON_INJECT_VULKAN_PASSES_H
#define GPUMON_INJECT_VULKAN_PASSES_H

#include "slots.h"

/* Passes of a part, and parts of a command buffer. What is beyond has no times of its own. */
#define INJECT_VULKAN_PASSES 64
#define INJECT_VULKAN_PARTS  64

#define INJECT_VULKAN_PASS_TEXT 112

/**
 * struct inject_vulkan_pass - a command with times
 * @kept: string id in the capture, for inject_string_again()
 * @text: what it is, behind the label that it is within
 */
struct inject_vulkan_pass {
	_Atomic uint64_t kept;
	char text[INJECT_VULKAN_PASS_TEXT];
};

/**
 * struct inject_vulkan_part - passes whose queries are in one pool
 * @next: of the command buffer
 * @queries: two for each pass
 * @pass: passes
 */
struct inject_vulkan_part {
	struct inject_vulkan_part *next;
	struct inject_vulkan_queries queries;
	struct inject_vulkan_pass pass[INJECT_VULKAN_PASSES];
};

#define INJECT_VULKAN_LABELS	 8
#define INJECT_VULKAN_LABEL_TEXT 48

/**
 * struct inject_vulkan_commands - a command buffer of the program
 * @next: of its pool
 * @handle: of the program
 * @can_be_timed: it is a primary one, for queues with timestamps
 * @is_timed: while it was begun, the recorder asked for passes
 * @is_inside: a render pass is open: commands in it have no times of their own
 * @is_open: of that render pass, there will be times
 * @used: passes that were recorded
 * @depth: labels that are open; those beyond INJECT_VULKAN_LABELS have no text
 * @label: their texts, the outermost first
 * @first: parts
 * @part: that of the next pass
 * @slot: of its last submission, until its times are read. Changed under completion.c's lock, but for the
 *	  submission itself
 *
 * Vulkan has the program use a command buffer in one thread at a time.
 */
struct inject_vulkan_commands {
	struct inject_vulkan_commands *next;
	VkCommandBuffer handle;
	bool can_be_timed;
	bool is_timed;
	bool is_inside;
	bool is_open;
	uint32_t used;
	uint32_t depth;
	char label[INJECT_VULKAN_LABELS][INJECT_VULKAN_LABEL_TEXT];
	struct inject_vulkan_part *first;
	struct inject_vulkan_part *part;
	_Atomic(struct inject_vulkan_slot *) slot;
};

/* The program makes a pool, and command buffers of it. Without memory they have no passes. */
void inject_vulkan_passes_pool(struct inject_vulkan_device *device, VkCommandPool pool,
			       const VkCommandPoolCreateInfo *info);
void inject_vulkan_passes_add(struct inject_vulkan_device *device,
			      const VkCommandBufferAllocateInfo *info, const VkCommandBuffer *made);

/* NULL: the command buffer is not known, as all are where the recorder has not asked for passes. */
struct inject_vulkan_commands *inject_vulkan_passes_find(const struct inject_vulkan_device *device,
							 VkCommandBuffer buffer);

/* What was recorded of it goes, when its last submission was read. */
void inject_vulkan_passes_clear(struct inject_vulkan_device *device,
				struct inject_vulkan_commands *commands);

/* Likewise, of all in a pool. */
void inject_vulkan_passes_clear_pool(struct inject_vulkan_device *device, VkCommandPool pool);

/* The program has freed a command buffer, or a pool with all of them, or VK_NULL_HANDLE: the device goes. */
void inject_vulkan_passes_free(struct inject_vulkan_device *device, VkCommandPool pool,
			       VkCommandBuffer buffer);
void inject_vulkan_passes_free_pool(struct inject_vulkan_device *device, VkCommandPool pool);

/**
 * inject_vulkan_pass_begin - records the time in front of a command, outside of a render pass
 * @device: device
 * @commands: command buffer
 * @what: kind of the command
 * @size: three sizes, or NULL
 *
 * Return: false: it has no times.
 */
bool inject_vulkan_pass_begin(struct inject_vulkan_device *device,
			      struct inject_vulkan_commands *commands, const char *what,
			      const uint32_t *size);

/* Records the time behind it. */
void inject_vulkan_pass_end(struct inject_vulkan_device *device,
			    struct inject_vulkan_commands *commands);

/* It is submitted with this slot. The times of its last submission were read, or are lost. */
void inject_vulkan_passes_submit(struct inject_vulkan_device *device, VkCommandBuffer buffer,
				 struct inject_vulkan_slot *slot);

/* The slot was read, or is gone. Context: completion.c's lock. */
static inline void inject_vulkan_passes_leave(struct inject_vulkan_slot *slot)
{
	if (slot->commands)
		atomic_store_explicit(&slot->commands->slot, NULL, memory_order_release);
	slot->commands = NULL;
}

void inject_vulkan_passes_forked(void);

#endif /* GPUMON_INJECT_VULKAN_PASSES_H */
