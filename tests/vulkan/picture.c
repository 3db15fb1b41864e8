// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A triangle, drawn into an image that nobody shows, and copied to memory. */
#include "vulkan.h"
#include "picture_frag.h"
#include "picture_vert.h"

#define SIZE   64
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM

static VkImage make_image(const struct device *device, VkImageView *view)
{
	const VkImageCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
		.imageType = VK_IMAGE_TYPE_2D,
		.format = FORMAT,
		.extent = { SIZE, SIZE, 1 },
		.mipLevels = 1,
		.arrayLayers = 1,
		.samples = VK_SAMPLE_COUNT_1_BIT,
		.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
	};
	VkMemoryAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkImageViewCreateInfo view_info = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
		.viewType = VK_IMAGE_VIEW_TYPE_2D,
		.format = FORMAT,
		.subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
	};
	VkMemoryRequirements need;
	VkDeviceMemory memory;
	VkImage image;

	NEED(vkCreateImage(device->handle, &info, NULL, &image) == VK_SUCCESS);
	vkGetImageMemoryRequirements(device->handle, image, &need);
	allocate.allocationSize = need.size;
	allocate.memoryTypeIndex = (uint32_t)__builtin_ctz(need.memoryTypeBits);
	NEED(vkAllocateMemory(device->handle, &allocate, NULL, &memory) == VK_SUCCESS);
	NEED(vkBindImageMemory(device->handle, image, memory, 0) == VK_SUCCESS);
	view_info.image = image;
	NEED(vkCreateImageView(device->handle, &view_info, NULL, view) == VK_SUCCESS);
	return image;
}

static VkRenderPass make_pass(const struct device *device)
{
	const VkAttachmentDescription attachment = {
		.format = FORMAT,
		.samples = VK_SAMPLE_COUNT_1_BIT,
		.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
		.storeOp = VK_ATTACHMENT_STORE_OP_STORE,
		.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
		.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
		.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
		.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
	};
	const VkAttachmentReference color = { 0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL };
	const VkSubpassDescription subpass = {
		.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
		.colorAttachmentCount = 1,
		.pColorAttachments = &color,
	};
	const VkSubpassDependency dependency = {
		.srcSubpass = 0,
		.dstSubpass = VK_SUBPASS_EXTERNAL,
		.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
		.dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT,
		.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
	};
	const VkRenderPassCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
		.attachmentCount = 1,
		.pAttachments = &attachment,
		.subpassCount = 1,
		.pSubpasses = &subpass,
		.dependencyCount = 1,
		.pDependencies = &dependency,
	};
	VkRenderPass pass;

	NEED(vkCreateRenderPass(device->handle, &info, NULL, &pass) == VK_SUCCESS);
	return pass;
}

static VkShaderModule make_shader(const struct device *device, const uint32_t *code, size_t size)
{
	const VkShaderModuleCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = size,
		.pCode = code,
	};
	VkShaderModule module;

	NEED(vkCreateShaderModule(device->handle, &info, NULL, &module) == VK_SUCCESS);
	return module;
}

static VkPipeline make_pipeline(const struct device *device, VkRenderPass pass)
{
	const VkPipelineShaderStageCreateInfo stages[2] = {
		{ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		  .stage = VK_SHADER_STAGE_VERTEX_BIT,
		  .module = make_shader(device, picture_vert, sizeof(picture_vert)),
		  .pName = "main" },
		{ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		  .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
		  .module = make_shader(device, picture_frag, sizeof(picture_frag)),
		  .pName = "main" },
	};
	const VkPipelineVertexInputStateCreateInfo vertices = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
	};
	const VkPipelineInputAssemblyStateCreateInfo assembly = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
		.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
	};
	const VkViewport viewport = { 0, 0, SIZE, SIZE, 0, 1 };
	const VkRect2D scissor = { { 0, 0 }, { SIZE, SIZE } };
	const VkPipelineViewportStateCreateInfo viewports = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
		.viewportCount = 1,
		.pViewports = &viewport,
		.scissorCount = 1,
		.pScissors = &scissor,
	};
	const VkPipelineRasterizationStateCreateInfo raster = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
		.cullMode = VK_CULL_MODE_NONE,
		.lineWidth = 1,
	};
	const VkPipelineMultisampleStateCreateInfo samples = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
		.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
	};
	const VkPipelineColorBlendAttachmentState blend = { .colorWriteMask = 0xf };
	const VkPipelineColorBlendStateCreateInfo blends = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
		.attachmentCount = 1,
		.pAttachments = &blend,
	};
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
	};
	VkGraphicsPipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
		.stageCount = 2,
		.pStages = stages,
		.pVertexInputState = &vertices,
		.pInputAssemblyState = &assembly,
		.pViewportState = &viewports,
		.pRasterizationState = &raster,
		.pMultisampleState = &samples,
		.pColorBlendState = &blends,
		.renderPass = pass,
	};
	VkPipeline pipeline;

	NEED(vkCreatePipelineLayout(device->handle, &layout, NULL, &info.layout) == VK_SUCCESS);
	NEED(vkCreateGraphicsPipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL, &pipeline) ==
	     VK_SUCCESS);
	return pipeline;
}

