/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A window on an X server, and a swapchain whose images are filled with a colour. With HEADLESS in the environment
 * a surface without a display.
 */
#ifndef GPUMON_TESTS_WINDOW_H
#define GPUMON_TESTS_WINDOW_H

#define VK_USE_PLATFORM_XCB_KHR
#include "vulkan.h"

#define IMAGES_MAX 8

/**
 * struct window - a window
 * @swapchain: VK_NULL_HANDLE before the first make_swapchain()
 * @images: how many the swapchain has
 * @image: of the swapchain
 * @fill: command buffer that fills an image
 * @filled: fence of its last submission, which was waited for
 * @shown: semaphore for which its presentation waits
 * @acquired: fence of vkAcquireNextImageKHR()
 * @pool: of @fill
 */
struct window {
	const struct device *device;
	VkSurfaceKHR surface;
	VkSwapchainKHR swapchain;
	VkPresentModeKHR mode;
	VkExtent2D size;
	uint32_t images;
	VkImage image[IMAGES_MAX];
	VkCommandBuffer fill[IMAGES_MAX];
	VkFence filled[IMAGES_MAX];
	VkSemaphore shown[IMAGES_MAX];
	VkFence acquired;
	VkCommandPool pool;
};

/*
 * An instance and a device that can show images. @names: VK_EXT_debug_utils, too. @count: of more extensions of
 * the device. @features: behind pNext
 */
void begin_showing(struct device *device, bool names, uint32_t count, const char *const *extensions,
		   const void *features);

/* Destroys both; no window is there any longer. */
void end_showing(struct device *device);

void make_window(struct window *window, const struct device *device, uint32_t width,
		 uint32_t height);

/* The first one, or one that takes the place of the one before. Nothing runs. */
void make_swapchain(struct window *window, VkPresentModeKHR mode);

void end_window(struct window *window);

/* The next image, when it can be filled. */
uint32_t acquire_image(struct window *window);

/* Submits what fills it. @queue: nobody else uses it meanwhile */
void fill_image(struct window *window, VkQueue queue, uint32_t image);

/* Presents it. @next: for pNext. Returns what the call did. */
VkResult present_image(struct window *window, VkQueue queue, uint32_t image, const void *next);

/* Until it was filled: the image's command buffer can be used again. */
void wait_for_image(struct window *window, uint32_t image);

#endif /* GPUMON_TESTS_WINDOW_H */
