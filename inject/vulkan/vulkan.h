/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by the files of the Vulkan backend: the functions below the layer, and the function list.
 */
#ifndef GPUMON_INJECT_VULKAN_VULKAN_H
#define GPUMON_INJECT_VULKAN_VULKAN_H

/* Functions are asked for by their names: the library is not linked with the loader. */
#define VK_NO_PROTOTYPES
#include <vulkan/vk_layer.h>

#include "channel/call.h"
#include "channel/thread.h"

/* The number of an object, as an id in the capture. */
#define INJECT_VULKAN_ID(number) ((uint32_t)GPUMON_API_VULKAN << GPUMON_API_SHIFT | (number))

/*
 * Functions of an instance that the backend calls; the last ones are not there in each. They are looked up when the
 * instance is made: later the loader answers with those of the first layer.
 */
#define INJECT_VULKAN_OF_INSTANCE(f)				\
	f(vkDestroyInstance)					\
	f(vkEnumerateDeviceExtensionProperties)			\
	f(vkGetPhysicalDeviceMemoryProperties)			\
	f(vkGetPhysicalDeviceProperties)			\
	f(vkGetPhysicalDeviceQueueFamilyProperties)		\
	f(vkGetPhysicalDeviceFeatures2)				\
	f(vkGetPhysicalDeviceFeatures2KHR)			\
	f(vkGetPhysicalDeviceProperties2)			\
	f(vkGetPhysicalDeviceProperties2KHR)			\
	f(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)

#ifdef VK_EXT_shader_object
#define INJECT_VULKAN_OF_NEWER_HEADERS(f)	    f(vkCreateShadersEXT)
#define INJECT_VULKAN_FUNCTIONS_OF_NEWER_HEADERS(f) f(vkCreateShadersEXT, INJECT_CLASS_COMPILE)
#else
#define INJECT_VULKAN_OF_NEWER_HEADERS(f)
#define INJECT_VULKAN_FUNCTIONS_OF_NEWER_HEADERS(f)
#endif

/* Those of command buffers: inside of them times are recorded only where the recorder asks for that. */
#define INJECT_VULKAN_OF_COMMANDS(f)	\
	f(vkCmdBeginDebugUtilsLabelEXT) \
	f(vkCmdBeginRenderPass) \
	f(vkCmdBeginRenderPass2) \
	f(vkCmdBeginRenderPass2KHR) \
	f(vkCmdBeginRendering) \
	f(vkCmdBeginRenderingKHR) \
	f(vkCmdBlitImage) \
	f(vkCmdBlitImage2) \
	f(vkCmdBlitImage2KHR) \
	f(vkCmdBuildAccelerationStructuresKHR) \
	f(vkCmdClearColorImage) \
	f(vkCmdClearDepthStencilImage) \
	f(vkCmdCopyBuffer) \
	f(vkCmdCopyBuffer2) \
	f(vkCmdCopyBuffer2KHR) \
	f(vkCmdCopyBufferToImage) \
	f(vkCmdCopyBufferToImage2) \
	f(vkCmdCopyBufferToImage2KHR) \
	f(vkCmdCopyImage) \
	f(vkCmdCopyImage2) \
	f(vkCmdCopyImage2KHR) \
	f(vkCmdCopyImageToBuffer) \
	f(vkCmdCopyImageToBuffer2) \
	f(vkCmdCopyImageToBuffer2KHR) \
	f(vkCmdDispatch) \
	f(vkCmdDispatchBase) \
	f(vkCmdDispatchBaseKHR) \
	f(vkCmdDispatchIndirect) \
	f(vkCmdEndDebugUtilsLabelEXT) \
	f(vkCmdEndRenderPass) \
	f(vkCmdEndRenderPass2) \
	f(vkCmdEndRenderPass2KHR) \
	f(vkCmdEndRendering) \
	f(vkCmdEndRenderingKHR) \
	f(vkCmdExecuteCommands) \
	f(vkCmdFillBuffer) \
	f(vkCmdPipelineBarrier) \
	f(vkCmdPipelineBarrier2) \
	f(vkCmdPipelineBarrier2KHR) \
	f(vkCmdResolveImage) \
	f(vkCmdResolveImage2) \
	f(vkCmdResolveImage2KHR) \
	f(vkCmdTraceRaysIndirectKHR) \
	f(vkCmdTraceRaysKHR) \
	f(vkCmdUpdateBuffer) \
	f(vkFreeCommandBuffers) \
	f(vkResetCommandBuffer) \
	f(vkResetCommandPool)

