// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Submissions. The driver gets copies of the program's structures, in which each command buffer has two of the
 * library's own around it; a batch of many has them around all.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "channel/intern.h"
#include "session/session.h"
#include "wrappers.h"

/* A batch with more command buffers than this is one operation. */
#define SINGLE_MAX 16

/* Copies of a usual submission; larger ones are allocated. */
#define ROOM 8192

/**
 * struct operation - a command buffer of the submission, or all of a batch
 * @slot: NULL: it has no times
 * @is_missed: there was no slot for it
 * @number: which of the batch, from 1 on; 0: all
 * @count: how many the batch has, 0 of a sparse binding
 * @buffer: the one command buffer; NULL: it is not one
 */
struct operation {
	struct inject_vulkan_slot *slot;
	bool is_missed;
	uint32_t number;
	uint32_t count;
	VkCommandBuffer buffer;
};

/**
 * struct submission - a call, from its begin to its end
 * @queue: queue
 * @correlation: of the call
 * @begin_ns: of the call
 * @generation: of the capture
 * @operations: list
 * @used: how many there are
 */
struct submission {
	struct inject_vulkan_queue *queue;
	uint32_t correlation;
	uint64_t begin_ns;
	uint32_t generation;
	struct operation *operations;
	uint32_t used;
};

/**
 * struct arena - memory of a submission
 * @at: the rest of it
 * @allocated: for free()
 * @room: what is there without an allocation
 */
struct arena {
	char *at;
	void *allocated;
	_Alignas(16) char room[ROOM];
};

static bool make_arena(struct arena *arena, size_t size)
{
	arena->allocated = size > sizeof(arena->room) ? malloc(size) : NULL;
	arena->at = arena->allocated ? arena->allocated : arena->room;
	return arena->allocated || size <= sizeof(arena->room);
}

static void *take(struct arena *arena, size_t size)
{
	void *taken = arena->at;

	arena->at += (size + 15) / 16 * 16;
	return taken;
}

/* Bytes that take() needs for all copies of a submission; @groups: of its batches are for a device group. */
static size_t arena_size(uint32_t batches, uint32_t buffers, uint32_t groups, size_t batch_size,
			 size_t buffer_size)
{
	size_t size = batches * (batch_size + 3 * 16) + 2 * 16;

	size += groups * sizeof(struct inject_vulkan_chain);
	return size + buffers * (3 * (buffer_size + sizeof(uint32_t)) + sizeof(struct operation));
}

/* Copies the batches of a submission, with room for its operations. NULL: no memory. */
static void *copy_batches(struct submission *submission, struct arena *arena, const void *theirs,
			  uint32_t count, size_t batch_size, uint32_t buffers, size_t buffer_size,
			  uint32_t groups)
{
	if (!make_arena(arena, arena_size(count, buffers, groups, batch_size, buffer_size)))
		return NULL;
	submission->operations = take(arena, buffers * sizeof(*submission->operations));
	return memcpy(take(arena, count * batch_size), theirs, count * batch_size);
}

/* --- names */

static uint32_t name_of_operation(struct inject_thread *thread, const struct operation *operation)
{
	static _Atomic uint64_t kept[SINGLE_MAX + 1][SINGLE_MAX + 1];
	_Atomic uint64_t *known = operation->number ? &kept[operation->count][operation->number] :
						      NULL;
	char text[64];
	uint32_t id;

	if (INJECT_UNLIKELY(atomic_load_explicit(&inject_vulkan_has_names, memory_order_relaxed)) &&
	    operation->buffer) {
		id = inject_vulkan_name_of(thread, operation->buffer);
		if (id)
			return id;
	}
	if (known && inject_kept_string(known, &id))
		return id;
	if (!operation->count)
		snprintf(text, sizeof(text), "sparse binding");
	else if (operation->count == 1)
		snprintf(text, sizeof(text), "submit, 1 command buffer");
	else if (operation->number)
		snprintf(text, sizeof(text), "submit, command buffer %u of %u", operation->number,
			 operation->count);
	else
		snprintf(text, sizeof(text), "submit, %u command buffers", operation->count);
	return known ? inject_keep_string(thread, known, text) : inject_intern_string(thread, text);
}

