// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/handles.h"
#include "base/prepared.h"
#include "completion.h"
#include "passes.h"

/**
 * struct inject_vulkan_pool - a pool of the program
 * @next: of its device
 * @handle: of the program
 * @can_be_timed: its command buffers are for queues with timestamps, and are not protected
 * @commands: of it
 */
struct inject_vulkan_pool {
	struct inject_vulkan_pool *next;
	VkCommandPool handle;
	bool can_be_timed;
	struct inject_vulkan_commands *commands;
};

/* Held to find a pool. What is in it is the program's to lock. */
static pthread_mutex_t pools = PTHREAD_MUTEX_INITIALIZER;
static struct inject_handles buffers = INJECT_HANDLES;

void inject_vulkan_passes_pool(struct inject_vulkan_device *device, VkCommandPool handle,
			       const VkCommandPoolCreateInfo *info)
{
	uint32_t family = info->queueFamilyIndex;
	struct inject_vulkan_pool *pool = inject_memory_take(sizeof(*pool));

	if (!pool)
		return;
	memset(pool, 0, sizeof(*pool));
	pool->handle = handle;
	/* A query is reset by a command that transfer queues do not have. */
	pool->can_be_timed = inject_vulkan_family_is_timed(device, family) &&
			     device->family[family].queueFlags &
				     (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT) &&
			     !(info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT);
	pthread_mutex_lock(&pools);
	pool->next = device->pools;
	device->pools = pool;
	pthread_mutex_unlock(&pools);
}

static struct inject_vulkan_pool *find_pool(const struct inject_vulkan_device *device,
					    VkCommandPool handle)
{
	struct inject_vulkan_pool *pool;

	pthread_mutex_lock(&pools);
	for (pool = device->pools; pool && pool->handle != handle; pool = pool->next)
		;
	pthread_mutex_unlock(&pools);
	return pool;
}

void inject_vulkan_passes_add(struct inject_vulkan_device *device,
			      const VkCommandBufferAllocateInfo *info, const VkCommandBuffer *made)
{
	struct inject_vulkan_pool *pool = find_pool(device, info->commandPool);
	struct inject_vulkan_commands *commands;
	uint32_t i;

	for (i = 0; pool && i < info->commandBufferCount; i++) {
		commands = inject_memory_take(sizeof(*commands));
		if (!commands)
			return;
		memset(commands, 0, sizeof(*commands));
		commands->handle = made[i];
		commands->can_be_timed = pool->can_be_timed &&
					 info->level == VK_COMMAND_BUFFER_LEVEL_PRIMARY;
		commands->next = pool->commands;
		pool->commands = commands;
		inject_handle_set(&buffers, made[i], 0, (uintptr_t)commands);
	}
}

struct inject_vulkan_commands *inject_vulkan_passes_find(const struct inject_vulkan_device *device,
							 VkCommandBuffer buffer)
{
	return device->has_passes && !device->is_inherited ?
		       inject_handle_find(&buffers, buffer, 0) :
		       NULL;
}

void inject_vulkan_passes_clear(struct inject_vulkan_device *device,
				struct inject_vulkan_commands *commands)
{
	if (atomic_load_explicit(&commands->slot, memory_order_acquire))
		inject_vulkan_completion_read(device, commands);
	commands->is_timed = false;
	commands->is_inside = false;
	commands->is_open = false;
	commands->used = 0;
	commands->depth = 0;
	commands->part = NULL;
}

void inject_vulkan_passes_clear_pool(struct inject_vulkan_device *device, VkCommandPool handle)
{
	struct inject_vulkan_pool *pool = find_pool(device, handle);
	struct inject_vulkan_commands *commands = pool ? pool->commands : NULL;

	for (; commands; commands = commands->next)
		inject_vulkan_passes_clear(device, commands);
}

static void free_commands(struct inject_vulkan_device *device,
			  struct inject_vulkan_commands *commands)
{
	struct inject_vulkan_part *part, *next;

	/* The handle may have been given to a new command buffer, of another thread, by now. */
	if (inject_handle_find(&buffers, commands->handle, 0) == commands)
		inject_handle_set(&buffers, commands->handle, 0, 0);
	for (part = commands->first; part; part = next) {
		next = part->next;
		inject_vulkan_queries_destroy(device, &part->queries);
		inject_memory_give(part, sizeof(*part));
	}
	inject_memory_give(commands, sizeof(*commands));
}

