// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Vulkan, which is one queue and one thread. MODE:
 *   direct    the exported functions of the loader
 *   pointers  functions from vkGetDeviceProcAddr()
 *   late      the same; the device is made after the file GO is there
 */
#include <string.h>
#include <vulkan/vulkan.h>

#include "real.h"

#define BYTES 256

const unsigned int threads = 1;

static bool pointers;
static VkInstance instance;
static VkDevice device;
static VkQueue queue;
static VkFence fence;
static VkBuffer buffers[2];
static VkCommandPool pool;
static VkPipeline pipeline;

/* An empty compute shader. */
static const uint32_t shader[] = {
	0x07230203,
	0x00010000,
	0,
	6,
	0,
	/* OpCapability Shader; OpMemoryModel Logical GLSL450 */
	0x00020011,
	1,
	0x0003000e,
	0,
	1,
	/* OpEntryPoint GLCompute %3 "main"; OpExecutionMode %3 LocalSize 1 1 1 */
	0x0005000f,
	5,
	3,
	0x6e69616d,
	0,
	0x00060010,
	3,
	17,
	1,
	1,
	1,
	/* %1 = OpTypeVoid; %2 = OpTypeFunction %1 */
	0x00020013,
	1,
	0x00030021,
	2,
	1,
	/* %3 = OpFunction %1 None %2; %4 = OpLabel; OpReturn; OpFunctionEnd */
	0x00050036,
	1,
	3,
	0,
	2,
	0x000200f8,
	4,
	0x000100fd,
	0x00010038,
};

#define FUNCTIONS(X)         \
	X(vkCmdCopyBuffer)   \
	X(vkCmdDispatch)     \
	X(vkCmdFillBuffer)   \
	X(vkCmdUpdateBuffer) \
	X(vkDeviceWaitIdle)  \
	X(vkQueueSubmit)     \
	X(vkQueueWaitIdle)   \
	X(vkWaitForFences)

#define POINTER(name) static PFN_##name by_##name;
FUNCTIONS(POINTER)

#define USE(name, ...) CALL_BY(by_##name, name, __VA_ARGS__)

static void make_buffers(void)
{
	VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = BYTES,
		.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
	};
	VkMemoryAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
	};
	VkMemoryRequirements need;
	VkDeviceMemory memory;

	for (unsigned int i = 0; i < 2; i++) {
		NEED(!vkCreateBuffer(device, &info, NULL, &buffers[i]));
		vkGetBufferMemoryRequirements(device, buffers[i], &need);
		allocate.allocationSize = need.size;
		allocate.memoryTypeIndex = (uint32_t)__builtin_ctz(need.memoryTypeBits);
		NEED(!vkAllocateMemory(device, &allocate, NULL, &memory));
		NEED(!vkBindBufferMemory(device, buffers[i], memory, 0));
	}
}

static void make_pipeline(void)
{
	VkShaderModuleCreateInfo code = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = sizeof(shader),
		.pCode = shader,
	};
	VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
	};
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.pName = "main",
		},
	};

	NEED(!vkCreateShaderModule(device, &code, NULL, &info.stage.module));
	NEED(!vkCreatePipelineLayout(device, &layout, NULL, &info.layout));
	NEED(!vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
}

static void make_device(void)
{
	static const float priority = 1;
	VkDeviceQueueCreateInfo queues = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queues,
	};
	VkFenceCreateInfo fences = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkCommandPoolCreateInfo pools = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
	};
	VkPhysicalDevice physical;
	uint32_t count = 1;

	NEED(vkEnumeratePhysicalDevices(instance, &count, &physical) >= 0 && count);
	NEED(!vkCreateDevice(physical, &info, NULL, &device));
	vkGetDeviceQueue(device, 0, 0, &queue);
	NEED(!vkCreateFence(device, &fences, NULL, &fence));
	NEED(!vkCreateCommandPool(device, &pools, NULL, &pool));
	make_buffers();
	make_pipeline();
#define TAKE(name) by_##name = pointers ? (PFN_##name)vkGetDeviceProcAddr(device, #name) : name;
	FUNCTIONS(TAKE)
	/* Otherwise both modes are the same. */
	NEED(!pointers || by_vkQueueSubmit != vkQueueSubmit);
}

void before_go(const char *mode)
{
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };

	pointers = strcmp(mode, "direct") != 0;
	NEED(!vkCreateInstance(&info, NULL, &instance));
	if (strcmp(mode, "late") != 0)
		make_device();
}

void after_go(const char *mode)
{
	if (!strcmp(mode, "late"))
		make_device();
}

void work(unsigned int thread)
{
	VkCommandBufferAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = pool,
		.commandBufferCount = 1,
	};
	VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
	};
	VkBufferCopy copy = { .size = BYTES };
	VkCommandBuffer commands;
	char data[BYTES] = { 0 };

	(void)thread;
	NEED(!vkAllocateCommandBuffers(device, &allocate, &commands));
	submit.pCommandBuffers = &commands;
	NEED(!vkBeginCommandBuffer(commands, &begin));
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	USE(vkCmdUpdateBuffer, commands, buffers[0], 0, BYTES, data);
	USE(vkCmdFillBuffer, commands, buffers[0], 0, BYTES, 7);
	for (unsigned int i = 0; i < 3; i++)
		USE(vkCmdDispatch, commands, 1, 1, 1);
	USE(vkCmdCopyBuffer, commands, buffers[0], buffers[1], 1, &copy);
	NEED(!vkEndCommandBuffer(commands));
	NEED(!USE(vkQueueSubmit, queue, 1, &submit, fence));
	NEED(!USE(vkWaitForFences, device, 1, &fence, VK_TRUE, UINT64_MAX));
	NEED(!vkResetFences(device, 1, &fence));
	NEED(!USE(vkQueueSubmit, queue, 1, &submit, VK_NULL_HANDLE));
	NEED(!USE(vkQueueWaitIdle, queue));
	NEED(!USE(vkDeviceWaitIdle, device));
	vkFreeCommandBuffers(device, pool, 1, &commands);
}
