// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "queries.h"

static bool make_memory(struct inject_vulkan_device *device, struct inject_vulkan_queries *queries,
			uint32_t count)
{
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = count * sizeof(*queries->copied),
		.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
	};
	VkMemoryAllocateInfo wanted = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
					.memoryTypeIndex = device->host_type };
	const struct inject_vulkan_below *below = &device->below;
	VkMemoryRequirements needs;
	void *mapped;

	if (below->vkCreateBuffer(device->handle, &info, NULL, &queries->buffer))
		return false;
	below->vkGetBufferMemoryRequirements(device->handle, queries->buffer, &needs);
	wanted.allocationSize = needs.size;
	if (!(needs.memoryTypeBits >> device->host_type & 1) ||
	    below->vkAllocateMemory(device->handle, &wanted, NULL, &queries->memory) ||
	    below->vkBindBufferMemory(device->handle, queries->buffer, queries->memory, 0) ||
	    below->vkMapMemory(device->handle, queries->memory, 0, VK_WHOLE_SIZE, 0, &mapped))
		return false;
	queries->copied = memset(mapped, 0, count * sizeof(*queries->copied));
	return true;
}

bool inject_vulkan_queries_make(struct inject_vulkan_device *device,
				struct inject_vulkan_queries *queries, uint32_t count)
{
	const VkQueryPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = count,
	};

	memset(queries, 0, sizeof(*queries));
	return !device->below.vkCreateQueryPool(device->handle, &info, NULL, &queries->pool) &&
	       (!device->copies_times || make_memory(device, queries, count));
}

void inject_vulkan_queries_destroy(struct inject_vulkan_device *device,
				   struct inject_vulkan_queries *queries)
{
	device->below.vkDestroyQueryPool(device->handle, queries->pool, NULL);
	device->below.vkDestroyBuffer(device->handle, queries->buffer, NULL);
	device->below.vkFreeMemory(device->handle, queries->memory, NULL);
}

static void copy(const struct inject_vulkan_device *device,
		 const struct inject_vulkan_queries *queries, VkCommandBuffer buffer,
		 uint32_t query, VkQueryResultFlags flags)
{
	device->below.vkCmdCopyQueryPoolResults(
		buffer, queries->pool, query, 1, queries->buffer, query * sizeof(*queries->copied),
		sizeof(*queries->copied),
		VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT | flags);
}

void inject_vulkan_queries_write(const struct inject_vulkan_device *device,
				 const struct inject_vulkan_queries *queries,
				 VkCommandBuffer buffer, uint32_t query)
{
	device->below.vkCmdWriteTimestamp(buffer,
					  query % 2 ? VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT :
						      VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
					  queries->pool, query);
	if (!queries->copied || !(query % 2))
		return;
	copy(device, queries, buffer, query - 1, VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
	/* The driver may write that the time is there before it writes the time. */
	copy(device, queries, buffer, query, 0);
	copy(device, queries, buffer, query, VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
}

VkResult inject_vulkan_queries_read(const struct inject_vulkan_device *device,
				    const struct inject_vulkan_queries *queries, uint32_t first,
				    uint32_t count, struct inject_vulkan_answer *answers)
{
	uint32_t i;

	memset(answers, 0, count * sizeof(*answers));
	if (!queries->copied)
		return device->below.vkGetQueryPoolResults(
			device->handle, queries->pool, first, count, count * sizeof(*answers),
			answers, sizeof(*answers),
			VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
	/* The last first: it is written when those before are. */
	for (i = count; i--;) {
		answers[i].is_there = atomic_load_explicit(&queries->copied[first + i].is_there,
							   memory_order_acquire);
		answers[i].value = queries->copied[first + i].value;
	}
	return VK_SUCCESS;
}
