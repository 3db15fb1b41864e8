// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "chain.h"

/* What programs put behind VkDeviceCreateInfo and VkSubmitInfo. */
static const struct {
	VkStructureType type;
	size_t size;
} sizes[] = {
	{ VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, sizeof(VkLayerDeviceCreateInfo) },
	{ VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO,
	  sizeof(VkDeviceGroupDeviceCreateInfo) },
	{ VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO, sizeof(VkDeviceGroupSubmitInfo) },
	{ VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO, sizeof(VkProtectedSubmitInfo) },
	{ VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, sizeof(VkTimelineSemaphoreSubmitInfo) },
	{ VK_STRUCTURE_TYPE_DEVICE_PRIVATE_DATA_CREATE_INFO,
	  sizeof(VkDevicePrivateDataCreateInfo) },
#define FEATURES(type, structure)                                                             \
	{                                                                                     \
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, sizeof(VkPhysicalDevice##structure) \
	}
	FEATURES(FEATURES_2, Features2),
	FEATURES(VULKAN_1_1_FEATURES, Vulkan11Features),
	FEATURES(VULKAN_1_2_FEATURES, Vulkan12Features),
	FEATURES(VULKAN_1_3_FEATURES, Vulkan13Features),
	FEATURES(16BIT_STORAGE_FEATURES, 16BitStorageFeatures),
	FEATURES(8BIT_STORAGE_FEATURES, 8BitStorageFeatures),
	FEATURES(BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddressFeatures),
	FEATURES(DESCRIPTOR_INDEXING_FEATURES, DescriptorIndexingFeatures),
	FEATURES(DYNAMIC_RENDERING_FEATURES, DynamicRenderingFeatures),
	FEATURES(HOST_QUERY_RESET_FEATURES, HostQueryResetFeatures),
	FEATURES(IMAGELESS_FRAMEBUFFER_FEATURES, ImagelessFramebufferFeatures),
	FEATURES(MAINTENANCE_4_FEATURES, Maintenance4Features),
	FEATURES(MULTIVIEW_FEATURES, MultiviewFeatures),
	FEATURES(PROTECTED_MEMORY_FEATURES, ProtectedMemoryFeatures),
	FEATURES(SAMPLER_YCBCR_CONVERSION_FEATURES, SamplerYcbcrConversionFeatures),
	FEATURES(SCALAR_BLOCK_LAYOUT_FEATURES, ScalarBlockLayoutFeatures),
	FEATURES(SHADER_ATOMIC_INT64_FEATURES, ShaderAtomicInt64Features),
	FEATURES(SHADER_FLOAT16_INT8_FEATURES, ShaderFloat16Int8Features),
	FEATURES(SUBGROUP_SIZE_CONTROL_FEATURES, SubgroupSizeControlFeatures),
	FEATURES(SYNCHRONIZATION_2_FEATURES, Synchronization2Features),
	FEATURES(TIMELINE_SEMAPHORE_FEATURES, TimelineSemaphoreFeatures),
	FEATURES(VARIABLE_POINTERS_FEATURES, VariablePointersFeatures),
	FEATURES(VULKAN_MEMORY_MODEL_FEATURES, VulkanMemoryModelFeatures),
	FEATURES(CUSTOM_BORDER_COLOR_FEATURES_EXT, CustomBorderColorFeaturesEXT),
	FEATURES(EXTENDED_DYNAMIC_STATE_FEATURES_EXT, ExtendedDynamicStateFeaturesEXT),
	FEATURES(EXTENDED_DYNAMIC_STATE_2_FEATURES_EXT, ExtendedDynamicState2FeaturesEXT),
	FEATURES(MEMORY_PRIORITY_FEATURES_EXT, MemoryPriorityFeaturesEXT),
	FEATURES(PAGEABLE_DEVICE_LOCAL_MEMORY_FEATURES_EXT, PageableDeviceLocalMemoryFeaturesEXT),
	FEATURES(ROBUSTNESS_2_FEATURES_EXT, Robustness2FeaturesEXT),
	FEATURES(SHADER_ATOMIC_FLOAT_FEATURES_EXT, ShaderAtomicFloatFeaturesEXT),
	FEATURES(TRANSFORM_FEEDBACK_FEATURES_EXT, TransformFeedbackFeaturesEXT),
	FEATURES(VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT, VertexAttributeDivisorFeaturesEXT),
	FEATURES(PRESENT_ID_FEATURES_KHR, PresentIdFeaturesKHR),
	FEATURES(PRESENT_WAIT_FEATURES_KHR, PresentWaitFeaturesKHR),
	FEATURES(ACCELERATION_STRUCTURE_FEATURES_KHR, AccelerationStructureFeaturesKHR),
	FEATURES(RAY_TRACING_PIPELINE_FEATURES_KHR, RayTracingPipelineFeaturesKHR),
	FEATURES(RAY_QUERY_FEATURES_KHR, RayQueryFeaturesKHR),
#undef FEATURES
};

static size_t size_of(VkStructureType type)
{
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].type == type)
			return sizes[i].size;
	return 0;
}

const void *inject_vulkan_chain_find(const void *chain, VkStructureType type)
{
	const VkBaseInStructure *at;

	for (at = chain; at; at = at->pNext)
		if (at->sType == type)
			return at;
	return NULL;
}

const void *inject_vulkan_chain_copy(struct inject_vulkan_chain *copy, const void *chain,
				     VkStructureType type, void **changed)
{
	const VkBaseInStructure *at;
	VkBaseOutStructure *last = NULL, *one;
	size_t used = 0, size;

	for (at = chain; at; at = at->pNext) {
		size = (size_of(at->sType) + 7) / 8 * 8;
		if (!size || used + size > sizeof(copy->words))
			return NULL;
		one = (VkBaseOutStructure *)((char *)copy->words + used);
		memcpy(one, at, size_of(at->sType));
		used += size;
		if (last)
			last->pNext = one;
		last = one;
		if (at->sType == type) {
			*changed = one;
			return copy->words;
		}
	}
	return NULL;
}
