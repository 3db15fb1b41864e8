// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * VK_EXT_headless_surface and VK_KHR_swapchain for drivers that have neither: lavapipe of Debian 12, and NVIDIA's on
 * machines without X. Images are in the device's memory; presenting one waits for the GPU's work on it and shows it
 * to nobody.
 */
#include <stdlib.h>
#include <string.h>

#include "below.h"

#define IMAGES 3

struct swapchain {
	VkImage image[IMAGES];
	VkDeviceMemory memory[IMAGES];
	uint32_t next;
};

static VkPhysicalDeviceMemoryProperties memories;
static VkQueue queue;

void screen_begin(VkPhysicalDevice physical, uint32_t family)
{
	BELOW_INSTANCE(vkGetPhysicalDeviceMemoryProperties)(physical, &memories);
	BELOW_DEVICE(vkGetDeviceQueue)(device, family, 0, &queue);
}

static VkResult VKAPI_CALL create_surface(VkInstance of, const VkHeadlessSurfaceCreateInfoEXT *info,
					  const VkAllocationCallbacks *allocator,
					  VkSurfaceKHR *made)
{
	(void)of;
	(void)info;
	(void)allocator;
	*made = (VkSurfaceKHR)(uintptr_t)1;
	return VK_SUCCESS;
}

static void VKAPI_CALL destroy_surface(VkInstance of, VkSurfaceKHR surface,
				       const VkAllocationCallbacks *allocator)
{
	(void)of;
	(void)surface;
	(void)allocator;
}

static VkResult VKAPI_CALL get_support(VkPhysicalDevice physical, uint32_t family,
				       VkSurfaceKHR surface, VkBool32 *can)
{
	(void)physical;
	(void)family;
	(void)surface;
	*can = VK_TRUE;
	return VK_SUCCESS;
}

static VkResult VKAPI_CALL get_capabilities(VkPhysicalDevice physical, VkSurfaceKHR surface,
					    VkSurfaceCapabilitiesKHR *can)
{
	(void)physical;
	(void)surface;
	*can = (VkSurfaceCapabilitiesKHR){
		.minImageCount = IMAGES,
		.maxImageCount = IMAGES,
		.currentExtent = { UINT32_MAX, UINT32_MAX },
		.minImageExtent = { 1, 1 },
		.maxImageExtent = { 4096, 4096 },
		.maxImageArrayLayers = 1,
		.supportedTransforms = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
		.currentTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
		.supportedCompositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
		.supportedUsageFlags = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
	};
	return VK_SUCCESS;
}

static VkResult VKAPI_CALL get_formats(VkPhysicalDevice physical, VkSurfaceKHR surface,
				       uint32_t *count, VkSurfaceFormatKHR *formats)
{
	(void)physical;
	(void)surface;
	if (formats && *count)
		formats[0] = (VkSurfaceFormatKHR){ VK_FORMAT_B8G8R8A8_UNORM,
						   VK_COLOR_SPACE_SRGB_NONLINEAR_KHR };
	*count = 1;
	return VK_SUCCESS;
}

static VkResult VKAPI_CALL get_modes(VkPhysicalDevice physical, VkSurfaceKHR surface,
				     uint32_t *count, VkPresentModeKHR *modes)
{
	static const VkPresentModeKHR all[] = { VK_PRESENT_MODE_IMMEDIATE_KHR,
						VK_PRESENT_MODE_FIFO_KHR };

	(void)physical;
	(void)surface;
	if (!modes || *count > 2)
		*count = 2;
	if (modes)
		memcpy(modes, all, *count * sizeof(*all));
	return VK_SUCCESS;
}

static void VKAPI_CALL destroy_swapchain(VkDevice handle, VkSwapchainKHR of,
					 const VkAllocationCallbacks *allocator)
{
	struct swapchain *swapchain = (struct swapchain *)(uintptr_t)of;

	for (unsigned int i = 0; swapchain && i < IMAGES; i++) {
		BELOW_DEVICE(vkDestroyImage)(handle, swapchain->image[i], allocator);
		BELOW_DEVICE(vkFreeMemory)(handle, swapchain->memory[i], allocator);
	}
	free(swapchain);
}

