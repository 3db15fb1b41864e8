// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Submissions, with an account of them. program MODE [NUMBER]:
 *   threads N    two threads, each N submissions of one to three command buffers, waited for by a fence
 *   picture N    the same picture N times, drawn offscreen, with a secondary command buffer
 *   kinds        each way to submit: several batches, many command buffers, vkQueueSubmit2, a timeline
 *                semaphore, a device group, none at all
 *   storm N      N submissions before the first is waited for
 *   devices N    N devices, one after the other, with two submissions each
 *   two          two devices at a time
 *   ends         ends by _exit() after a wait
 *   left         ends by exit() with the device there
 *   refused      devices that cannot be made
 *   visible      what a program sees of the layer
 *   cost N       processor time of N submissions
 *   frames N     time of a frame of 1,000 submissions, the median of N
 *   recorded N   likewise; each submits a command buffer that is recorded for it
 *   device       what the device is
 *   fork         a child of fork ends
 *   passes N     a command buffer without SIMULTANEOUS_USE, N times, and recorded again in several ways
 *   names        names of a queue and of command buffers, and labels (VK_EXT_debug_utils)
 * An account is lines "submission THREAD COUNT BEGIN END": COUNT command buffers, the times of the call's
 * begin and of the wait's end.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vulkan.h"

#define ROUNDS 2000

static uint32_t api = VK_API_VERSION_1_3;

static void begin(struct device *device)
{
	choose_device(device, make_instance(api, getenv("PROGRAM_LAYER")));
	make_device(device, NULL);
}

static void end(struct device *device)
{
	NEED(vkDeviceWaitIdle(device->handle) == VK_SUCCESS);
	vkDestroyDevice(device->handle, NULL);
	vkDestroyInstance(device->instance, NULL);
}

