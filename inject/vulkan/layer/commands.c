// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What a program records into its command buffers, where the recorder asks for times inside of them: render passes
 * as a whole, and outside of them dispatches, copies, barriers and secondary command buffers. Labels of
 * VK_EXT_debug_utils say what they are for.
 */
#include <errno.h>
#include <string.h>

#include "session/session.h"
#include "wrappers.h"

/* --- pools and command buffers */

static VkResult VKAPI_CALL create_pool(VkDevice handle, const VkCommandPoolCreateInfo *info,
				       const VkAllocationCallbacks *allocator, VkCommandPool *made)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	VkResult result = device->below.vkCreateCommandPool(handle, info, allocator, made);

	if (result == VK_SUCCESS && device->has_passes && !device->is_inherited)
		inject_vulkan_passes_pool(device, *made, info);
	return result;
}

static void VKAPI_CALL destroy_pool(VkDevice handle, VkCommandPool pool,
				    const VkAllocationCallbacks *allocator)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	bool has_passes = pool && device->has_passes && !device->is_inherited;

	if (has_passes)
		inject_vulkan_passes_clear_pool(device, pool);
	device->below.vkDestroyCommandPool(handle, pool, allocator);
	if (has_passes)
		inject_vulkan_passes_free_pool(device, pool);
}

static VkResult VKAPI_CALL reset_pool(VkDevice handle, VkCommandPool pool,
				      VkCommandPoolResetFlags flags)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	if (device->has_passes && !device->is_inherited)
		inject_vulkan_passes_clear_pool(device, pool);
	return device->below.vkResetCommandPool(handle, pool, flags);
}

static void VKAPI_CALL free_buffers(VkDevice handle, VkCommandPool pool, uint32_t count,
				    const VkCommandBuffer *buffers)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	struct inject_vulkan_commands *commands;
	uint32_t i;

	for (i = 0; i < count; i++) {
		commands = buffers[i] ? inject_vulkan_passes_find(device, buffers[i]) : NULL;
		if (commands)
			inject_vulkan_passes_clear(device, commands);
	}
	device->below.vkFreeCommandBuffers(handle, pool, count, buffers);
	for (i = 0; device->has_passes && !device->is_inherited && i < count; i++)
		if (buffers[i])
			inject_vulkan_passes_free(device, pool, buffers[i]);
}

/* Once in a capture. */
static void say_simultaneous(void)
{
	static _Atomic uint32_t said_in;
	struct inject_thread *thread = inject_thread_enter(true);
	int kept = errno;

	if (thread && inject_first_in_capture(&said_in))
		inject_session_note(
			thread, 0,
			"some command buffers of Vulkan may be on their way twice at a time (SIMULTANEOUS_USE): these are known as a whole");
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

static VkResult VKAPI_CALL begin_buffer(VkCommandBuffer buffer,
					const VkCommandBufferBeginInfo *info)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);
	VkResult result;

	if (commands)
		inject_vulkan_passes_clear(device, commands);
	result = device->below.vkBeginCommandBuffer(buffer, info);
	if (result != VK_SUCCESS || !commands || !commands->can_be_timed ||
	    !inject_session_takes_calls() || !(inject_session.record & GPUMON_RECORD_PASSES))
		return result;
	commands->is_timed = !(info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
	if (!commands->is_timed)
		say_simultaneous();
	return result;
}

static VkResult VKAPI_CALL reset_buffer(VkCommandBuffer buffer, VkCommandBufferResetFlags flags)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	if (commands)
		inject_vulkan_passes_clear(device, commands);
	return device->below.vkResetCommandBuffer(buffer, flags);
}

/* --- labels */

static void VKAPI_CALL begin_label(VkCommandBuffer buffer, const VkDebugUtilsLabelEXT *label)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	if (commands && commands->is_timed && commands->depth < INJECT_VULKAN_LABELS)
		inject_vulkan_copy_name(commands->label[commands->depth], INJECT_VULKAN_LABEL_TEXT,
					label->pLabelName);
	if (commands && commands->is_timed)
		commands->depth++;
	device->below.vkCmdBeginDebugUtilsLabelEXT(buffer, label);
}

static void VKAPI_CALL end_label(VkCommandBuffer buffer)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	/* A label may have begun in an earlier command buffer. */
	if (commands && commands->depth)
		commands->depth--;
	device->below.vkCmdEndDebugUtilsLabelEXT(buffer);
}

/* --- render passes */

/* @is_part: of a pass that begins or goes on in another command buffer */
static void begin_render(struct inject_vulkan_device *device, VkCommandBuffer buffer,
			 const VkRect2D *area, bool is_part)
{
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);
	const uint32_t size[3] = { area->extent.width, area->extent.height, 1 };

	if (!commands || !commands->is_timed)
		return;
	commands->is_inside = true;
	commands->is_open = !is_part &&
			    inject_vulkan_pass_begin(device, commands, "render pass", size);
}

