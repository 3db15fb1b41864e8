/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the programs of these tests share: an instance, a device, buffers, and shaders. */
#ifndef GPUMON_TESTS_VULKAN_H
#define GPUMON_TESTS_VULKAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define NEED(what)                                                                         \
	do {                                                                               \
		if (!(what)) {                                                             \
			printf("program: line %d of %s: %s\n", __LINE__, __FILE__, #what); \
			fflush(stdout);                                                    \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define QUEUES_MAX 4

/**
 * struct device - a device with the queues that it has, QUEUES_MAX at most
 * @memory_type: host visible and coherent
 */
struct device {
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice handle;
	uint32_t family;
	uint32_t queues;
	VkQueue queue[QUEUES_MAX];
	uint32_t memory_type;
	VkPhysicalDeviceProperties properties;
};

/**
 * struct work - what command buffers that compute need
 * @data: of the buffer, mapped
 */
struct work {
	VkBuffer buffer;
	VkDeviceMemory memory;
	uint32_t *data;
	VkPipeline pipeline;
	VkPipelineLayout layout;
	VkShaderModule code;
	VkDescriptorSetLayout set_layout;
	VkDescriptorPool sets;
	VkDescriptorSet set;
	VkCommandPool pool;
};

#define WORDS 4096

/* CLOCK_MONOTONIC, ns */
static inline uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A line of the account of the calling thread. */
static inline void account(unsigned int count, uint64_t from, uint64_t to)
{
	printf("submission %ld %u %llu %llu\n", syscall(SYS_gettid), count,
	       (unsigned long long)from, (unsigned long long)to);
}

/* @layer: one that the program asks for, NULL: none. @api: version */
VkInstance make_instance(uint32_t api, const char *layer);
VkInstance make_instance_with(uint32_t api, const char *layer, uint32_t count,
			      const char *const *extensions);

/* Fills in what a device can be made of: the first physical device, and its family of queues. */
void choose_device(struct device *device, VkInstance instance);

/* @features: behind pNext, NULL: none */
void make_device(struct device *device, const void *features);
void make_device_with(struct device *device, const void *features, uint32_t count,
		      const char *const *extensions);

VkFence make_fence(const struct device *device);
VkCommandPool make_pool(const struct device *device);
VkCommandBuffer make_buffer(const struct device *device, VkCommandPool pool,
			    VkCommandBufferLevel level);

/* A buffer of WORDS, with its memory, mapped. */
VkBuffer make_words(const struct device *device, VkDeviceMemory *memory, uint32_t **data);

/* The shader of record_work(). */
VkShaderModule make_compute_module(const struct device *device);

/* Everything that record_work() needs. */
void make_work(const struct device *device, struct work *work);

/* Prints the number of what it computed, and destroys it. @number: of the work */
void end_work(const struct device *device, struct work *work, unsigned int number);

/* Begins a command buffer whose dispatches compute so many rounds. */
void begin_work(VkCommandBuffer buffer, const struct work *work, VkCommandBufferUsageFlags flags,
		uint32_t rounds);

/* A command buffer that computes so many rounds. It may be on its way twice. */
VkCommandBuffer record_work(const struct device *device, const struct work *work, uint32_t rounds);
void record_work_into(VkCommandBuffer buffer, const struct work *work,
		      VkCommandBufferUsageFlags flags, uint32_t rounds);

/* By VK_EXT_debug_utils, which the instance has. */
void give_name(const struct device *device, VkObjectType type, const void *handle,
	       const char *text);

/* Number of some words. */
uint64_t sum_of(const uint32_t *words, size_t count);

/* Draws one picture and prints its number. Of file picture.c. */
void draw_picture(const struct device *device, unsigned int frames);

#endif /* GPUMON_TESTS_VULKAN_H */
