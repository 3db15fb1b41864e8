// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Swapchains, and the presentation of their images: the ends of a program's frames. There are few swapchains, so
 * they are in a list, which is read without a lock; entries are never freed, and used again for those that come
 * later. Vulkan has the program use a swapchain in one thread at a time: an entry needs no lock either.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/prepared.h"
#include "chain.h"
#include "channel/intern.h"
#include "session/session.h"
#include "wrappers.h"

/* Presents whose time on the screen the program may still ask for. */
#define TIMED_MAX 128

/**
 * struct timed - a present that the program asks the display's time of
 * @id: the program's number (VK_GOOGLE_display_timing)
 * @number: which present of the swapchain
 * @generation: of the capture that has its record; 0: none has
 * @start_ns: of the call
 */
struct timed {
	uint32_t id;
	uint32_t number;
	uint32_t generation;
	uint64_t start_ns;
};

/**
 * struct swapchain - a swapchain
 * @next: in the list of all
 * @device: that it is of
 * @handle: of the program, as a number; 0: free
 * @id: in the capture
 * @old: id of the one whose place it takes, 0 for none
 * @width: of its images
 * @height: of its images
 * @images: how many it has, 0 if the driver does not say
 * @mode: VkPresentModeKHR
 * @generation: of the session in which its record was written
 * @presents: how many there were
 * @timed_count: how many of these were in @timed
 * @timed: the last ones that the program asks the display's time of
 */
struct swapchain {
	struct swapchain *next;
	const struct inject_vulkan_device *device;
	_Atomic uint64_t handle;
	uint32_t id;
	uint32_t old;
	uint32_t width;
	uint32_t height;
	uint32_t images;
	uint32_t mode;
	_Atomic uint32_t generation;
	uint32_t presents;
	uint32_t timed_count;
	struct timed timed[TIMED_MAX];
};

/* Held to add an entry. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct swapchain *) swapchains;
static uint32_t swapchain_count;

/* In place of a handle, while an entry is filled. */
#define RESERVED UINT64_MAX

/* NULL: it was not seen, or there was no memory for it. */
static struct swapchain *find_swapchain(const struct inject_vulkan_device *device,
					VkSwapchainKHR handle)
{
	struct swapchain *swapchain = handle ? atomic_load(&swapchains) : NULL;

	while (swapchain &&
	       (atomic_load(&swapchain->handle) != (uint64_t)handle || swapchain->device != device))
		swapchain = swapchain->next;
	return swapchain;
}

static struct swapchain *new_swapchain(const struct inject_vulkan_device *device)
{
	struct swapchain *swapchain;

	pthread_mutex_lock(&adding);
	for (swapchain = atomic_load(&swapchains); swapchain; swapchain = swapchain->next)
		if (!atomic_load(&swapchain->handle))
			break;
	if (swapchain) {
		atomic_store(&swapchain->handle, RESERVED);
		memset(&swapchain->id, 0, sizeof(*swapchain) - offsetof(struct swapchain, id));
	} else {
		swapchain = inject_memory_take(sizeof(*swapchain));
		if (swapchain) {
			swapchain->next = atomic_load(&swapchains);
			atomic_store(&swapchain->handle, RESERVED);
			atomic_store(&swapchains, swapchain);
		}
	}
	if (swapchain) {
		swapchain->id = INJECT_VULKAN_ID(++swapchain_count);
		swapchain->device = device;
	}
	pthread_mutex_unlock(&adding);
	return swapchain;
}

void inject_vulkan_present_forget(const struct inject_vulkan_device *device)
{
	struct swapchain *swapchain;

	pthread_mutex_lock(&adding);
	for (swapchain = atomic_load(&swapchains); swapchain; swapchain = swapchain->next)
		if (swapchain->device == device)
			atomic_store(&swapchain->handle, 0);
	pthread_mutex_unlock(&adding);
}

void inject_vulkan_present_forked(void)
{
	pthread_mutex_init(&adding, NULL);
}