static VkResult make_image(struct swapchain *swapchain, unsigned int i,
			   const VkSwapchainCreateInfoKHR *of)
{
	const VkImageCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
		.imageType = VK_IMAGE_TYPE_2D,
		.format = of->imageFormat,
		.extent = { of->imageExtent.width, of->imageExtent.height, 1 },
		.mipLevels = 1,
		.arrayLayers = 1,
		.samples = VK_SAMPLE_COUNT_1_BIT,
		.usage = of->imageUsage,
	};
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements needs;
	VkResult result = BELOW_DEVICE(vkCreateImage)(device, &info, NULL, &swapchain->image[i]);

	if (result != VK_SUCCESS)
		return result;
	BELOW_DEVICE(vkGetImageMemoryRequirements)(device, swapchain->image[i], &needs);
	memory.allocationSize = needs.size;
	while (memory.memoryTypeIndex < memories.memoryTypeCount - 1 &&
	       !(needs.memoryTypeBits >> memory.memoryTypeIndex & 1))
		memory.memoryTypeIndex++;
	result = BELOW_DEVICE(vkAllocateMemory)(device, &memory, NULL, &swapchain->memory[i]);
	return result == VK_SUCCESS ? BELOW_DEVICE(vkBindImageMemory)(device, swapchain->image[i],
								      swapchain->memory[i], 0) :
				      result;
}

static VkResult VKAPI_CALL create_swapchain(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
					    const VkAllocationCallbacks *allocator,
					    VkSwapchainKHR *made)
{
	struct swapchain *swapchain = calloc(1, sizeof(*swapchain));
	VkResult result = swapchain ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;

	for (unsigned int i = 0; result == VK_SUCCESS && i < IMAGES; i++)
		result = make_image(swapchain, i, info);
	*made = (VkSwapchainKHR)(uintptr_t)swapchain;
	if (result != VK_SUCCESS)
		destroy_swapchain(handle, *made, allocator);
	return result;
}

static VkResult VKAPI_CALL get_images(VkDevice handle, VkSwapchainKHR of, uint32_t *count,
				      VkImage *images)
{
	struct swapchain *swapchain = (struct swapchain *)(uintptr_t)of;

	(void)handle;
	if (!images || *count > IMAGES)
		*count = IMAGES;
	if (images)
		memcpy(images, swapchain->image, *count * sizeof(*images));
	return VK_SUCCESS;
}

/* The queue's other users are not there meanwhile: the program has one thread that shows images. */
static VkResult VKAPI_CALL acquire_image(VkDevice handle, VkSwapchainKHR of, uint64_t timeout,
					 VkSemaphore semaphore, VkFence fence, uint32_t *index)
{
	struct swapchain *swapchain = (struct swapchain *)(uintptr_t)of;
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.signalSemaphoreCount = semaphore != VK_NULL_HANDLE,
		.pSignalSemaphores = &semaphore,
	};

	(void)handle;
	(void)timeout;
	*index = swapchain->next++ % IMAGES;
	return BELOW_DEVICE(vkQueueSubmit)(queue, 1, &info, fence);
}

static VkResult VKAPI_CALL present(VkQueue of, const VkPresentInfoKHR *presented)
{
	static const VkPipelineStageFlags stages[] = { VK_PIPELINE_STAGE_ALL_COMMANDS_BIT };
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.waitSemaphoreCount = presented->waitSemaphoreCount ? 1 : 0,
		.pWaitSemaphores = presented->pWaitSemaphores,
		.pWaitDstStageMask = stages,
	};

	return BELOW_DEVICE(vkQueueSubmit)(of, 1, &info, VK_NULL_HANDLE);
}

PFN_vkVoidFunction screen_function(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction function;
	} functions[] = {
#define FUNCTION(name, with) { #name, (PFN_vkVoidFunction)(PFN_##name)(with) }
		FUNCTION(vkCreateHeadlessSurfaceEXT, create_surface),
		FUNCTION(vkDestroySurfaceKHR, destroy_surface),
		FUNCTION(vkGetPhysicalDeviceSurfaceSupportKHR, get_support),
		FUNCTION(vkGetPhysicalDeviceSurfaceCapabilitiesKHR, get_capabilities),
		FUNCTION(vkGetPhysicalDeviceSurfaceFormatsKHR, get_formats),
		FUNCTION(vkGetPhysicalDeviceSurfacePresentModesKHR, get_modes),
		FUNCTION(vkCreateSwapchainKHR, create_swapchain),
		FUNCTION(vkDestroySwapchainKHR, destroy_swapchain),
		FUNCTION(vkGetSwapchainImagesKHR, get_images),
		FUNCTION(vkAcquireNextImageKHR, acquire_image),
		FUNCTION(vkQueuePresentKHR, present),
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}

bool is_of_screen(const char *extension)
{
	static const char *const names[] = { VK_KHR_SURFACE_EXTENSION_NAME,
					     VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME,
					     VK_KHR_SWAPCHAIN_EXTENSION_NAME };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], extension))
			return true;
	return false;
}
