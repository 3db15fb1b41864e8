// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Shows images, with an account of them. present MODE [NUMBER]:
 *   threads N    two threads with a window each show N images; after half of them a new swapchain takes the place
 *                of the old one
 *   both N       N images in two windows, by one call each time
 *   storm N      N swapchains, one after the other, with an image each
 *   timed N      N images with numbers (VK_KHR_present_id), which are waited for (VK_KHR_present_wait) and whose
 *                times on the screen are asked for (VK_GOOGLE_display_timing); only with a driver that has these
 *   lost N       N images; the driver refuses the last one
 * An account is lines:
 *   swapchain ID OLD WIDTH HEIGHT IMAGES MODE BEGIN END
 *   present THREAD SWAPCHAIN NUMBER IMAGE ID BEGIN END RESULT
 *   shown SWAPCHAIN NUMBER TIME
 */
#include <pthread.h>
#include <string.h>

#include "window.h"

static struct device device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int images;
static unsigned int swapchains;

/**
 * struct shown - a window with what was counted
 * @id: of its swapchain, 0 before the first
 * @number: of the last present of it
 */
struct shown {
	struct window window;
	unsigned int id;
	unsigned int number;
};

/* Under the lock: swapchains of the process are counted. */
static void next_swapchain(struct shown *shown, VkPresentModeKHR mode)
{
	uint64_t from = now();
	unsigned int old = shown->id;

	make_swapchain(&shown->window, mode);
	shown->id = ++swapchains;
	shown->number = 0;
	printf("swapchain %u %u %u %u %u %u %llu %llu\n", shown->id, old, shown->window.size.width,
	       shown->window.size.height, shown->window.images, mode, (unsigned long long)from,
	       (unsigned long long)now());
}

static void account_for(struct shown *shown, uint32_t image, uint64_t id, uint64_t from,
			VkResult result)
{
	printf("present %ld %u %u %u %llu %llu %llu %d\n", syscall(SYS_gettid), shown->id,
	       ++shown->number, image, (unsigned long long)id, (unsigned long long)from,
	       (unsigned long long)now(), result);
}

__attribute__((noinline)) static void show_image(struct shown *shown, uint64_t id, const void *next)
{
	uint32_t image = acquire_image(&shown->window);
	VkResult result;
	uint64_t from;

	pthread_mutex_lock(&lock);
	fill_image(&shown->window, device.queue[0], image);
	from = now();
	result = present_image(&shown->window, device.queue[0], image, next);
	account_for(shown, image, id, from, result);
	pthread_mutex_unlock(&lock);
	wait_for_image(&shown->window, image);
}

static void wait_until_idle(void)
{
	pthread_mutex_lock(&lock);
	NEED(vkQueueWaitIdle(device.queue[0]) == VK_SUCCESS);
	pthread_mutex_unlock(&lock);
}

static void *show_in_thread(void *argument)
{
	struct shown *shown = argument;

	for (unsigned int i = 0; i < images; i++) {
		if (i == images / 2) {
			wait_until_idle();
			pthread_mutex_lock(&lock);
			next_swapchain(shown, VK_PRESENT_MODE_FIFO_KHR);
			pthread_mutex_unlock(&lock);
		}
		show_image(shown, 0, NULL);
	}
	wait_until_idle();
	return NULL;
}