/* If the process ends before the operations are written, the launch has the name. */
static uint32_t name_of_launch(struct inject_thread *thread, uint32_t buffers,
			       VkCommandBuffer first)
{
	struct operation whole = { .number = buffers == 1,
				   .count = buffers,
				   .buffer = buffers == 1 ? first : NULL };

	return name_of_operation(thread, &whole);
}

/* --- begin and end of a call */

/* Once in a capture for each reason. */
static void say_untimed(struct inject_thread *thread, const struct inject_vulkan_queue *queue)
{
	static const char *const reasons[] = {
		[INJECT_VULKAN_TIMED] = "a queue of Vulkan has no timestamps",
		[INJECT_VULKAN_SEVERAL] = "a device of Vulkan stands for several GPUs",
		[INJECT_VULKAN_NO_DATA] =
			"Vulkan's loader is too old for command buffers of a layer",
	};
	static _Atomic uint32_t said_in[3];
	enum inject_vulkan_untimed why = queue->device->untimed;

	if (inject_first_in_capture(&said_in[why]))
		inject_session_note(thread, 0, "%s, so its submissions have no times",
				    reasons[why]);
}

/* Also where there is a way to the host's time but the driver's. */
static void say_uncalibrated(struct inject_thread *thread,
			     const struct inject_vulkan_device *device)
{
	static _Atomic uint32_t said_in;

	if (!device->below.calibrate && device->physical && inject_first_in_capture(&said_in))
		inject_session_note(
			thread, 0,
			"%s has no calibrated timestamps: the times of its clock are known as well as the calls around its work say",
			device->physical->name);
}

/* @buffers: 0 of a sparse binding. @first: of them. False: it is not recorded. */
static bool begin_submission(struct submission *submission, VkQueue handle,
			     const struct inject_vulkan_device *device,
			     enum inject_vulkan_function function, uint32_t buffers,
			     VkCommandBuffer first)
{
	struct inject_vulkan_queue *queue;
	struct inject_thread *thread;
	int kept = errno;

	memset(submission, 0, sizeof(*submission));
	if (!inject_session_takes_calls() || device->is_inherited || !device->physical)
		return false;
	queue = inject_vulkan_queue_find(device, handle);
	if (!queue)
		return false;
	submission->correlation = inject_vulkan_call_begin(
		function, device->context,
		buffers > 1 || device->has_passes ? INJECT_CLASS_GRAPH : 0);
	thread = submission->correlation ? inject_thread_enter(true) : NULL;
	if (thread) {
		submission->queue = queue;
		submission->begin_ns = thread->call.start_ns;
		submission->generation = atomic_load(&thread->generation);
		inject_vulkan_records(thread, queue);
		thread->call.name = name_of_launch(thread, buffers, first);
		if (!queue->is_timed && buffers)
			say_untimed(thread, queue);
		else if (buffers)
			say_uncalibrated(thread, device);
		inject_thread_leave(thread);
	}
	errno = kept;
	return thread;
}

/* Once in a capture. */
static void say_missed(struct inject_thread *thread)
{
	static _Atomic uint32_t said_in;

	if (inject_first_in_capture(&said_in))
		inject_session_note(
			thread, 0,
			"some command buffers of Vulkan have no times: %u of a queue had not ended, or its driver had no memory for more",
			INJECT_VULKAN_SLOTS_MAX);
}

static void fill_slot(const struct submission *submission, struct inject_vulkan_slot *slot,
		      uint32_t name, bool is_kept)
{
	slot->correlation = submission->correlation;
	slot->name = name;
	slot->begin_ns = submission->begin_ns;
	slot->generation = is_kept ? submission->generation : 0;
	inject_vulkan_slot_submitted(slot);
}