/* Once in a capture, before its first present. @thread: within */
static void write_swapchain(struct inject_thread *thread, struct swapchain *swapchain)
{
	const struct gpumon_record_swapchain record = {
		.head = { .type = GPUMON_RECORD_SWAPCHAIN, .size = sizeof(record) },
		.time_ns = inject_now(),
		.id = swapchain->id,
		.old = swapchain->old,
		.width = swapchain->width,
		.height = swapchain->height,
		.images = swapchain->images,
		.mode = swapchain->mode,
	};

	if (inject_first_in_capture(&swapchain->generation))
		inject_append(thread, &record);
}

static uint32_t count_images(const struct inject_vulkan_device *device, VkSwapchainKHR handle)
{
	uint32_t count = 0;

	if (device->below.vkGetSwapchainImagesKHR(device->handle, handle, &count, NULL) !=
	    VK_SUCCESS)
		return 0;
	return count;
}

static void add_swapchain(const struct inject_vulkan_device *device,
			  const VkSwapchainCreateInfoKHR *info, VkSwapchainKHR handle)
{
	const struct swapchain *old = find_swapchain(device, info->oldSwapchain);
	struct swapchain *swapchain = device->is_inherited ? NULL : new_swapchain(device);
	struct inject_thread *thread;
	int kept = errno;

	if (!swapchain)
		return;
	swapchain->old = old ? old->id : 0;
	swapchain->width = info->imageExtent.width;
	swapchain->height = info->imageExtent.height;
	swapchain->images = count_images(device, handle);
	swapchain->mode = (uint32_t)info->presentMode;
	atomic_store(&swapchain->handle, (uint64_t)handle);
	thread = inject_thread_enter(true);
	if (thread) {
		write_swapchain(thread, swapchain);
		inject_thread_leave(thread);
	}
	errno = kept;
}

static VkResult VKAPI_CALL create_swapchain(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
					    const VkAllocationCallbacks *allocator,
					    VkSwapchainKHR *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result = device->below.vkCreateSwapchainKHR(handle, info, allocator, made);

	if (result == VK_SUCCESS)
		add_swapchain(device, info, *made);
	return result;
}

/* Those of one call show their images together, on several displays. */
static VkResult VKAPI_CALL create_shared(VkDevice handle, uint32_t count,
					 const VkSwapchainCreateInfoKHR *infos,
					 const VkAllocationCallbacks *allocator,
					 VkSwapchainKHR *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result =
		device->below.vkCreateSharedSwapchainsKHR(handle, count, infos, allocator, made);
	uint32_t i;

	for (i = 0; result == VK_SUCCESS && i < count; i++)
		add_swapchain(device, &infos[i], made[i]);
	return result;
}

static void VKAPI_CALL destroy_swapchain(VkDevice handle, VkSwapchainKHR swapchain,
					 const VkAllocationCallbacks *allocator)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	struct swapchain *found = find_swapchain(device, swapchain);

	/* From then on another thread may have one with the same handle. */
	if (found)
		atomic_store(&found->handle, 0);
	device->below.vkDestroySwapchainKHR(handle, swapchain, allocator);
}

/* --- presents */

/**
 * struct call - vkQueuePresentKHR(), from its begin to its end
 * @generation: of the capture that records it; 0: none does
 * @start_ns: begin
 * @end_ns: end
 * @correlation: of its own record, 0 without one
 * @stack: id
 * @function: string id
 * @ids: the program's numbers of its presents, NULL without any
 * @times: its numbers for VK_GOOGLE_display_timing, NULL without any
 */
struct call {
	uint32_t generation;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t stack;
	uint32_t function;
	const VkPresentIdKHR *ids;
	const VkPresentTimesInfoGOOGLE *times;
};