static void run_threads(void)
{
	struct shown shown[2] = { 0 };
	pthread_t threads[2];

	begin_showing(&device, false, 0, NULL, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		make_window(&shown[i].window, &device, 48 + 16 * i, 32);
		next_swapchain(&shown[i], VK_PRESENT_MODE_IMMEDIATE_KHR);
	}
	for (int i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, show_in_thread, &shown[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		end_window(&shown[i].window);
	end_showing(&device);
}

static void show_both(struct shown *shown)
{
	VkSwapchainKHR handles[2];
	VkSemaphore semaphores[2];
	uint32_t image[2];
	VkResult results[2] = { VK_NOT_READY, VK_NOT_READY };
	const VkPresentInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
		.waitSemaphoreCount = 2,
		.pWaitSemaphores = semaphores,
		.swapchainCount = 2,
		.pSwapchains = handles,
		.pImageIndices = image,
		.pResults = results,
	};
	uint64_t from;

	for (int i = 0; i < 2; i++) {
		image[i] = acquire_image(&shown[i].window);
		fill_image(&shown[i].window, device.queue[0], image[i]);
		handles[i] = shown[i].window.swapchain;
		semaphores[i] = shown[i].window.shown[image[i]];
	}
	from = now();
	NEED(vkQueuePresentKHR(device.queue[0], &info) == VK_SUCCESS);
	for (int i = 0; i < 2; i++)
		account_for(&shown[i], image[i], 0, from, results[i]);
	for (int i = 0; i < 2; i++)
		wait_for_image(&shown[i].window, image[i]);
}

static void run_both(void)
{
	struct shown shown[2] = { 0 };

	begin_showing(&device, false, 0, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		make_window(&shown[i].window, &device, 32, 32);
		next_swapchain(&shown[i], VK_PRESENT_MODE_IMMEDIATE_KHR);
	}
	for (unsigned int i = 0; i < images; i++)
		show_both(shown);
	wait_until_idle();
	for (int i = 0; i < 2; i++)
		end_window(&shown[i].window);
	end_showing(&device);
}

static void run_storm(void)
{
	struct shown shown = { 0 };

	begin_showing(&device, false, 0, NULL, NULL);
	make_window(&shown.window, &device, 32, 32);
	for (unsigned int i = 0; i < images; i++) {
		next_swapchain(&shown, VK_PRESENT_MODE_IMMEDIATE_KHR);
		show_image(&shown, 0, NULL);
		wait_until_idle();
	}
	end_window(&shown.window);
	end_showing(&device);
}

static void ask_times(const struct shown *shown)
{
	PFN_vkGetPastPresentationTimingGOOGLE ask =
		(PFN_vkGetPastPresentationTimingGOOGLE)vkGetDeviceProcAddr(
			device.handle, "vkGetPastPresentationTimingGOOGLE");
	VkPastPresentationTimingGOOGLE timings[4];
	uint32_t count = 0;

	NEED(ask);
	NEED(ask(device.handle, shown->window.swapchain, &count, NULL) == VK_SUCCESS);
	NEED(count <= 4);
	NEED(ask(device.handle, shown->window.swapchain, &count, timings) == VK_SUCCESS);
	for (uint32_t i = 0; i < count; i++)
		printf("shown %u %u %llu\n", shown->id, timings[i].presentID - 1000,
		       (unsigned long long)timings[i].actualPresentTime);
}

static void run_timed(void)
{
	static const char *const extensions[] = { VK_KHR_PRESENT_ID_EXTENSION_NAME,
						  VK_KHR_PRESENT_WAIT_EXTENSION_NAME,
						  VK_GOOGLE_DISPLAY_TIMING_EXTENSION_NAME };
	PFN_vkWaitForPresentKHR wait;
	struct shown shown = { 0 };

	begin_showing(&device, false, 3, extensions, NULL);
	wait = (PFN_vkWaitForPresentKHR)vkGetDeviceProcAddr(device.handle, "vkWaitForPresentKHR");
	NEED(wait);
	make_window(&shown.window, &device, 32, 32);
	next_swapchain(&shown, VK_PRESENT_MODE_IMMEDIATE_KHR);
	for (uint32_t i = 1; i <= images; i++) {
		const uint64_t id = 1ull << 40 | i;
		const VkPresentTimeGOOGLE time = { .presentID = 1000 + i };
		const VkPresentTimesInfoGOOGLE times = {
			.sType = VK_STRUCTURE_TYPE_PRESENT_TIMES_INFO_GOOGLE,
			.swapchainCount = 1,
			.pTimes = &time,
		};
		const VkPresentIdKHR ids = {
			.sType = VK_STRUCTURE_TYPE_PRESENT_ID_KHR,
			.pNext = &times,
			.swapchainCount = 1,
			.pPresentIds = &id,
		};

		show_image(&shown, id, &ids);
		NEED(wait(device.handle, shown.window.swapchain, id, 10000000000) == VK_SUCCESS);
		ask_times(&shown);
	}
	wait_until_idle();
	end_window(&shown.window);
	end_showing(&device);
}

static void run_lost(void)
{
	struct shown shown = { 0 };

	begin_showing(&device, false, 0, NULL, NULL);
	make_window(&shown.window, &device, 32, 32);
	next_swapchain(&shown, VK_PRESENT_MODE_IMMEDIATE_KHR);
	for (unsigned int i = 0; i < images; i++)
		show_image(&shown, 0, NULL);
	wait_until_idle();
	end_window(&shown.window);
	end_showing(&device);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	images = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	if (!strcmp(mode, "threads")) {
		run_threads();
	} else if (!strcmp(mode, "both")) {
		run_both();
	} else if (!strcmp(mode, "storm")) {
		run_storm();
	} else if (!strcmp(mode, "timed")) {
		run_timed();
	} else if (!strcmp(mode, "lost")) {
		run_lost();
	} else {
		fprintf(stderr, "present: no mode \"%s\"\n", mode);
		return 2;
	}
	return 0;
}
