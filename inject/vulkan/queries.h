/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Times that command buffers write, and how the host gets them: it asks the driver, or command buffers copy them into
 * memory that the host sees.
 */
#ifndef GPUMON_INJECT_VULKAN_QUERIES_H
#define GPUMON_INJECT_VULKAN_QUERIES_H

#include "objects.h"

/**
 * struct inject_vulkan_answer - about a query, as the driver lays it out
 * @value: time
 * @is_there: not 0: @value is valid
 */
struct inject_vulkan_answer {
	uint64_t value;
	_Atomic uint64_t is_there;
};

/**
 * struct inject_vulkan_queries - queries of a pool
 * @pool: of the driver
 * @buffer: to which they are copied; VK_NULL_HANDLE: they are not
 * @memory: of @buffer
 * @copied: the same for the host
 */
struct inject_vulkan_queries {
	VkQueryPool pool;
	VkBuffer buffer;
	VkDeviceMemory memory;
	struct inject_vulkan_answer *copied;
};

/* False: the driver refuses them. inject_vulkan_queries_destroy() is for both. */
bool inject_vulkan_queries_make(struct inject_vulkan_device *device,
				struct inject_vulkan_queries *queries, uint32_t count);
void inject_vulkan_queries_destroy(struct inject_vulkan_device *device,
				   struct inject_vulkan_queries *queries);

/* Records that a time is written, of an even query before all that follows, of an odd one behind all before. */
void inject_vulkan_queries_write(const struct inject_vulkan_device *device,
				 const struct inject_vulkan_queries *queries,
				 VkCommandBuffer buffer, uint32_t query);

/**
 * inject_vulkan_queries_read - ask for times
 * @device: device
 * @queries: queries
 * @first: first query
 * @count: how many
 * @answers: filled
 *
 * Return: VK_SUCCESS: all are there. VK_NOT_READY: some are. Otherwise an error of the driver.
 */
VkResult inject_vulkan_queries_read(const struct inject_vulkan_device *device,
				    const struct inject_vulkan_queries *queries, uint32_t first,
				    uint32_t count, struct inject_vulkan_answer *answers);

#endif /* GPUMON_INJECT_VULKAN_QUERIES_H */