static void begin_present(struct call *call, const struct inject_vulkan_device *device)
{
	static _Atomic uint64_t name;
	struct inject_thread *thread;
	int kept = errno;

	memset(call, 0, sizeof(*call));
	if (!inject_session_takes_calls() || device->is_inherited)
		return;
	call->correlation = inject_vulkan_call_begin(INJECT_vkQueuePresentKHR, device->context, 0);
	thread = inject_thread_enter(true);
	if (!thread) {
		errno = kept;
		return;
	}
	call->generation = atomic_load(&thread->generation);
	if (call->correlation) {
		call->start_ns = thread->call.start_ns;
		call->stack = thread->call.stack;
		call->function = thread->call.function;
	} else {
		call->start_ns = inject_now();
		call->stack =
			inject_session.record & GPUMON_RECORD_STACKS ? inject_call_path(thread) : 0;
		call->function = inject_string_again(thread, &name, "vkQueuePresentKHR");
	}
	inject_thread_leave(thread);
	errno = kept;
}

static void write_present(struct inject_thread *thread, const struct call *call,
			  struct swapchain *swapchain, const VkPresentInfoKHR *info, uint32_t i,
			  VkResult result)
{
	const struct gpumon_record_present record = {
		.head = { .type = GPUMON_RECORD_PRESENT,
			  .flags = result < 0 ? GPUMON_PRESENT_FAILED : 0,
			  .size = sizeof(record) },
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
		.present = call->ids && call->ids->pPresentIds && i < call->ids->swapchainCount ?
				   call->ids->pPresentIds[i] :
				   0,
		.swapchain = swapchain->id,
		.number = swapchain->presents,
		.tid = thread->tid,
		.stack = call->stack,
		.function = call->function,
		.image = info->pImageIndices[i],
		.correlation = call->correlation,
		.result = result,
	};

	write_swapchain(thread, swapchain);
	inject_append(thread, &record);
}

/* The program will be told when it was shown. */
static void note_timed(const struct call *call, struct swapchain *swapchain, uint32_t id)
{
	struct timed *timed = &swapchain->timed[swapchain->timed_count++ % TIMED_MAX];

	timed->id = id;
	timed->number = swapchain->presents;
	timed->generation = call->generation;
	timed->start_ns = call->start_ns;
}

static void end_present(struct call *call, const struct inject_vulkan_device *device,
			const VkPresentInfoKHR *info, VkResult result)
{
	struct inject_thread *thread = call->generation ? inject_thread_enter(true) : NULL;
	bool is_kept = thread && call->generation == atomic_load(&thread->generation);
	struct swapchain *swapchain;
	int kept = errno;
	uint32_t i;

	call->end_ns = is_kept ? inject_now() : 0;
	if (is_kept && call->correlation && inject_call_ends(thread, call->correlation))
		inject_call_finish_here(thread, call->end_ns, result);
	for (i = 0; i < info->swapchainCount; i++) {
		swapchain = find_swapchain(device, info->pSwapchains[i]);
		if (swapchain)
			swapchain->presents++;
		if (swapchain && call->times && call->times->pTimes &&
		    i < call->times->swapchainCount)
			note_timed(call, swapchain, call->times->pTimes[i].presentID);
		if (is_kept && swapchain)
			write_present(thread, call, swapchain, info, i,
				      info->pResults ? info->pResults[i] : result);
		else if (is_kept)
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
	}
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

static VkResult VKAPI_CALL present(VkQueue handle, const VkPresentInfoKHR *info)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	struct call call;
	VkResult result;

	begin_present(&call, device);
	call.ids = inject_vulkan_chain_find(info->pNext, VK_STRUCTURE_TYPE_PRESENT_ID_KHR);
	call.times =
		inject_vulkan_chain_find(info->pNext, VK_STRUCTURE_TYPE_PRESENT_TIMES_INFO_GOOGLE);
	result = device->below.vkQueuePresentKHR(handle, info);
	end_present(&call, device, info, result);
	return result;
}

/* --- when images were shown: only what the program asks, because the driver says each time once */

