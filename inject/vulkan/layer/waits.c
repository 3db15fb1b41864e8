// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls that wait for the GPU, or for the display. */
#include "wrappers.h"

/* A program that does not wait at all may ask again and again. */
static uint32_t begin_wait(enum inject_vulkan_function function,
			   const struct inject_vulkan_device *device, uint64_t timeout_ns)
{
	return timeout_ns ? inject_vulkan_call_begin(function, device->context, 0) : 0;
}

/* Of a wait for the GPU: what had to end has ended. */
static VkResult end_wait(struct inject_vulkan_device *device, uint32_t correlation, VkResult result)
{
	inject_vulkan_call_end(correlation, result);
	if (result == VK_SUCCESS)
		inject_vulkan_completion_waited(device);
	return result;
}

static VkResult VKAPI_CALL wait_for_fences(VkDevice handle, uint32_t count, const VkFence *fences,
					   VkBool32 all, uint64_t timeout)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkWaitForFences, device, timeout);
	VkResult result = device->below.vkWaitForFences(handle, count, fences, all, timeout);

	return end_wait(device, correlation, result);
}

static VkResult wait_for_semaphores(struct inject_vulkan_device *device,
				    enum inject_vulkan_function function,
				    PFN_vkWaitSemaphores below, const VkSemaphoreWaitInfo *info,
				    uint64_t timeout)
{
	uint32_t correlation = begin_wait(function, device, timeout);
	VkResult result = below(device->handle, info, timeout);

	return end_wait(device, correlation, result);
}

static VkResult VKAPI_CALL wait_semaphores(VkDevice handle, const VkSemaphoreWaitInfo *info,
					   uint64_t timeout)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	return wait_for_semaphores(device, INJECT_vkWaitSemaphores, device->below.vkWaitSemaphores,
				   info, timeout);
}

static VkResult VKAPI_CALL wait_semaphores_khr(VkDevice handle, const VkSemaphoreWaitInfo *info,
					       uint64_t timeout)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	return wait_for_semaphores(device, INJECT_vkWaitSemaphoresKHR,
				   device->below.vkWaitSemaphoresKHR, info, timeout);
}

static VkResult VKAPI_CALL queue_wait_idle(VkQueue handle)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkQueueWaitIdle, device, UINT64_MAX);
	VkResult result = device->below.vkQueueWaitIdle(handle);

	return end_wait(device, correlation, result);
}

static VkResult VKAPI_CALL device_wait_idle(VkDevice handle)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkDeviceWaitIdle, device, UINT64_MAX);
	VkResult result = device->below.vkDeviceWaitIdle(handle);

	return end_wait(device, correlation, result);
}

static VkResult VKAPI_CALL acquire_image(VkDevice handle, VkSwapchainKHR swapchain,
					 uint64_t timeout, VkSemaphore semaphore, VkFence fence,
					 uint32_t *index)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkAcquireNextImageKHR, device, timeout);
	VkResult result = device->below.vkAcquireNextImageKHR(handle, swapchain, timeout, semaphore,
							      fence, index);

	return inject_vulkan_call_end(correlation, result);
}

static VkResult VKAPI_CALL acquire_image_2(VkDevice handle, const VkAcquireNextImageInfoKHR *info,
					   uint32_t *index)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkAcquireNextImage2KHR, device, info->timeout);
	VkResult result = device->below.vkAcquireNextImage2KHR(handle, info, index);

	return inject_vulkan_call_end(correlation, result);
}

static VkResult VKAPI_CALL wait_for_present(VkDevice handle, VkSwapchainKHR swapchain, uint64_t id,
					    uint64_t timeout)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	uint32_t correlation = begin_wait(INJECT_vkWaitForPresentKHR, device, timeout);
	VkResult result = device->below.vkWaitForPresentKHR(handle, swapchain, id, timeout);

	if (result >= 0 && result != VK_TIMEOUT)
		inject_vulkan_present_waited(device, swapchain, id);
	return inject_vulkan_call_end(correlation, result);
}

const struct inject_vulkan_wrapper inject_vulkan_waits_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkWaitForFences, wait_for_fences),
	INJECT_VULKAN_WRAPPER(vkWaitSemaphores, wait_semaphores),
	INJECT_VULKAN_WRAPPER(vkWaitSemaphoresKHR, wait_semaphores_khr),
	INJECT_VULKAN_WRAPPER(vkQueueWaitIdle, queue_wait_idle),
	INJECT_VULKAN_WRAPPER(vkDeviceWaitIdle, device_wait_idle),
	INJECT_VULKAN_WRAPPER(vkAcquireNextImageKHR, acquire_image),
	INJECT_VULKAN_WRAPPER(vkAcquireNextImage2KHR, acquire_image_2),
	INJECT_VULKAN_WRAPPER(vkWaitForPresentKHR, wait_for_present),
	{ NULL, NULL },
};