static void submit_and_wait(const struct device *device, unsigned int queue, uint32_t count,
			    const VkCommandBuffer *buffers, VkFence fence)
{
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = count,
		.pCommandBuffers = buffers,
	};

	NEED(vkQueueSubmit(device->queue[queue], 1, &info, fence) == VK_SUCCESS);
	NEED(vkWaitForFences(device->handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	NEED(vkResetFences(device->handle, 1, &fence) == VK_SUCCESS);
}

/* --- threads */

static struct device shared;
static struct work works[2];
static unsigned int submissions;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static void *submit_in_thread(void *argument)
{
	unsigned int number = *(unsigned int *)argument, queue = number % shared.queues;
	VkFence fence = make_fence(&shared);
	VkCommandBuffer buffers[3];

	make_work(&shared, &works[number]);
	for (int i = 0; i < 3; i++)
		buffers[i] = record_work(&shared, &works[number], ROUNDS);
	for (unsigned int i = 0; i < submissions; i++) {
		const VkSubmitInfo info = {
			.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			.commandBufferCount = 1 + i % 3,
			.pCommandBuffers = buffers,
		};
		uint64_t from;

		if (shared.queues == 1)
			pthread_mutex_lock(&queue_lock);
		from = now();
		NEED(vkQueueSubmit(shared.queue[queue], 1, &info, fence) == VK_SUCCESS);
		if (shared.queues == 1)
			pthread_mutex_unlock(&queue_lock);
		NEED(vkWaitForFences(shared.handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
		account(1 + i % 3, from, now());
		NEED(vkResetFences(shared.handle, 1, &fence) == VK_SUCCESS);
	}
	vkDestroyFence(shared.handle, fence, NULL);
	return NULL;
}

static void run_threads(void)
{
	unsigned int numbers[2] = { 0, 1 };
	pthread_t threads[2];

	begin(&shared);
	for (int i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, submit_in_thread, &numbers[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < 2; i++)
		end_work(&shared, &works[i], i);
	end(&shared);
}

/* --- kinds */

static void submit_batches(const struct device *device, const VkCommandBuffer *buffers,
			   VkFence fence)
{
	const uint32_t masks[2] = { 1, 1 };
	const VkDeviceGroupSubmitInfo group = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO,
		.commandBufferCount = 2,
		.pCommandBufferDeviceMasks = masks,
	};
	const VkSubmitInfo infos[3] = {
		{ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		  .pNext = &group,
		  .commandBufferCount = 2,
		  .pCommandBuffers = buffers },
		{ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO },
		{ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		  .commandBufferCount = 1,
		  .pCommandBuffers = buffers },
	};
	VkSubmitInfo before[3];
	uint64_t from = now();

	memcpy(before, infos, sizeof(before));
	NEED(vkQueueSubmit(device->queue[0], 3, infos, fence) == VK_SUCCESS);
	NEED(!memcmp(before, infos, sizeof(before)) && group.commandBufferCount == 2);
	NEED(vkWaitForFences(device->handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	account(3, from, now());
	NEED(vkResetFences(device->handle, 1, &fence) == VK_SUCCESS);
}

static void submit_many(const struct device *device, const VkCommandBuffer *buffers, VkFence fence)
{
	VkCommandBuffer many[20];
	uint64_t from = now();

	for (int i = 0; i < 20; i++)
		many[i] = buffers[i % 2];
	submit_and_wait(device, 0, 20, many, fence);
	account(20, from, now());
}

static void submit_with_infos(const struct device *device, const VkCommandBuffer *buffers)
{
	const VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	const VkSemaphoreCreateInfo semaphore_info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
		.pNext = &type,
	};
	VkCommandBufferSubmitInfo infos[2] = {
		{ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
		  .commandBuffer = buffers[0] },
		{ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
		  .commandBuffer = buffers[1] },
	};
	VkSemaphoreSubmitInfo signal = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
		.value = 7,
		.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
	};
	VkSubmitInfo2 info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
		.commandBufferInfoCount = 2,
		.pCommandBufferInfos = infos,
		.signalSemaphoreInfoCount = 1,
		.pSignalSemaphoreInfos = &signal,
	};
	VkSemaphoreWaitInfo wait = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &signal.semaphore,
		.pValues = &signal.value,
	};
	uint64_t from = now(), value;

	NEED(vkCreateSemaphore(device->handle, &semaphore_info, NULL, &signal.semaphore) ==
	     VK_SUCCESS);
	NEED(vkQueueSubmit2(device->queue[0], 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
	NEED(vkWaitSemaphores(device->handle, &wait, UINT64_MAX) == VK_SUCCESS);
	account(2, from, now());
	NEED(vkGetSemaphoreCounterValue(device->handle, signal.semaphore, &value) == VK_SUCCESS);
	NEED(value == 7);
	vkDestroySemaphore(device->handle, signal.semaphore, NULL);
}

static void run_kinds(void)
{
	const VkPhysicalDeviceVulkan13Features more = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
		.synchronization2 = VK_TRUE,
	};
	const VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.pNext = (void *)(uintptr_t)&more,
		.timelineSemaphore = VK_TRUE,
	};
	VkCommandBuffer buffers[2];
	struct device device;
	struct work work;
	VkFence fence;

	choose_device(&device, make_instance(VK_API_VERSION_1_3, getenv("PROGRAM_LAYER")));
	make_device(&device, &features);
	NEED(!features.hostQueryReset);
	make_work(&device, &work);
	for (int i = 0; i < 2; i++)
		buffers[i] = record_work(&device, &work, ROUNDS);
	fence = make_fence(&device);
	submit_batches(&device, buffers, fence);
	submit_many(&device, buffers, fence);
	submit_with_infos(&device, buffers);
	/* A fence alone. */
	NEED(vkQueueSubmit(device.queue[0], 0, NULL, fence) == VK_SUCCESS);
	NEED(vkWaitForFences(device.handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	vkDestroyFence(device.handle, fence, NULL);
	end_work(&device, &work, 0);
	end(&device);
}

/* --- others */

static void run_storm(void)
{
	struct device device;
	VkCommandBuffer buffer;
	struct work work;
	uint64_t from;

	begin(&device);
	make_work(&device, &work);
	buffer = record_work(&device, &work, 10);
	for (unsigned int i = 0; i < submissions; i++) {
		const VkSubmitInfo info = {
			.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			.commandBufferCount = 1,
			.pCommandBuffers = &buffer,
		};

		from = now();
		NEED(vkQueueSubmit(device.queue[0], 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
		account(1, from, UINT64_MAX);
	}
	NEED(vkQueueWaitIdle(device.queue[0]) == VK_SUCCESS);
	end_work(&device, &work, 0);
	end(&device);
}

static void submit_twice(const struct device *device, unsigned int number)
{
	VkFence fence = make_fence(device);
	VkCommandBuffer buffer;
	struct work work;
	uint64_t from;

	make_work(device, &work);
	buffer = record_work(device, &work, ROUNDS);
	for (int i = 0; i < 2; i++) {
		from = now();
		submit_and_wait(device, 0, 1, &buffer, fence);
		account(1, from, now());
	}
	vkDestroyFence(device->handle, fence, NULL);
	end_work(device, &work, number);
}

static void run_devices(void)
{
	struct device device;

	for (unsigned int i = 0; i < submissions; i++) {
		begin(&device);
		submit_twice(&device, i);
		end(&device);
	}
}

static void run_two(void)
{
	struct device first, second;

	begin(&first);
	begin(&second);
	submit_twice(&first, 0);
	submit_twice(&second, 1);
	end(&first);
	end(&second);
}

static void run_to_end(bool cleanly)
{
	struct device device;

	begin(&device);
	submit_twice(&device, 0);
	fflush(stdout);
	if (!cleanly)
		_exit(0);
}

static void run_refused(void)
{
	static const char *const extensions[] = { "VK_NOBODY_has_this" };
	static const float priority = 1;
	struct device device;
	VkDeviceQueueCreateInfo queues = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	VkPhysicalDeviceFeatures features;
	VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queues,
		.enabledExtensionCount = 1,
		.ppEnabledExtensionNames = extensions,
	};
	VkDevice made;

	choose_device(&device, make_instance(api, NULL));
	queues.queueFamilyIndex = device.family;
	printf("refused %d\n", vkCreateDevice(device.physical, &info, NULL, &made));
	info.enabledExtensionCount = 0;
	memset(&features, 0xff, sizeof(features));
	for (size_t i = 0; i < sizeof(features) / sizeof(VkBool32); i++)
		((VkBool32 *)&features)[i] = VK_TRUE;
	info.pEnabledFeatures = &features;
	printf("refused %d\n", vkCreateDevice(device.physical, &info, NULL, &made));
	make_device(&device, NULL);
	submit_twice(&device, 0);
	end(&device);
}

static void run_visible(void)
{
	static const char *const names[] = { "vkGetCalibratedTimestampsEXT",
					     "vkGetCalibratedTimestampsKHR",
					     "vkResetQueryPoolEXT",
					     "vkResetQueryPool",
					     "vkQueueSubmit2",
					     "vkQueueSubmit2KHR",
					     "vkQueuePresentKHR" };
	struct device device;

	begin(&device);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("function %s %d\n", names[i],
		       !!vkGetDeviceProcAddr(device.handle, names[i]));
	end(&device);
}

/* Submissions between two waits. */
#define LOT 50

static uint64_t cpu_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The first lots are not counted: drivers and layers make what they use again later. */
static void run_cost(void)
{
	struct device device;
	VkCommandBuffer buffer;
	uint64_t used = 0, from;
	struct work work;

	begin(&device);
	make_work(&device, &work);
	buffer = record_work(&device, &work, 1);
	for (unsigned int i = 0; i < 10 + submissions / LOT; i++) {
		const VkSubmitInfo info = {
			.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			.commandBufferCount = 1,
			.pCommandBuffers = &buffer,
		};

		from = cpu_now();
		for (unsigned int k = 0; k < LOT; k++)
			NEED(vkQueueSubmit(device.queue[0], 1, &info, VK_NULL_HANDLE) ==
			     VK_SUCCESS);
		used += i < 10 ? 0 : cpu_now() - from;
		NEED(vkQueueWaitIdle(device.queue[0]) == VK_SUCCESS);
	}
	printf("cost %.0f\n", (double)used / (submissions / LOT * LOT));
	end_work(&device, &work, 0);
	end(&device);
}

#define FRAME 1000

static int compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* @is_recorded: each submission records a command buffer of its own. Otherwise all submit the first one. */
static void submit_frame(const struct device *device, const struct work *work,
			 VkCommandBuffer *buffers, bool is_recorded)
{
	if (is_recorded)
		NEED(vkResetCommandPool(device->handle, work->pool, 0) == VK_SUCCESS);
	for (int k = 0; k < FRAME; k++) {
		const VkSubmitInfo info = {
			.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			.commandBufferCount = 1,
			.pCommandBuffers = &buffers[is_recorded ? k : 0],
		};

		if (is_recorded)
			record_work_into(buffers[k], work,
					 VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, 100);
		NEED(vkQueueSubmit(device->queue[0], 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
	}
	NEED(vkQueueWaitIdle(device->queue[0]) == VK_SUCCESS);
}

static void run_frames(bool is_recorded)
{
	uint64_t *frames = calloc(submissions, sizeof(*frames));
	VkCommandBuffer buffers[FRAME];
	struct device device;
	struct work work;

	NEED(frames);
	begin(&device);
	make_work(&device, &work);
	buffers[0] = record_work(&device, &work, 100);
	for (int k = 0; is_recorded && k < FRAME; k++)
		buffers[k] = make_buffer(&device, work.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	for (unsigned int i = 0; i < submissions; i++) {
		frames[i] = now();
		submit_frame(&device, &work, buffers, is_recorded);
		frames[i] = now() - frames[i];
	}
	qsort(frames, submissions, sizeof(*frames), compare);
	printf("cost %llu\n", (unsigned long long)frames[submissions / 2]);
	free(frames);
	end_work(&device, &work, 0);
	end(&device);
}

static void run_device(void)
{
	struct device device;

	choose_device(&device, make_instance(api, NULL));
	printf("device %d %u %u %s\n", (int)device.properties.deviceType, device.queues,
	       device.properties.driverVersion, device.properties.deviceName);
	vkDestroyInstance(device.instance, NULL);
}

static void run_fork(void)
{
	struct device device;
	pid_t child;
	int status;

	begin(&device);
	submit_twice(&device, 0);
	fflush(stdout);
	child = fork();
	NEED(child >= 0);
	if (!child)
		exit(0);
	NEED(waitpid(child, &status, 0) == child && !status);
	submit_twice(&device, 0);
	end(&device);
}

/* --- names */

#define LABEL(device, name) ((PFN_##name)vkGetInstanceProcAddr((device)->instance, #name))

/* Has the handle of a command buffer that was named, so that a name could be found by it. */
static VkCommandBuffer record_again(const struct device *device, const struct work *work,
				    VkCommandBuffer named)
{
	VkCommandBuffer buffer;

	give_name(device, VK_OBJECT_TYPE_COMMAND_BUFFER, named, "of one that was freed");
	vkFreeCommandBuffers(device->handle, work->pool, 1, &named);
	buffer = record_work(device, work, ROUNDS);
	printf("again %d\n", buffer == named);
	return buffer;
}

static void run_names(void)
{
	static const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
	const VkDebugUtilsLabelEXT frame = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
		.pLabelName = "frame",
		.color = { 1, 0.5f, 0, 1 },
	};
	const VkDebugUtilsLabelEXT mark = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
		.pLabelName = "mark",
	};
	VkCommandBuffer buffers[3];
	struct device device;
	struct work work;
	VkFence fence;

	choose_device(&device, make_instance_with(api, getenv("PROGRAM_LAYER"), 1, &extension));
	make_device(&device, NULL);
	make_work(&device, &work);
	for (int i = 0; i < 3; i++)
		buffers[i] = record_work(&device, &work, ROUNDS);
	fence = make_fence(&device);
	submit_and_wait(&device, 0, 1, buffers, fence);
	give_name(&device, VK_OBJECT_TYPE_QUEUE, device.queue[0], "the queue");
	give_name(&device, VK_OBJECT_TYPE_PIPELINE, (void *)work.pipeline, "a pipeline");
	give_name(&device, VK_OBJECT_TYPE_COMMAND_BUFFER, buffers[0], "shadows");
	LABEL(&device, vkQueueBeginDebugUtilsLabelEXT)(device.queue[0], &frame);
	submit_and_wait(&device, 0, 1, buffers, fence);
	LABEL(&device, vkQueueInsertDebugUtilsLabelEXT)(device.queue[0], &mark);
	submit_and_wait(&device, 0, 2, buffers, fence);
	LABEL(&device, vkQueueEndDebugUtilsLabelEXT)(device.queue[0]);
	give_name(&device, VK_OBJECT_TYPE_COMMAND_BUFFER, buffers[0], "lights");
	submit_and_wait(&device, 0, 1, buffers, fence);
	give_name(&device, VK_OBJECT_TYPE_COMMAND_BUFFER, buffers[0], "");
	submit_and_wait(&device, 0, 1, buffers, fence);
	buffers[2] = record_again(&device, &work, buffers[2]);
	submit_and_wait(&device, 0, 1, &buffers[2], fence);
	vkDestroyFence(device.handle, fence, NULL);
	end_work(&device, &work, 0);
	end(&device);
}

/* --- passes: what a command buffer does is said on lines of their own, in order */

static void wait_for_shaders(VkCommandBuffer buffer)
{
	const VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
	};

	vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
			     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
			     &barrier, 0, NULL, 0, NULL);
}

static void dispatch(VkCommandBuffer buffer, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		vkCmdDispatch(buffer, WORDS / 64, 1, 1);
		wait_for_shaders(buffer);
	}
}

static void record_labelled(const struct device *device, VkCommandBuffer buffer,
			    const struct work *work, VkBuffer other)
{
	const VkBufferCopy all = { .size = WORDS * sizeof(uint32_t) };
	const VkDebugUtilsLabelEXT shadows = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
		.pLabelName = "shadows",
	};

	begin_work(buffer, work, 0, ROUNDS);
	LABEL(device, vkCmdBeginDebugUtilsLabelEXT)(buffer, &shadows);
	dispatch(buffer, 1);
	LABEL(device, vkCmdEndDebugUtilsLabelEXT)(buffer);
	vkCmdFillBuffer(buffer, other, 0, VK_WHOLE_SIZE, 7);
	wait_for_shaders(buffer);
	vkCmdCopyBuffer(buffer, work->buffer, other, 1, &all);
	wait_for_shaders(buffer);
	NEED(vkEndCommandBuffer(buffer) == VK_SUCCESS);
}

static void submit_passes(const struct device *device, uint32_t count,
			  const VkCommandBuffer *buffers, VkFence fence)
{
	uint64_t from = now();

	submit_and_wait(device, 0, count, buffers, fence);
	account(count, from, now());
}

static void run_passes(void)
{
	static const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
	const VkCommandPoolCreateInfo resettable = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
	};
	VkCommandBuffer buffers[2];
	VkDeviceMemory memory;
	struct device device;
	VkCommandPool pool;
	struct work work;
	VkBuffer other;
	uint32_t *data;
	VkFence fence;

	choose_device(&device, make_instance_with(api, getenv("PROGRAM_LAYER"), 1, &extension));
	make_device(&device, NULL);
	make_work(&device, &work);
	other = make_words(&device, &memory, &data);
	fence = make_fence(&device);
	NEED(vkCreateCommandPool(device.handle, &resettable, NULL, &pool) == VK_SUCCESS);
	buffers[0] = make_buffer(&device, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	record_labelled(&device, buffers[0], &work, other);
	for (unsigned int i = 0; i < submissions; i++)
		submit_passes(&device, 1, buffers, fence);
	NEED(vkResetCommandBuffer(buffers[0], 0) == VK_SUCCESS);
	begin_work(buffers[0], &work, 0, ROUNDS);
	dispatch(buffers[0], 70);
	NEED(vkEndCommandBuffer(buffers[0]) == VK_SUCCESS);
	submit_passes(&device, 1, buffers, fence);
	/* Recorded again without a reset, and beside one that may be on its way twice. */
	begin_work(buffers[0], &work, 0, ROUNDS);
	dispatch(buffers[0], 1);
	NEED(vkEndCommandBuffer(buffers[0]) == VK_SUCCESS);
	buffers[1] = record_work(&device, &work, ROUNDS);
	submit_passes(&device, 2, buffers, fence);
	vkFreeCommandBuffers(device.handle, pool, 1, buffers);
	vkFreeCommandBuffers(device.handle, work.pool, 1, &buffers[1]);
	buffers[0] = record_work(&device, &work, ROUNDS);
	submit_passes(&device, 1, buffers, fence);
	printf("other %llu\n", (unsigned long long)sum_of(data, WORDS));
	vkDestroyFence(device.handle, fence, NULL);
	vkDestroyCommandPool(device.handle, pool, NULL);
	vkDestroyBuffer(device.handle, other, NULL);
	vkFreeMemory(device.handle, memory, NULL);
	end_work(&device, &work, 0);
	end(&device);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct device device;

	submissions = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	if (getenv("PROGRAM_OLD"))
		api = VK_API_VERSION_1_0;
	if (!strcmp(mode, "threads")) {
		run_threads();
	} else if (!strcmp(mode, "picture")) {
		begin(&device);
		draw_picture(&device, submissions);
		end(&device);
	} else if (!strcmp(mode, "kinds")) {
		run_kinds();
	} else if (!strcmp(mode, "storm")) {
		run_storm();
	} else if (!strcmp(mode, "devices")) {
		run_devices();
	} else if (!strcmp(mode, "two")) {
		run_two();
	} else if (!strcmp(mode, "ends") || !strcmp(mode, "left")) {
		run_to_end(!strcmp(mode, "left"));
	} else if (!strcmp(mode, "refused")) {
		run_refused();
	} else if (!strcmp(mode, "visible")) {
		run_visible();
	} else if (!strcmp(mode, "cost")) {
		run_cost();
	} else if (!strcmp(mode, "frames")) {
		run_frames(false);
	} else if (!strcmp(mode, "recorded")) {
		run_frames(true);
	} else if (!strcmp(mode, "device")) {
		run_device();
	} else if (!strcmp(mode, "fork")) {
		run_fork();
	} else if (!strcmp(mode, "passes")) {
		run_passes();
	} else if (!strcmp(mode, "names")) {
		run_names();
	} else {
		fprintf(stderr, "program: no mode \"%s\"\n", mode);
		return 2;
	}
	return 0;
}