static void end_render(struct inject_vulkan_device *device, VkCommandBuffer buffer)
{
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	if (!commands)
		return;
	if (commands->is_open)
		inject_vulkan_pass_end(device, commands);
	commands->is_open = false;
	commands->is_inside = false;
}

static void VKAPI_CALL begin_render_pass(VkCommandBuffer buffer, const VkRenderPassBeginInfo *info,
					 VkSubpassContents contents)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);

	begin_render(device, buffer, &info->renderArea, false);
	device->below.vkCmdBeginRenderPass(buffer, info, contents);
}

static void VKAPI_CALL end_render_pass(VkCommandBuffer buffer)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);

	device->below.vkCmdEndRenderPass(buffer);
	end_render(device, buffer);
}

/* A function of Vulkan's core, and the one of the extension that it comes from. */
#define RENDER_PASS_2(name, function)                                                              \
	static void VKAPI_CALL begin_##name(VkCommandBuffer buffer,                                \
					    const VkRenderPassBeginInfo *info,                     \
					    const VkSubpassBeginInfo *subpass)                     \
	{                                                                                          \
		struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);           \
                                                                                                   \
		begin_render(device, buffer, &info->renderArea, false);                            \
		device->below.vkCmdBegin##function(buffer, info, subpass);                         \
	}                                                                                          \
	static void VKAPI_CALL end_##name(VkCommandBuffer buffer, const VkSubpassEndInfo *subpass) \
	{                                                                                          \
		struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);           \
                                                                                                   \
		device->below.vkCmdEnd##function(buffer, subpass);                                 \
		end_render(device, buffer);                                                        \
	}

RENDER_PASS_2(render_pass_2, RenderPass2)
RENDER_PASS_2(render_pass_2_khr, RenderPass2KHR)

#define RENDERING(name, function)                                                                \
	static void VKAPI_CALL begin_##name(VkCommandBuffer buffer, const VkRenderingInfo *info) \
	{                                                                                        \
		struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);         \
                                                                                                 \
		begin_render(device, buffer, &info->renderArea,                                  \
			     info->flags & (VK_RENDERING_SUSPENDING_BIT |                        \
					    VK_RENDERING_RESUMING_BIT));                         \
		device->below.vkCmdBegin##function(buffer, info);                                \
	}                                                                                        \
	static void VKAPI_CALL end_##name(VkCommandBuffer buffer)                                \
	{                                                                                        \
		struct inject_vulkan_device *device = inject_vulkan_device_find(buffer);         \
                                                                                                 \
		device->below.vkCmdEnd##function(buffer);                                        \
		end_render(device, buffer);                                                      \
	}

RENDERING(rendering, Rendering)
RENDERING(rendering_khr, RenderingKHR)

/* --- commands outside of render passes */

/* NULL: it has no times. */
static struct inject_vulkan_commands *begin_command(struct inject_vulkan_device *device,
						    VkCommandBuffer buffer, const char *what,
						    const uint32_t *size)
{
	struct inject_vulkan_commands *commands = inject_vulkan_passes_find(device, buffer);

	if (!commands || !commands->is_timed || commands->is_inside ||
	    !inject_vulkan_pass_begin(device, commands, what, size))
		return NULL;
	return commands;
}

/* Calls the driver with times around. @parameters: with buffer as the first one */
#define COMMAND(function, what, size, parameters, ...)                                   \
	static void VKAPI_CALL own_##function parameters                                 \
	{                                                                                \
		struct inject_vulkan_device *device = inject_vulkan_device_find(buffer); \
		struct inject_vulkan_commands *commands =                                \
			begin_command(device, buffer, what, size);                       \
                                                                                         \
		device->below.function(buffer, __VA_ARGS__);                             \
		if (commands)                                                            \
			inject_vulkan_pass_end(device, commands);                        \
	}