static const struct timed *find_timed(const struct swapchain *swapchain, uint32_t id)
{
	uint32_t count = swapchain->timed_count, i;

	for (i = 1; i <= count && i <= TIMED_MAX; i++)
		if (swapchain->timed[(count - i) % TIMED_MAX].id == id)
			return &swapchain->timed[(count - i) % TIMED_MAX];
	return NULL;
}

/* Vulkan does not say which clock it is, so a time that cannot be CLOCK_MONOTONIC's is none. */
static bool is_possible(const struct timed *timed, uint64_t shown_ns)
{
	return shown_ns >= timed->start_ns && shown_ns <= inject_now();
}

/* Once in a capture. */
static void say_unjoined(struct inject_thread *thread, bool is_found)
{
	static _Atomic uint32_t said_in[2];

	if (inject_first_in_capture(&said_in[is_found]))
		inject_session_note(
			thread, GPUMON_NOTE_MISSING, "%s",
			is_found ?
				"the driver's times of images on the screen are not those of CLOCK_MONOTONIC: some were left out" :
				"the program asked late when an image was on the screen: some of these times were left out");
}

static void write_shown(struct inject_thread *thread, const struct swapchain *swapchain,
			const VkPastPresentationTimingGOOGLE *timing)
{
	const struct timed *timed = find_timed(swapchain, timing->presentID);
	struct gpumon_record_shown record = {
		.head = { .type = GPUMON_RECORD_SHOWN, .size = sizeof(record) },
		.shown_ns = timing->actualPresentTime + (uint64_t)atomic_load(&inject_clock_ns),
		.swapchain = swapchain->id,
	};

	if (timed && timed->generation != atomic_load(&thread->generation))
		return;
	if (!timed || !is_possible(timed, record.shown_ns)) {
		say_unjoined(thread, timed);
		return;
	}
	record.number = timed->number;
	inject_append(thread, &record);
}

static VkResult VKAPI_CALL get_past_timing(VkDevice handle, VkSwapchainKHR swapchain,
					   uint32_t *count, VkPastPresentationTimingGOOGLE *timings)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result =
		device->below.vkGetPastPresentationTimingGOOGLE(handle, swapchain, count, timings);
	const struct swapchain *found = find_swapchain(device, swapchain);
	struct inject_thread *thread;
	int kept = errno;
	uint32_t i;

	if (result < 0 || !timings || !found || device->is_inherited)
		return result;
	thread = inject_thread_enter(true);
	for (i = 0; thread && i < *count; i++)
		write_shown(thread, found, &timings[i]);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
	return result;
}

void inject_vulkan_present_waited(const struct inject_vulkan_device *device,
				  VkSwapchainKHR handle, uint64_t id)
{
	const struct swapchain *swapchain = find_swapchain(device, handle);
	struct gpumon_record_shown record = {
		.head = { .type = GPUMON_RECORD_SHOWN,
			  .flags = GPUMON_SHOWN_LATEST,
			  .size = sizeof(record) },
		.shown_ns = inject_now(),
		.present = id,
	};
	struct inject_thread *thread;
	int kept = errno;

	if (!swapchain || device->is_inherited)
		return;
	record.swapchain = swapchain->id;
	thread = inject_thread_enter(true);
	if (thread) {
		inject_append(thread, &record);
		inject_thread_leave(thread);
	}
	errno = kept;
}

const struct inject_vulkan_wrapper inject_vulkan_present_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkCreateSwapchainKHR, create_swapchain),
	INJECT_VULKAN_WRAPPER(vkCreateSharedSwapchainsKHR, create_shared),
	INJECT_VULKAN_WRAPPER(vkDestroySwapchainKHR, destroy_swapchain),
	INJECT_VULKAN_WRAPPER(vkQueuePresentKHR, present),
	INJECT_VULKAN_WRAPPER(vkGetPastPresentationTimingGOOGLE, get_past_timing),
	{ NULL, NULL },
};