/* Functions of a device that the backend calls; the last ones are not there in each device. */
#define INJECT_VULKAN_OF_DEVICE(f)		\
	f(vkAllocateCommandBuffers)		\
	f(vkAllocateMemory)			\
	f(vkBeginCommandBuffer)			\
	f(vkBindBufferMemory)			\
	f(vkCmdCopyQueryPoolResults)		\
	f(vkCmdResetQueryPool)			\
	f(vkCmdSetEvent)			\
	f(vkCmdWriteTimestamp)			\
	f(vkCreateBuffer)			\
	f(vkCreateCommandPool)			\
	f(vkCreateComputePipelines)		\
	f(vkCreateEvent)			\
	f(vkCreateGraphicsPipelines)		\
	f(vkCreateQueryPool)			\
	f(vkCreateShaderModule)			\
	f(vkDestroyBuffer)			\
	f(vkDestroyCommandPool)			\
	f(vkDestroyDevice)			\
	f(vkDestroyEvent)			\
	f(vkDestroyQueryPool)			\
	f(vkDeviceWaitIdle)			\
	f(vkEndCommandBuffer)			\
	f(vkFreeMemory)				\
	f(vkGetBufferMemoryRequirements)	\
	f(vkGetDeviceQueue)			\
	f(vkGetEventStatus)			\
	f(vkGetQueryPoolResults)		\
	f(vkMapMemory)				\
	f(vkQueueBindSparse)			\
	f(vkQueueSubmit)			\
	f(vkQueueWaitIdle)			\
	f(vkResetEvent)				\
	f(vkWaitForFences)			\
	f(vkAcquireNextImage2KHR)		\
	f(vkAcquireNextImageKHR)		\
	f(vkCreateRayTracingPipelinesKHR)	\
	f(vkCreateSharedSwapchainsKHR)		\
	f(vkCreateSwapchainKHR)			\
	f(vkDeferredOperationJoinKHR)		\
	f(vkDestroySwapchainKHR)		\
	f(vkGetDeviceQueue2)			\
	f(vkGetPastPresentationTimingGOOGLE)	\
	f(vkGetSwapchainImagesKHR)		\
	f(vkQueueBeginDebugUtilsLabelEXT)	\
	f(vkQueueEndDebugUtilsLabelEXT)		\
	f(vkQueueInsertDebugUtilsLabelEXT)	\
	f(vkQueuePresentKHR)			\
	f(vkQueueSubmit2)			\
	f(vkQueueSubmit2KHR)			\
	f(vkSetDebugUtilsObjectNameEXT)		\
	f(vkWaitForPresentKHR)			\
	f(vkWaitSemaphores)			\
	f(vkWaitSemaphoresKHR)			\
	INJECT_VULKAN_OF_COMMANDS(f)		\
	INJECT_VULKAN_OF_NEWER_HEADERS(f)

#define INJECT_VULKAN_POINTER(name) PFN_##name name;

/**
 * struct inject_vulkan_below_instance - functions below the layer
 * @get: finds others
 * @domains_khr: vkGetPhysicalDeviceCalibrateableTimeDomainsKHR, which older headers do not have
 */
struct inject_vulkan_below_instance {
	PFN_vkGetInstanceProcAddr get;
	PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT domains_khr;
	INJECT_VULKAN_OF_INSTANCE(INJECT_VULKAN_POINTER)
};

/**
 * struct inject_vulkan_below - functions below the layer, NULL where a device has not got one
 * @get: finds others
 * @calibrate: vkGetCalibratedTimestamps, of the extension that there is
 * @reset: vkResetQueryPool, of Vulkan 1.2 or the extension, where it may be called
 */
struct inject_vulkan_below {
	PFN_vkGetDeviceProcAddr get;
	PFN_vkGetCalibratedTimestampsEXT calibrate;
	PFN_vkResetQueryPool reset;
	INJECT_VULKAN_OF_DEVICE(INJECT_VULKAN_POINTER)
};

/* Functions that are recorded, with what they do. */
#define INJECT_VULKAN_FUNCTIONS(f)				\
	f(vkQueueSubmit, INJECT_CLASS_KERNEL)			\
	f(vkQueueSubmit2, INJECT_CLASS_KERNEL)			\
	f(vkQueueSubmit2KHR, INJECT_CLASS_KERNEL)		\
	f(vkQueueBindSparse, INJECT_CLASS_KERNEL)		\
	f(vkQueuePresentKHR, INJECT_CLASS_BLOCKING)		\
	f(vkAcquireNextImageKHR, INJECT_CLASS_BLOCKING)		\
	f(vkAcquireNextImage2KHR, INJECT_CLASS_BLOCKING)	\
	f(vkWaitForPresentKHR, INJECT_CLASS_BLOCKING)		\
	f(vkWaitForFences, INJECT_CLASS_BLOCKING)		\
	f(vkWaitSemaphores, INJECT_CLASS_BLOCKING)		\
	f(vkWaitSemaphoresKHR, INJECT_CLASS_BLOCKING)		\
	f(vkQueueWaitIdle, INJECT_CLASS_BLOCKING)		\
	f(vkDeviceWaitIdle, INJECT_CLASS_BLOCKING)		\
	f(vkCreateGraphicsPipelines, INJECT_CLASS_COMPILE)	\
	f(vkCreateComputePipelines, INJECT_CLASS_COMPILE)	\
	f(vkCreateRayTracingPipelinesKHR, INJECT_CLASS_COMPILE)	\
	f(vkDeferredOperationJoinKHR, INJECT_CLASS_COMPILE)	\
	f(vkCreateShaderModule, INJECT_CLASS_COMPILE)		\
	INJECT_VULKAN_FUNCTIONS_OF_NEWER_HEADERS(f)

enum inject_vulkan_function {
#define INJECT_VULKAN_NUMBER(name, class) INJECT_##name,
	INJECT_VULKAN_FUNCTIONS(INJECT_VULKAN_NUMBER)
#undef INJECT_VULKAN_NUMBER
	INJECT_VULKAN_COUNT
};

#endif /* GPUMON_INJECT_VULKAN_VULKAN_H */
