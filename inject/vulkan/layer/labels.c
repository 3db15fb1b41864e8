// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * VK_EXT_debug_utils, where the program uses it: names of command buffers and queues, and labels of queues, which
 * are ranges of the thread that sets them.
 */
#include <errno.h>
#include <string.h>

#include "base/handles.h"
#include "base/prepared.h"
#include "channel/annotations.h"
#include "channel/intern.h"
#include "wrappers.h"

#define NAME_LENGTH 64

/**
 * struct name - of a command buffer
 * @kept: string id in the capture, for inject_string_again()
 * @text: empty: it has none
 *
 * Vulkan has the program use a command buffer in one thread at a time.
 */
struct name {
	_Atomic uint64_t kept;
	char text[NAME_LENGTH];
};

_Atomic bool inject_vulkan_has_names;

static struct inject_handles buffers = INJECT_HANDLES;

void inject_vulkan_copy_name(char *to, size_t room, const char *text)
{
	size_t length = text ? strnlen(text, room) : 0;

	if (length == room)
		for (length--; length && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
			;
	if (length)
		memcpy(to, text, length);
	to[length] = '\0';
}

uint32_t inject_vulkan_name_of(struct inject_thread *thread, VkCommandBuffer buffer)
{
	struct name *name = inject_handle_find(&buffers, buffer, 0);

	return name && name->text[0] ? inject_string_again(thread, &name->kept, name->text) : 0;
}

void inject_vulkan_labels_forked(void)
{
	inject_handles_forked(&buffers);
}

static void name_buffer(VkCommandBuffer buffer, const char *text)
{
	struct name *name = text[0] ? inject_handle_add(&buffers, buffer, 0, sizeof(*name)) :
				      inject_handle_find(&buffers, buffer, 0);
	struct inject_thread *thread;

	if (name) {
		memcpy(name->text, text, strlen(text) + 1);
		atomic_store(&name->kept, 0);
		atomic_store(&inject_vulkan_has_names, true);
		return;
	}
	thread = text[0] ? inject_thread_enter(true) : NULL;
	if (thread) {
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_STRING_TABLE, 1);
		inject_thread_leave(thread);
	}
}

static VkResult VKAPI_CALL set_name(VkDevice handle, const VkDebugUtilsObjectNameInfoEXT *info)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result = device->below.vkSetDebugUtilsObjectNameEXT(handle, info);
	struct inject_vulkan_queue *queue;
	char text[NAME_LENGTH];
	int kept = errno;

	if (device->is_inherited)
		return result;
	inject_vulkan_copy_name(text, NAME_LENGTH, info->pObjectName);
	if (info->objectType == VK_OBJECT_TYPE_COMMAND_BUFFER)
		name_buffer((VkCommandBuffer)(uintptr_t)info->objectHandle, text);
	queue = info->objectType == VK_OBJECT_TYPE_QUEUE ?
			inject_vulkan_queue_find(device, (VkQueue)(uintptr_t)info->objectHandle) :
			NULL;
	if (queue)
		inject_vulkan_queue_name(queue, text);
	errno = kept;
	return result;
}

/* A new one may have the handle of one that was named and freed. */
static VkResult VKAPI_CALL allocate_buffers(VkDevice handle,
					    const VkCommandBufferAllocateInfo *info,
					    VkCommandBuffer *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result = device->below.vkAllocateCommandBuffers(handle, info, made);
	uint32_t i;

	if (result == VK_SUCCESS && atomic_load(&inject_vulkan_has_names))
		for (i = 0; i < info->commandBufferCount; i++)
			name_buffer(made[i], "");
	if (result == VK_SUCCESS && device->has_passes && !device->is_inherited)
		inject_vulkan_passes_add(device, info, made);
	return result;
}

/* --- labels of queues */

static const char domain[] = "Vulkan";

/* ARGB; all 0: the program has set none. */
static uint32_t color_of(const float *color)
{
	/* Red to blue, then alpha. */
	static const unsigned int shifts[4] = { 16, 8, 0, 24 };
	uint32_t argb = 0;
	unsigned int i;

	for (i = 0; i < 4; i++)
		argb |= (uint32_t)((color[i] > 0 ? color[i] < 1 ? color[i] : 1 : 0) * 255.0f + 0.5f)
			<< shifts[i];
	return argb;
}

/* Open ranges are kept also while there is no capture, so that one that begins later has them. */
static void write_label(uint16_t kind, const VkDebugUtilsLabelEXT *label)
{
	struct gpumon_record_range record = {
		.head = { .type = GPUMON_RECORD_RANGE, .size = sizeof(record) },
		.time_ns = inject_now(),
		.color = label ? color_of(label->color) : 0,
		.kind = kind,
	};
	struct inject_range range = {
		.time_ns = record.time_ns, .handle = domain, .domain = domain, .color = record.color
	};
	struct inject_thread *thread, *self;
	int kept = errno;

	/* Enters before the range is remembered: a thread that begins writes those that are open. */
	thread = inject_session.record & GPUMON_RECORD_RANGES ? inject_thread_enter(true) : NULL;
	self = inject_thread_get();
	if (self && kind == GPUMON_RANGE_PUSH) {
		inject_vulkan_copy_name(range.text, NAME_LENGTH, label->pLabelName);
		inject_open_ranges_push(self, &range);
	} else if (self && kind == GPUMON_RANGE_POP) {
		inject_open_ranges_pop(self, domain);
	}
	if (thread && atomic_load(&inject_session.recording)) {
		record.tid = thread->tid;
		record.domain = inject_intern_string(thread, domain);
		record.text = label ? inject_intern_string(thread, label->pLabelName) : 0;
		inject_append(thread, &record);
	}
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

static void VKAPI_CALL begin_label(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	if (!device->is_inherited)
		write_label(GPUMON_RANGE_PUSH, label);
	device->below.vkQueueBeginDebugUtilsLabelEXT(handle, label);
}

static void VKAPI_CALL end_label(VkQueue handle)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	device->below.vkQueueEndDebugUtilsLabelEXT(handle);
	if (!device->is_inherited)
		write_label(GPUMON_RANGE_POP, NULL);
}

static void VKAPI_CALL insert_label(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	if (!device->is_inherited)
		write_label(GPUMON_RANGE_MARK, label);
	device->below.vkQueueInsertDebugUtilsLabelEXT(handle, label);
}

const struct inject_vulkan_wrapper inject_vulkan_labels_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkAllocateCommandBuffers, allocate_buffers),
	INJECT_VULKAN_WRAPPER(vkSetDebugUtilsObjectNameEXT, set_name),
	INJECT_VULKAN_WRAPPER(vkQueueBeginDebugUtilsLabelEXT, begin_label),
	INJECT_VULKAN_WRAPPER(vkQueueEndDebugUtilsLabelEXT, end_label),
	INJECT_VULKAN_WRAPPER(vkQueueInsertDebugUtilsLabelEXT, insert_label),
	{ NULL, NULL },
};
