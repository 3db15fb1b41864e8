// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "vulkan.h"
#include "compute.h"

VkInstance make_instance_with(uint32_t api, const char *layer, uint32_t count,
			      const char *const *extensions)
{
	const VkApplicationInfo program = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		.pApplicationName = "program",
		.apiVersion = api,
	};
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &program,
		.enabledLayerCount = layer ? 1 : 0,
		.ppEnabledLayerNames = &layer,
		.enabledExtensionCount = count,
		.ppEnabledExtensionNames = extensions,
	};
	VkInstance instance;

	NEED(vkCreateInstance(&info, NULL, &instance) == VK_SUCCESS);
	return instance;
}

VkInstance make_instance(uint32_t api, const char *layer)
{
	return make_instance_with(api, layer, 0, NULL);
}

void choose_device(struct device *device, VkInstance instance)
{
	VkQueueFamilyProperties families[16];
	VkPhysicalDeviceMemoryProperties memory;
	uint32_t count = 1, wanted;

	*device = (struct device){ .instance = instance };
	NEED(vkEnumeratePhysicalDevices(instance, &count, &device->physical) >= 0 && count);
	vkGetPhysicalDeviceProperties(device->physical, &device->properties);
	count = 16;
	vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
	wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
	while (device->family < count && (families[device->family].queueFlags & wanted) != wanted)
		device->family++;
	NEED(device->family < count);
	device->queues = families[device->family].queueCount;
	if (device->queues > QUEUES_MAX)
		device->queues = QUEUES_MAX;
	vkGetPhysicalDeviceMemoryProperties(device->physical, &memory);
	wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	while (device->memory_type < memory.memoryTypeCount &&
	       (memory.memoryTypes[device->memory_type].propertyFlags & wanted) != wanted)
		device->memory_type++;
	NEED(device->memory_type < memory.memoryTypeCount);
}

void make_device_with(struct device *device, const void *features, uint32_t count,
		      const char *const *extensions)
{
	static const float priorities[QUEUES_MAX] = { 1, 1, 1, 1 };
	const VkDeviceQueueCreateInfo queues = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = device->family,
		.queueCount = device->queues,
		.pQueuePriorities = priorities,
	};
	const VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = features,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queues,
		.enabledExtensionCount = count,
		.ppEnabledExtensionNames = extensions,
	};

	NEED(vkCreateDevice(device->physical, &info, NULL, &device->handle) == VK_SUCCESS);
	for (uint32_t i = 0; i < device->queues; i++)
		vkGetDeviceQueue(device->handle, device->family, i, &device->queue[i]);
}

void make_device(struct device *device, const void *features)
{
	make_device_with(device, features, 0, NULL);
}

VkFence make_fence(const struct device *device)
{
	const VkFenceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkFence fence;

	NEED(vkCreateFence(device->handle, &info, NULL, &fence) == VK_SUCCESS);
	return fence;
}

VkCommandPool make_pool(const struct device *device)
{
	const VkCommandPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.queueFamilyIndex = device->family,
	};
	VkCommandPool pool;

	NEED(vkCreateCommandPool(device->handle, &info, NULL, &pool) == VK_SUCCESS);
	return pool;
}

VkCommandBuffer make_buffer(const struct device *device, VkCommandPool pool,
			    VkCommandBufferLevel level)
{
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = pool,
		.level = level,
		.commandBufferCount = 1,
	};
	VkCommandBuffer buffer;

	NEED(vkAllocateCommandBuffers(device->handle, &info, &buffer) == VK_SUCCESS);
	return buffer;
}

VkBuffer make_words(const struct device *device, VkDeviceMemory *memory, uint32_t **data)
{
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = WORDS * sizeof(uint32_t),
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
			 VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
	};
	VkMemoryAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.memoryTypeIndex = device->memory_type,
	};
	VkMemoryRequirements need;
	VkBuffer buffer;

	NEED(vkCreateBuffer(device->handle, &info, NULL, &buffer) == VK_SUCCESS);
	vkGetBufferMemoryRequirements(device->handle, buffer, &need);
	NEED(need.memoryTypeBits & 1u << device->memory_type);
	allocate.allocationSize = need.size;
	NEED(vkAllocateMemory(device->handle, &allocate, NULL, memory) == VK_SUCCESS);
	NEED(vkBindBufferMemory(device->handle, buffer, *memory, 0) == VK_SUCCESS);
	NEED(vkMapMemory(device->handle, *memory, 0, VK_WHOLE_SIZE, 0, (void **)data) ==
	     VK_SUCCESS);
	for (uint32_t i = 0; i < WORDS; i++)
		(*data)[i] = i;
	return buffer;
}