/* Likewise, of Vulkan's core, and of the extension that it comes from. */
#define COMMAND_AND_KHR(function, what, size, parameters, ...)       \
	COMMAND(function, what, size, parameters, __VA_ARGS__)       \
	COMMAND(function##KHR, what, size, parameters, __VA_ARGS__)

/* Likewise, with one structure. */
#define COMMAND_OF_INFO(function, what, VkInfo) \
	COMMAND_AND_KHR(function, what, NULL, (VkCommandBuffer buffer, const VkInfo *info), info)

#define SIZE(x, y, z) ((const uint32_t[3]) { x, y, z })

COMMAND(vkCmdDispatch, "dispatch", SIZE(x, y, z),
	(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z), x, y, z)
COMMAND(vkCmdDispatchIndirect, "indirect dispatch", NULL,
	(VkCommandBuffer buffer, VkBuffer from, VkDeviceSize offset), from, offset)
COMMAND_AND_KHR(vkCmdDispatchBase, "dispatch", SIZE(x, y, z),
	(VkCommandBuffer buffer, uint32_t base_x, uint32_t base_y, uint32_t base_z, uint32_t x,
	 uint32_t y, uint32_t z),
	base_x, base_y, base_z, x, y, z)
COMMAND(vkCmdTraceRaysKHR, "ray tracing", SIZE(x, y, z),
	(VkCommandBuffer buffer, const VkStridedDeviceAddressRegionKHR *generation,
	 const VkStridedDeviceAddressRegionKHR *miss, const VkStridedDeviceAddressRegionKHR *hit,
	 const VkStridedDeviceAddressRegionKHR *callable, uint32_t x, uint32_t y, uint32_t z),
	generation, miss, hit, callable, x, y, z)
COMMAND(vkCmdTraceRaysIndirectKHR, "indirect ray tracing", NULL,
	(VkCommandBuffer buffer, const VkStridedDeviceAddressRegionKHR *generation,
	 const VkStridedDeviceAddressRegionKHR *miss, const VkStridedDeviceAddressRegionKHR *hit,
	 const VkStridedDeviceAddressRegionKHR *callable, VkDeviceAddress from),
	generation, miss, hit, callable, from)
COMMAND(vkCmdBuildAccelerationStructuresKHR, "build acceleration structures", NULL,
	(VkCommandBuffer buffer, uint32_t count,
	 const VkAccelerationStructureBuildGeometryInfoKHR *infos,
	 const VkAccelerationStructureBuildRangeInfoKHR *const *ranges),
	count, infos, ranges)
COMMAND(vkCmdCopyBuffer, "copy of a buffer", NULL,
	(VkCommandBuffer buffer, VkBuffer from, VkBuffer to, uint32_t count,
	 const VkBufferCopy *regions),
	from, to, count, regions)
COMMAND(vkCmdCopyImage, "copy of an image", NULL,
	(VkCommandBuffer buffer, VkImage from, VkImageLayout from_layout, VkImage to,
	 VkImageLayout to_layout, uint32_t count, const VkImageCopy *regions),
	from, from_layout, to, to_layout, count, regions)
COMMAND(vkCmdBlitImage, "blit of an image", NULL,
	(VkCommandBuffer buffer, VkImage from, VkImageLayout from_layout, VkImage to,
	 VkImageLayout to_layout, uint32_t count, const VkImageBlit *regions, VkFilter filter),
	from, from_layout, to, to_layout, count, regions, filter)
COMMAND(vkCmdCopyBufferToImage, "copy of a buffer to an image", NULL,
	(VkCommandBuffer buffer, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
	 const VkBufferImageCopy *regions),
	from, to, layout, count, regions)
COMMAND(vkCmdCopyImageToBuffer, "copy of an image to a buffer", NULL,
	(VkCommandBuffer buffer, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
	 const VkBufferImageCopy *regions),
	from, layout, to, count, regions)
COMMAND(vkCmdResolveImage, "resolve of an image", NULL,
	(VkCommandBuffer buffer, VkImage from, VkImageLayout from_layout, VkImage to,
	 VkImageLayout to_layout, uint32_t count, const VkImageResolve *regions),
	from, from_layout, to, to_layout, count, regions)
COMMAND(vkCmdUpdateBuffer, "update of a buffer", NULL,
	(VkCommandBuffer buffer, VkBuffer to, VkDeviceSize offset, VkDeviceSize size,
	 const void *data),
	to, offset, size, data)
COMMAND(vkCmdFillBuffer, "fill of a buffer", NULL,
	(VkCommandBuffer buffer, VkBuffer to, VkDeviceSize offset, VkDeviceSize size,
	 uint32_t data),
	to, offset, size, data)
COMMAND(vkCmdClearColorImage, "clear of an image", NULL,
	(VkCommandBuffer buffer, VkImage image, VkImageLayout layout,
	 const VkClearColorValue *color, uint32_t count, const VkImageSubresourceRange *ranges),
	image, layout, color, count, ranges)
COMMAND(vkCmdClearDepthStencilImage, "clear of a depth image", NULL,
	(VkCommandBuffer buffer, VkImage image, VkImageLayout layout,
	 const VkClearDepthStencilValue *value, uint32_t count,
	 const VkImageSubresourceRange *ranges),
	image, layout, value, count, ranges)
COMMAND_OF_INFO(vkCmdCopyBuffer2, "copy of a buffer", VkCopyBufferInfo2)
COMMAND_OF_INFO(vkCmdCopyImage2, "copy of an image", VkCopyImageInfo2)
COMMAND_OF_INFO(vkCmdBlitImage2, "blit of an image", VkBlitImageInfo2)
COMMAND_OF_INFO(vkCmdCopyBufferToImage2, "copy of a buffer to an image", VkCopyBufferToImageInfo2)
COMMAND_OF_INFO(vkCmdCopyImageToBuffer2, "copy of an image to a buffer", VkCopyImageToBufferInfo2)
COMMAND_OF_INFO(vkCmdResolveImage2, "resolve of an image", VkResolveImageInfo2)
COMMAND_OF_INFO(vkCmdPipelineBarrier2, "barrier", VkDependencyInfo)
COMMAND(vkCmdPipelineBarrier, "barrier", NULL,
	(VkCommandBuffer buffer, VkPipelineStageFlags from, VkPipelineStageFlags to,
	 VkDependencyFlags flags, uint32_t memories, const VkMemoryBarrier *memory,
	 uint32_t buffers, const VkBufferMemoryBarrier *of_buffer, uint32_t images,
	 const VkImageMemoryBarrier *of_image),
	from, to, flags, memories, memory, buffers, of_buffer, images, of_image)
COMMAND(vkCmdExecuteCommands, "secondary command buffers", NULL,
	(VkCommandBuffer buffer, uint32_t count, const VkCommandBuffer *secondary), count,
	secondary)

#define OWN(function)	      INJECT_VULKAN_WRAPPER(function, own_##function)
#define OWN_AND_KHR(function) OWN(function), OWN(function##KHR)

const struct inject_vulkan_wrapper inject_vulkan_commands_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkCreateCommandPool, create_pool),
	INJECT_VULKAN_WRAPPER(vkDestroyCommandPool, destroy_pool),
	INJECT_VULKAN_WRAPPER(vkResetCommandPool, reset_pool),
	INJECT_VULKAN_WRAPPER(vkFreeCommandBuffers, free_buffers),
	INJECT_VULKAN_WRAPPER(vkBeginCommandBuffer, begin_buffer),
	INJECT_VULKAN_WRAPPER(vkResetCommandBuffer, reset_buffer),
	INJECT_VULKAN_WRAPPER(vkCmdBeginDebugUtilsLabelEXT, begin_label),
	INJECT_VULKAN_WRAPPER(vkCmdEndDebugUtilsLabelEXT, end_label),
	INJECT_VULKAN_WRAPPER(vkCmdBeginRenderPass, begin_render_pass),
	INJECT_VULKAN_WRAPPER(vkCmdEndRenderPass, end_render_pass),
	INJECT_VULKAN_WRAPPER(vkCmdBeginRenderPass2, begin_render_pass_2),
	INJECT_VULKAN_WRAPPER(vkCmdEndRenderPass2, end_render_pass_2),
	INJECT_VULKAN_WRAPPER(vkCmdBeginRenderPass2KHR, begin_render_pass_2_khr),
	INJECT_VULKAN_WRAPPER(vkCmdEndRenderPass2KHR, end_render_pass_2_khr),
	INJECT_VULKAN_WRAPPER(vkCmdBeginRendering, begin_rendering),
	INJECT_VULKAN_WRAPPER(vkCmdEndRendering, end_rendering),
	INJECT_VULKAN_WRAPPER(vkCmdBeginRenderingKHR, begin_rendering_khr),
	INJECT_VULKAN_WRAPPER(vkCmdEndRenderingKHR, end_rendering_khr),
	OWN(vkCmdDispatch),
	OWN(vkCmdDispatchIndirect),
	OWN_AND_KHR(vkCmdDispatchBase),
	OWN(vkCmdTraceRaysKHR),
	OWN(vkCmdTraceRaysIndirectKHR),
	OWN(vkCmdBuildAccelerationStructuresKHR),
	OWN(vkCmdCopyBuffer),
	OWN(vkCmdCopyImage),
	OWN(vkCmdBlitImage),
	OWN(vkCmdCopyBufferToImage),
	OWN(vkCmdCopyImageToBuffer),
	OWN(vkCmdResolveImage),
	OWN(vkCmdUpdateBuffer),
	OWN(vkCmdFillBuffer),
	OWN(vkCmdClearColorImage),
	OWN(vkCmdClearDepthStencilImage),
	OWN_AND_KHR(vkCmdCopyBuffer2),
	OWN_AND_KHR(vkCmdCopyImage2),
	OWN_AND_KHR(vkCmdBlitImage2),
	OWN_AND_KHR(vkCmdCopyBufferToImage2),
	OWN_AND_KHR(vkCmdCopyImageToBuffer2),
	OWN_AND_KHR(vkCmdResolveImage2),
	OWN_AND_KHR(vkCmdPipelineBarrier2),
	OWN(vkCmdPipelineBarrier),
	OWN(vkCmdExecuteCommands),
	{ NULL, NULL },
};
