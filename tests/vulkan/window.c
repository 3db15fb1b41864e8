// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <xcb/xcb.h>

#include "window.h"

/* NULL: no display, images are presented to nobody (VK_EXT_headless_surface). */
static xcb_connection_t *display;

void begin_showing(struct device *device, bool names, uint32_t count, const char *const *extensions,
		   const void *features)
{
	bool headless = getenv("HEADLESS");
	const char *of_instance[] = { VK_KHR_SURFACE_EXTENSION_NAME,
				      headless ? VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME :
						 VK_KHR_XCB_SURFACE_EXTENSION_NAME,
				      VK_EXT_DEBUG_UTILS_EXTENSION_NAME };
	const char *of_device[8] = { VK_KHR_SWAPCHAIN_EXTENSION_NAME };

	NEED(count < 8);
	for (uint32_t i = 0; i < count; i++)
		of_device[1 + i] = extensions[i];
	display = headless ? NULL : xcb_connect(NULL, NULL);
	NEED(headless || !xcb_connection_has_error(display));
	choose_device(device, make_instance_with(VK_API_VERSION_1_3, getenv("PROGRAM_LAYER"),
						 names ? 3 : 2, of_instance));
	make_device_with(device, features, 1 + count, of_device);
}

void end_showing(struct device *device)
{
	NEED(vkDeviceWaitIdle(device->handle) == VK_SUCCESS);
	vkDestroyDevice(device->handle, NULL);
	vkDestroyInstance(device->instance, NULL);
	if (display)
		xcb_disconnect(display);
}

static VkSurfaceKHR make_headless(const struct device *device)
{
	const VkHeadlessSurfaceCreateInfoEXT info = {
		.sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT,
	};
	/* The loader exports no functions of extensions like this one. */
	PFN_vkCreateHeadlessSurfaceEXT make = (PFN_vkCreateHeadlessSurfaceEXT)vkGetInstanceProcAddr(
		device->instance, "vkCreateHeadlessSurfaceEXT");
	VkSurfaceKHR surface;

	NEED(make);
	NEED(make(device->instance, &info, NULL, &surface) == VK_SUCCESS);
	return surface;
}

static VkSurfaceKHR make_shown(const struct device *device, uint32_t width, uint32_t height)
{
	const xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(display)).data;
	const VkXcbSurfaceCreateInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR,
		.connection = display,
		.window = xcb_generate_id(display),
	};
	VkSurfaceKHR surface;

	xcb_create_window(display, XCB_COPY_FROM_PARENT, info.window, screen->root, 0, 0,
			  (uint16_t)width, (uint16_t)height, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT,
			  screen->root_visual, 0, NULL);
	xcb_map_window(display, info.window);
	NEED(xcb_flush(display) > 0);
	NEED(vkCreateXcbSurfaceKHR(device->instance, &info, NULL, &surface) == VK_SUCCESS);
	return surface;
}

void make_window(struct window *window, const struct device *device, uint32_t width,
		 uint32_t height)
{
	const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkBool32 can_show = VK_FALSE;

	*window = (struct window){ .device = device, .size = { width, height } };
	window->surface = display ? make_shown(device, width, height) : make_headless(device);
	NEED(vkGetPhysicalDeviceSurfaceSupportKHR(device->physical, device->family, window->surface,
						  &can_show) == VK_SUCCESS);
	NEED(can_show);
	NEED(vkCreateFence(device->handle, &fence, NULL, &window->acquired) == VK_SUCCESS);
}

static void change_layout(VkCommandBuffer buffer, VkImage image, VkImageLayout from,
			  VkImageLayout to)
{
	const VkImageMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.srcAccessMask = from == VK_IMAGE_LAYOUT_UNDEFINED ? 0 :
								     VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = from == VK_IMAGE_LAYOUT_UNDEFINED ? VK_ACCESS_TRANSFER_WRITE_BIT :
								     0,
		.oldLayout = from,
		.newLayout = to,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.image = image,
		.subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
	};

	vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
			     0, 0, NULL, 0, NULL, 1, &barrier);
}