void inject_vulkan_passes_free(struct inject_vulkan_device *device, VkCommandPool handle,
			       VkCommandBuffer buffer)
{
	struct inject_vulkan_pool *pool = find_pool(device, handle);
	struct inject_vulkan_commands **at = pool ? &pool->commands : NULL, *commands;

	while (at && *at && (*at)->handle != buffer)
		at = &(*at)->next;
	commands = at ? *at : NULL;
	if (!commands)
		return;
	*at = commands->next;
	free_commands(device, commands);
}

void inject_vulkan_passes_free_pool(struct inject_vulkan_device *device, VkCommandPool handle)
{
	struct inject_vulkan_pool **at, *pool;
	struct inject_vulkan_commands *commands, *next;

	do {
		pthread_mutex_lock(&pools);
		for (at = &device->pools; *at && handle && (*at)->handle != handle;)
			at = &(*at)->next;
		pool = *at;
		if (pool)
			*at = pool->next;
		pthread_mutex_unlock(&pools);
		for (commands = pool ? pool->commands : NULL; commands; commands = next) {
			next = commands->next;
			free_commands(device, commands);
		}
		inject_memory_give(pool, sizeof(*pool));
	} while (pool && !handle);
}

/* --- recording */

static struct inject_vulkan_part *make_part(struct inject_vulkan_device *device)
{
	struct inject_vulkan_part *part = inject_memory_take(sizeof(*part));

	if (!part)
		return NULL;
	memset(part, 0, sizeof(*part));
	if (inject_vulkan_queries_make(device, &part->queries, 2 * INJECT_VULKAN_PASSES))
		return part;
	inject_vulkan_queries_destroy(device, &part->queries);
	inject_memory_give(part, sizeof(*part));
	return NULL;
}

/* The part of the next pass, whose queries are reset by the command buffer before their first use. */
static bool next_part(struct inject_vulkan_device *device, struct inject_vulkan_commands *commands)
{
	struct inject_vulkan_part **at = commands->part ? &commands->part->next : &commands->first;

	if (commands->used % INJECT_VULKAN_PASSES)
		return true;
	if (commands->used == INJECT_VULKAN_PASSES * INJECT_VULKAN_PARTS)
		return false;
	if (!*at)
		*at = make_part(device);
	if (!*at)
		return false;
	commands->part = *at;
	device->below.vkCmdResetQueryPool(commands->handle, commands->part->queries.pool, 0,
					  2 * INJECT_VULKAN_PASSES);
	return true;
}

static void name_pass(const struct inject_vulkan_commands *commands,
		      struct inject_vulkan_pass *pass, const char *what, const uint32_t *size)
{
	uint32_t depth = commands->depth < INJECT_VULKAN_LABELS ? commands->depth :
								  INJECT_VULKAN_LABELS;
	const char *label = depth ? commands->label[depth - 1] : "";
	char text[INJECT_VULKAN_PASS_TEXT];

	if (size)
		snprintf(text, sizeof(text), "%s%s%s %ux%ux%u", label, label[0] ? ": " : "", what,
			 size[0], size[1], size[2]);
	else
		snprintf(text, sizeof(text), "%s%s%s", label, label[0] ? ": " : "", what);
	/* Recorded in each frame, a pass keeps its string. */
	if (strcmp(text, pass->text)) {
		memcpy(pass->text, text, sizeof(text));
		atomic_store(&pass->kept, 0);
	}
}

bool inject_vulkan_pass_begin(struct inject_vulkan_device *device,
			      struct inject_vulkan_commands *commands, const char *what,
			      const uint32_t *size)
{
	uint32_t number = commands->used % INJECT_VULKAN_PASSES;

	if (!next_part(device, commands))
		return false;
	name_pass(commands, &commands->part->pass[number], what, size);
	inject_vulkan_queries_write(device, &commands->part->queries, commands->handle, 2 * number);
	return true;
}

void inject_vulkan_pass_end(struct inject_vulkan_device *device,
			    struct inject_vulkan_commands *commands)
{
	inject_vulkan_queries_write(device, &commands->part->queries, commands->handle,
				    2 * (commands->used % INJECT_VULKAN_PASSES) + 1);
	commands->used++;
}

void inject_vulkan_passes_submit(struct inject_vulkan_device *device, VkCommandBuffer buffer,
				 struct inject_vulkan_slot *slot)
{
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	if (!commands || !commands->used)
		return;
	if (atomic_load_explicit(&commands->slot, memory_order_acquire))
		inject_vulkan_completion_read(device, commands);
	slot->commands = commands;
	atomic_store_explicit(&commands->slot, slot, memory_order_release);
}

void inject_vulkan_passes_forked(void)
{
	pthread_mutex_init(&pools, NULL);
	inject_handles_forked(&buffers);
}
