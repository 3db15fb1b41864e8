// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Pipelines and shaders: the driver compiles them in these calls, in the program's thread. */
#include "wrappers.h"

static uint32_t begin(enum inject_vulkan_function function,
		      const struct inject_vulkan_device *device)
{
	return inject_vulkan_call_begin(function, device->context, 0);
}

static VkResult VKAPI_CALL create_graphics(VkDevice handle, VkPipelineCache cache, uint32_t count,
					   const VkGraphicsPipelineCreateInfo *infos,
					   const VkAllocationCallbacks *allocator, VkPipeline *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkCreateGraphicsPipelines, device);

	return inject_vulkan_call_end(correlation, device->below.vkCreateGraphicsPipelines(
							   handle, cache, count, infos, allocator,
							   made));
}

static VkResult VKAPI_CALL create_compute(VkDevice handle, VkPipelineCache cache, uint32_t count,
					  const VkComputePipelineCreateInfo *infos,
					  const VkAllocationCallbacks *allocator, VkPipeline *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkCreateComputePipelines, device);

	return inject_vulkan_call_end(correlation, device->below.vkCreateComputePipelines(
							   handle, cache, count, infos, allocator,
							   made));
}

/* With a deferred operation the driver may compile later, in vkDeferredOperationJoinKHR(). */
static VkResult VKAPI_CALL create_ray_tracing(VkDevice handle, VkDeferredOperationKHR deferred,
					      VkPipelineCache cache, uint32_t count,
					      const VkRayTracingPipelineCreateInfoKHR *infos,
					      const VkAllocationCallbacks *allocator,
					      VkPipeline *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkCreateRayTracingPipelinesKHR, device);

	return inject_vulkan_call_end(correlation,
				      device->below.vkCreateRayTracingPipelinesKHR(
					      handle, deferred, cache, count, infos, allocator,
					      made));
}

static VkResult VKAPI_CALL join_deferred(VkDevice handle, VkDeferredOperationKHR deferred)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkDeferredOperationJoinKHR, device);

	return inject_vulkan_call_end(correlation,
				      device->below.vkDeferredOperationJoinKHR(handle, deferred));
}

static VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo *info,
					 const VkAllocationCallbacks *allocator,
					 VkShaderModule *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkCreateShaderModule, device);

	return inject_vulkan_call_end(correlation, device->below.vkCreateShaderModule(
							   handle, info, allocator, made));
}

#ifdef VK_EXT_shader_object
static VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
					  const VkShaderCreateInfoEXT *infos,
					  const VkAllocationCallbacks *allocator, VkShaderEXT *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin(INJECT_vkCreateShadersEXT, device);

	return inject_vulkan_call_end(correlation, device->below.vkCreateShadersEXT(
							   handle, count, infos, allocator, made));
}
#endif

const struct inject_vulkan_wrapper inject_vulkan_pipelines_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkCreateGraphicsPipelines, create_graphics),
	INJECT_VULKAN_WRAPPER(vkCreateComputePipelines, create_compute),
	INJECT_VULKAN_WRAPPER(vkCreateRayTracingPipelinesKHR, create_ray_tracing),
	INJECT_VULKAN_WRAPPER(vkDeferredOperationJoinKHR, join_deferred),
	INJECT_VULKAN_WRAPPER(vkCreateShaderModule, create_module),
#ifdef VK_EXT_shader_object
	INJECT_VULKAN_WRAPPER(vkCreateShadersEXT, create_shaders),
#endif
	{ NULL, NULL },
};