static void make_set(const struct device *device, struct work *work)
{
	const VkDescriptorSetLayoutBinding binding = {
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.descriptorCount = 1,
		.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
	};
	const VkDescriptorSetLayoutCreateInfo layout_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 1,
		.pBindings = &binding,
	};
	const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 };
	const VkDescriptorPoolCreateInfo pool_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1,
		.poolSizeCount = 1,
		.pPoolSizes = &size,
	};
	VkDescriptorSetAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1,
	};
	const VkDescriptorBufferInfo of_buffer = { work->buffer, 0, VK_WHOLE_SIZE };
	VkWriteDescriptorSet write = {
		.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
		.descriptorCount = 1,
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.pBufferInfo = &of_buffer,
	};
	NEED(vkCreateDescriptorSetLayout(device->handle, &layout_info, NULL, &work->set_layout) ==
	     VK_SUCCESS);
	NEED(vkCreateDescriptorPool(device->handle, &pool_info, NULL, &work->sets) == VK_SUCCESS);
	allocate.descriptorPool = work->sets;
	allocate.pSetLayouts = &work->set_layout;
	NEED(vkAllocateDescriptorSets(device->handle, &allocate, &work->set) == VK_SUCCESS);
	write.dstSet = work->set;
	vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
}

VkShaderModule make_compute_module(const struct device *device)
{
	const VkShaderModuleCreateInfo code = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = sizeof(compute),
		.pCode = compute,
	};
	VkShaderModule module;

	NEED(vkCreateShaderModule(device->handle, &code, NULL, &module) == VK_SUCCESS);
	return module;
}

void make_work(const struct device *device, struct work *work)
{
	const VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(uint32_t) };
	VkPipelineLayoutCreateInfo layout_info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1,
		.pushConstantRangeCount = 1,
		.pPushConstantRanges = &range,
	};
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.pName = "main",
		},
	};
	work->buffer = make_words(device, &work->memory, &work->data);
	make_set(device, work);
	layout_info.pSetLayouts = &work->set_layout;
	NEED(vkCreatePipelineLayout(device->handle, &layout_info, NULL, &work->layout) ==
	     VK_SUCCESS);
	work->code = make_compute_module(device);
	info.stage.module = work->code;
	info.layout = work->layout;
	NEED(vkCreateComputePipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL,
				      &work->pipeline) == VK_SUCCESS);
	work->pool = make_pool(device);
}

void end_work(const struct device *device, struct work *work, unsigned int number)
{
	printf("sum %u %016llx\n", number, (unsigned long long)sum_of(work->data, WORDS));
	NEED(vkDeviceWaitIdle(device->handle) == VK_SUCCESS);
	vkDestroyCommandPool(device->handle, work->pool, NULL);
	vkDestroyPipeline(device->handle, work->pipeline, NULL);
	vkDestroyPipelineLayout(device->handle, work->layout, NULL);
	vkDestroyShaderModule(device->handle, work->code, NULL);
	vkDestroyDescriptorPool(device->handle, work->sets, NULL);
	vkDestroyDescriptorSetLayout(device->handle, work->set_layout, NULL);
	vkDestroyBuffer(device->handle, work->buffer, NULL);
	vkFreeMemory(device->handle, work->memory, NULL);
}

void give_name(const struct device *device, VkObjectType type, const void *handle, const char *text)
{
	const VkDebugUtilsObjectNameInfoEXT info = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
		.objectType = type,
		.objectHandle = (uint64_t)(uintptr_t)handle,
		.pObjectName = text,
	};
	PFN_vkSetDebugUtilsObjectNameEXT set =
		(PFN_vkSetDebugUtilsObjectNameEXT)vkGetDeviceProcAddr(
			device->handle, "vkSetDebugUtilsObjectNameEXT");

	NEED(set && set(device->handle, &info) == VK_SUCCESS);
}

void begin_work(VkCommandBuffer buffer, const struct work *work, VkCommandBufferUsageFlags flags,
		uint32_t rounds)
{
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = flags,
	};

	NEED(vkBeginCommandBuffer(buffer, &begin) == VK_SUCCESS);
	vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, work->pipeline);
	vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, work->layout, 0, 1,
				&work->set, 0, NULL);
	vkCmdPushConstants(buffer, work->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(rounds),
			   &rounds);
}

void record_work_into(VkCommandBuffer buffer, const struct work *work,
		      VkCommandBufferUsageFlags flags, uint32_t rounds)
{
	const VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
				 VK_ACCESS_HOST_READ_BIT,
	};

	begin_work(buffer, work, flags, rounds);
	vkCmdDispatch(buffer, WORDS / 64, 1, 1);
	vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
			     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0,
			     1, &barrier, 0, NULL, 0, NULL);
	NEED(vkEndCommandBuffer(buffer) == VK_SUCCESS);
}

VkCommandBuffer record_work(const struct device *device, const struct work *work, uint32_t rounds)
{
	VkCommandBuffer buffer = make_buffer(device, work->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	record_work_into(buffer, work, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, rounds);
	return buffer;
}

uint64_t sum_of(const uint32_t *words, size_t count)
{
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ words[i]) * 1099511628211u;
	return sum;
}