/* The draw is in a secondary command buffer. */
static VkCommandBuffer record_draw(const struct device *device, VkCommandPool pool,
				   VkRenderPass pass, VkFramebuffer target)
{
	const VkCommandBufferInheritanceInfo inherited = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
		.renderPass = pass,
		.framebuffer = target,
	};
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
			 VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
		.pInheritanceInfo = &inherited,
	};
	VkCommandBuffer buffer = make_buffer(device, pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);

	NEED(vkBeginCommandBuffer(buffer, &begin) == VK_SUCCESS);
	vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_GRAPHICS, make_pipeline(device, pass));
	vkCmdDraw(buffer, 3, 1, 0, 0);
	NEED(vkEndCommandBuffer(buffer) == VK_SUCCESS);
	return buffer;
}

static VkCommandBuffer record_picture(const struct device *device, VkBuffer to)
{
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	};
	const VkClearValue clear = { .color = { .float32 = { 0.25f, 0.5f, 0.75f, 1 } } };
	const VkBufferImageCopy region = {
		.imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
		.imageExtent = { SIZE, SIZE, 1 },
	};
	VkRenderPass pass = make_pass(device);
	VkImageView view;
	VkImage image = make_image(device, &view);
	const VkFramebufferCreateInfo target_info = {
		.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
		.renderPass = pass,
		.attachmentCount = 1,
		.pAttachments = &view,
		.width = SIZE,
		.height = SIZE,
		.layers = 1,
	};
	VkRenderPassBeginInfo pass_info = {
		.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
		.renderPass = pass,
		.renderArea = { { 0, 0 }, { SIZE, SIZE } },
		.clearValueCount = 1,
		.pClearValues = &clear,
	};
	VkCommandPool pool = make_pool(device);
	VkCommandBuffer buffer = make_buffer(device, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY), draw;

	NEED(vkCreateFramebuffer(device->handle, &target_info, NULL, &pass_info.framebuffer) ==
	     VK_SUCCESS);
	draw = record_draw(device, pool, pass, pass_info.framebuffer);
	NEED(vkBeginCommandBuffer(buffer, &begin) == VK_SUCCESS);
	vkCmdBeginRenderPass(buffer, &pass_info, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
	vkCmdExecuteCommands(buffer, 1, &draw);
	vkCmdEndRenderPass(buffer);
	vkCmdCopyImageToBuffer(buffer, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &region);
	NEED(vkEndCommandBuffer(buffer) == VK_SUCCESS);
	return buffer;
}

void draw_picture(const struct device *device, unsigned int frames)
{
	VkDeviceMemory memory;
	uint32_t *pixels;
	VkBuffer to = make_words(device, &memory, &pixels);
	VkCommandBuffer buffer = record_picture(device, to);
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &buffer,
	};
	VkFence fence = make_fence(device);

	for (unsigned int i = 0; i < frames; i++) {
		uint64_t begin = now();

		NEED(vkQueueSubmit(device->queue[0], 1, &info, fence) == VK_SUCCESS);
		NEED(vkWaitForFences(device->handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
		account(1, begin, now());
		NEED(vkResetFences(device->handle, 1, &fence) == VK_SUCCESS);
	}
	printf("picture %016llx\n", (unsigned long long)sum_of(pixels, SIZE * SIZE));
}