static void end_submission(const struct submission *submission, VkResult result)
{
	struct inject_thread *thread = inject_thread_enter(true);
	struct inject_totals totals = { 0 };
	const struct operation *operation;
	bool is_kept = thread && submission->generation == atomic_load(&thread->generation);
	uint32_t i, name;
	int kept = errno;

	if (is_kept && inject_call_ends(thread, submission->correlation))
		inject_call_finish_here(thread, inject_now(), result);
	for (i = 0; i < submission->used; i++) {
		operation = &submission->operations[i];
		if (result != VK_SUCCESS) {
			if (operation->slot)
				inject_vulkan_slot_failed(submission->queue, operation->slot);
			continue;
		}
		name = is_kept ? name_of_operation(thread, operation) : 0;
		if (operation->slot)
			fill_slot(submission, operation->slot, name, is_kept);
		else if (is_kept && operation->is_missed)
			say_missed(thread);
		if (!operation->slot && is_kept)
			inject_vulkan_completion_untimed(thread, submission->queue,
							 submission->correlation, name, &totals);
	}
	if (is_kept)
		inject_totals_add(&totals);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

/* --- what the driver gets */

/* Whether command buffers of the library's may be among those of a batch. */
static bool is_plain(const void *chain)
{
	const VkProtectedSubmitInfo *protection =
		inject_vulkan_chain_find(chain, VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO);

	return !(protection && protection->protectedSubmit) &&
	       !inject_vulkan_chain_find(chain,
					 VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
}

static bool wants_times(const struct submission *submission)
{
	return atomic_load_explicit(&submission->queue->is_timed, memory_order_relaxed) &&
	       !(inject_session.record & GPUMON_RECORD_NO_TIMES);
}

/* The next operation of a batch of @count; @number: 0: all of it. @buffer: its command buffer */
static struct inject_vulkan_slot *add_operation(struct submission *submission, uint32_t number,
						uint32_t count, VkCommandBuffer buffer,
						bool is_timed)
{
	struct operation *operation = &submission->operations[submission->used++];

	operation->number = number;
	operation->count = count;
	operation->buffer = number ? buffer : NULL;
	operation->slot = is_timed ? inject_vulkan_slot_take(submission->queue) : NULL;
	operation->is_missed = is_timed && !operation->slot;
	return operation->slot;
}

/*
 * Puts one command buffer after another into a list, whose elements have a size and the handle at a place. The
 * library's own are put there by @own.
 */
struct list {
	char *at;
	size_t size;
	size_t handle_at;
	uint32_t used;
	void (*own)(void *to, VkCommandBuffer buffer);
};

static void put_own(struct list *list, VkCommandBuffer buffer)
{
	list->own(list->at + list->used++ * list->size, buffer);
}

static void put_theirs(struct list *list, const void *from, uint32_t count)
{
	memcpy(list->at + list->used * list->size, from, count * list->size);
	list->used += count;
}

static VkCommandBuffer theirs_at(const struct list *list, const char *theirs, uint32_t i)
{
	return *(const VkCommandBuffer *)(theirs + i * list->size + list->handle_at);
}

static void add_untimed(struct submission *submission, const struct list *list, const char *theirs,
			uint32_t count)
{
	uint32_t i;

	for (i = 0; i < (count > SINGLE_MAX ? 1 : count); i++)
		add_operation(submission, count > SINGLE_MAX ? 0 : i + 1, count,
			      theirs_at(list, theirs, i), false);
}

static void add_timed(struct submission *submission, struct list *list, const char *theirs,
		      uint32_t count)
{
	uint32_t step = count > SINGLE_MAX ? count : 1, i;
	struct inject_vulkan_slot *slot;

	for (i = 0; i < count; i += step) {
		slot = add_operation(submission, count > SINGLE_MAX ? 0 : i + 1, count,
				     theirs_at(list, theirs, i), true);
		if (slot && step == 1)
			inject_vulkan_passes_submit(submission->queue->device,
						    theirs_at(list, theirs, i), slot);
		if (slot)
			put_own(list, slot->begin);
		put_theirs(list, theirs + i * list->size, step);
		if (slot)
			put_own(list, slot->end);
	}
}

static void own_handle(void *to, VkCommandBuffer buffer)
{
	*(VkCommandBuffer *)to = buffer;
}

static void own_info(void *to, VkCommandBuffer buffer)
{
	*(VkCommandBufferSubmitInfo *)to = (VkCommandBufferSubmitInfo){
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
		.commandBuffer = buffer,
	};
}

static const VkDeviceGroupSubmitInfo *find_group(const VkSubmitInfo *batch)
{
	return inject_vulkan_chain_find(batch->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
}

/*
 * In a device group each command buffer has a mask of devices. Here the group has one device.
 * @copied: set to the copy, NULL where nothing has to be copied. False: the chain cannot be copied.
 */
static bool copy_masks(struct arena *arena, VkSubmitInfo *batch, VkDeviceGroupSubmitInfo **copied)
{
	const VkDeviceGroupSubmitInfo *group = find_group(batch);
	struct inject_vulkan_chain *chain;
	const void *copy;
	uint32_t *masks, i;
	void *changed;

	*copied = NULL;
	if (!group || !group->commandBufferCount)
		return true;
	chain = take(arena, sizeof(*chain));
	copy = inject_vulkan_chain_copy(chain, batch->pNext,
					VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO, &changed);
	if (!copy)
		return false;
	*copied = changed;
	masks = take(arena, 3 * batch->commandBufferCount * sizeof(*masks));
	for (i = 0; i < 3 * batch->commandBufferCount; i++)
		masks[i] = 1;
	(*copied)->pCommandBufferDeviceMasks = masks;
	batch->pNext = copy;
	return true;
}

static void fill_batch(struct submission *submission, struct arena *arena, VkSubmitInfo *batch)
{
	uint32_t count = batch->commandBufferCount;
	struct list list = { .size = sizeof(VkCommandBuffer), .own = own_handle };
	VkDeviceGroupSubmitInfo *group;

	if (!count)
		return;
	if (!wants_times(submission) || !is_plain(batch->pNext) ||
	    !copy_masks(arena, batch, &group)) {
		add_untimed(submission, &list, (const char *)batch->pCommandBuffers, count);
		return;
	}
	list.at = take(arena, 3 * count * list.size);
	add_timed(submission, &list, (const char *)batch->pCommandBuffers, count);
	batch->pCommandBuffers = (const VkCommandBuffer *)list.at;
	batch->commandBufferCount = list.used;
	if (group)
		group->commandBufferCount = list.used;
}

static void fill_batch_2(struct submission *submission, struct arena *arena, VkSubmitInfo2 *batch)
{
	uint32_t count = batch->commandBufferInfoCount;
	struct list list = { .size = sizeof(VkCommandBufferSubmitInfo),
			     .handle_at = offsetof(VkCommandBufferSubmitInfo, commandBuffer),
			     .own = own_info };

	if (!count)
		return;
	if (!wants_times(submission) || batch->flags & VK_SUBMIT_PROTECTED_BIT ||
	    !is_plain(batch->pNext)) {
		add_untimed(submission, &list, (const char *)batch->pCommandBufferInfos, count);
		return;
	}
	list.at = take(arena, 3 * count * list.size);
	add_timed(submission, &list, (const char *)batch->pCommandBufferInfos, count);
	batch->pCommandBufferInfos = (const VkCommandBufferSubmitInfo *)list.at;
	batch->commandBufferInfoCount = list.used;
}

static VkResult VKAPI_CALL submit(VkQueue handle, uint32_t count, const VkSubmitInfo *theirs,
				  VkFence fence)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	struct submission submission;
	uint32_t buffers = 0, groups = 0, i;
	VkCommandBuffer first = NULL;
	struct arena arena;
	VkSubmitInfo *batches;
	VkResult result;

	for (i = 0; i < count; i++) {
		if (!buffers && theirs[i].commandBufferCount)
			first = theirs[i].pCommandBuffers[0];
		buffers += theirs[i].commandBufferCount;
		groups += !!find_group(&theirs[i]);
	}
	/* Without command buffers the GPU has nothing to do. */
	if (!buffers ||
	    !begin_submission(&submission, handle, device, INJECT_vkQueueSubmit, buffers, first))
		return device->below.vkQueueSubmit(handle, count, theirs, fence);
	batches = copy_batches(&submission, &arena, theirs, count, sizeof(*batches), buffers,
			       sizeof(VkCommandBuffer), groups);
	for (i = 0; batches && i < count; i++)
		fill_batch(&submission, &arena, &batches[i]);
	result = device->below.vkQueueSubmit(handle, count, batches ? batches : theirs, fence);
	end_submission(&submission, result);
	free(arena.allocated);
	return result;
}

static VkResult submit_with(VkQueue handle, enum inject_vulkan_function function,
			    struct inject_vulkan_device *device, PFN_vkQueueSubmit2 below,
			    uint32_t count, const VkSubmitInfo2 *theirs, VkFence fence)
{
	struct submission submission;
	uint32_t buffers = 0, i;
	VkCommandBuffer first = NULL;
	struct arena arena;
	VkSubmitInfo2 *batches;
	VkResult result;

	for (i = 0; i < count; i++) {
		if (!buffers && theirs[i].commandBufferInfoCount)
			first = theirs[i].pCommandBufferInfos[0].commandBuffer;
		buffers += theirs[i].commandBufferInfoCount;
	}
	if (!buffers || !begin_submission(&submission, handle, device, function, buffers, first))
		return below(handle, count, theirs, fence);
	batches = copy_batches(&submission, &arena, theirs, count, sizeof(*batches), buffers,
			       sizeof(VkCommandBufferSubmitInfo), 0);
	for (i = 0; batches && i < count; i++)
		fill_batch_2(&submission, &arena, &batches[i]);
	result = below(handle, count, batches ? batches : theirs, fence);
	end_submission(&submission, result);
	free(arena.allocated);
	return result;
}

static VkResult VKAPI_CALL submit_2(VkQueue handle, uint32_t count, const VkSubmitInfo2 *batches,
				    VkFence fence)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	return submit_with(handle, INJECT_vkQueueSubmit2, device, device->below.vkQueueSubmit2,
			   count, batches, fence);
}

static VkResult VKAPI_CALL submit_2_khr(VkQueue handle, uint32_t count,
					const VkSubmitInfo2 *batches, VkFence fence)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	return submit_with(handle, INJECT_vkQueueSubmit2KHR, device,
			   device->below.vkQueueSubmit2KHR, count, batches, fence);
}

/* It has no command buffers, so there are no times. */
static VkResult VKAPI_CALL bind_sparse(VkQueue handle, uint32_t count,
				       const VkBindSparseInfo *batches, VkFence fence)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	struct operation operation = { 0 };
	struct submission submission;
	bool is_recorded;
	VkResult result;

	is_recorded =
		begin_submission(&submission, handle, device, INJECT_vkQueueBindSparse, 0, NULL);
	result = device->below.vkQueueBindSparse(handle, count, batches, fence);
	if (is_recorded) {
		submission.operations = &operation;
		submission.used = 1;
		end_submission(&submission, result);
	}
	return result;
}

const struct inject_vulkan_wrapper inject_vulkan_submit_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkQueueSubmit, submit),
	INJECT_VULKAN_WRAPPER(vkQueueSubmit2, submit_2),
	INJECT_VULKAN_WRAPPER(vkQueueSubmit2KHR, submit_2_khr),
	INJECT_VULKAN_WRAPPER(vkQueueBindSparse, bind_sparse),
	{ NULL, NULL },
};