static VkCommandBuffer record_fill(const struct window *window, uint32_t number)
{
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	};
	const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
	const VkClearColorValue color = { .float32 = { 0.25f * (float)(number % 4), 0.5f, 0.5f,
						       1 } };
	VkCommandBuffer buffer =
		make_buffer(window->device, window->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	NEED(vkBeginCommandBuffer(buffer, &begin) == VK_SUCCESS);
	change_layout(buffer, window->image[number], VK_IMAGE_LAYOUT_UNDEFINED,
		      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
	vkCmdClearColorImage(buffer, window->image[number], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
			     &color, 1, &all);
	change_layout(buffer, window->image[number], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
		      VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
	NEED(vkEndCommandBuffer(buffer) == VK_SUCCESS);
	return buffer;
}

static void end_images(struct window *window)
{
	for (uint32_t i = 0; i < window->images; i++) {
		vkDestroyFence(window->device->handle, window->filled[i], NULL);
		vkDestroySemaphore(window->device->handle, window->shown[i], NULL);
	}
	vkDestroyCommandPool(window->device->handle, window->pool, NULL);
	vkDestroySwapchainKHR(window->device->handle, window->swapchain, NULL);
}

static void make_images(struct window *window)
{
	const VkSemaphoreCreateInfo semaphore = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
	};
	const struct device *device = window->device;

	window->images = IMAGES_MAX;
	NEED(vkGetSwapchainImagesKHR(device->handle, window->swapchain, &window->images,
				     window->image) == VK_SUCCESS);
	window->pool = make_pool(device);
	for (uint32_t i = 0; i < window->images; i++) {
		window->fill[i] = record_fill(window, i);
		window->filled[i] = make_fence(device);
		NEED(vkCreateSemaphore(device->handle, &semaphore, NULL, &window->shown[i]) ==
		     VK_SUCCESS);
	}
}

void make_swapchain(struct window *window, VkPresentModeKHR mode)
{
	VkSwapchainCreateInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
		.surface = window->surface,
		.imageExtent = window->size,
		.imageArrayLayers = 1,
		.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
		.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
		.presentMode = mode,
		.clipped = VK_TRUE,
		.oldSwapchain = window->swapchain,
	};
	const struct device *device = window->device;
	VkSurfaceCapabilitiesKHR can;
	VkPresentModeKHR modes[8];
	VkSurfaceFormatKHR format;
	uint32_t count = 1, i;
	VkSwapchainKHR made;

	NEED(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(device->physical, window->surface, &can) ==
	     VK_SUCCESS);
	NEED(vkGetPhysicalDeviceSurfaceFormatsKHR(device->physical, window->surface, &count,
						  &format) >= 0);
	count = 8;
	NEED(vkGetPhysicalDeviceSurfacePresentModesKHR(device->physical, window->surface, &count,
						       modes) >= 0);
	for (i = 0; i < count && modes[i] != mode; i++)
		;
	NEED(i < count);
	info.preTransform = can.currentTransform;
	info.minImageCount = can.minImageCount;
	info.imageFormat = format.format;
	info.imageColorSpace = format.colorSpace;
	NEED(vkCreateSwapchainKHR(device->handle, &info, NULL, &made) == VK_SUCCESS);
	if (window->swapchain)
		end_images(window);
	window->swapchain = made;
	window->mode = mode;
	make_images(window);
}

void end_window(struct window *window)
{
	end_images(window);
	vkDestroyFence(window->device->handle, window->acquired, NULL);
	vkDestroySurfaceKHR(window->device->instance, window->surface, NULL);
}

uint32_t acquire_image(struct window *window)
{
	VkDevice device = window->device->handle;
	VkResult result;
	uint32_t image;

	result = vkAcquireNextImageKHR(device, window->swapchain, 10000000000, VK_NULL_HANDLE,
				       window->acquired, &image);
	NEED(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
	NEED(vkWaitForFences(device, 1, &window->acquired, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	NEED(vkResetFences(device, 1, &window->acquired) == VK_SUCCESS);
	return image;
}

void fill_image(struct window *window, VkQueue queue, uint32_t image)
{
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &window->fill[image],
		.signalSemaphoreCount = 1,
		.pSignalSemaphores = &window->shown[image],
	};

	NEED(vkQueueSubmit(queue, 1, &info, window->filled[image]) == VK_SUCCESS);
}

VkResult present_image(struct window *window, VkQueue queue, uint32_t image, const void *next)
{
	const VkPresentInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
		.pNext = next,
		.waitSemaphoreCount = 1,
		.pWaitSemaphores = &window->shown[image],
		.swapchainCount = 1,
		.pSwapchains = &window->swapchain,
		.pImageIndices = &image,
	};

	return vkQueuePresentKHR(queue, &info);
}

void wait_for_image(struct window *window, uint32_t image)
{
	VkDevice device = window->device->handle;

	NEED(vkWaitForFences(device, 1, &window->filled[image], VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	NEED(vkResetFences(device, 1, &window->filled[image]) == VK_SUCCESS);
}
