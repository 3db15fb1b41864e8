// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Commands that are appended to a list: what they are. */
#include <string.h>

#include "tracer.h"
#include "ze/command.h"

/* Of memory in the context of a list. */
static uint8_t find_place(ze_command_list_handle_t handle, const void *pointer)
{
	ze_memory_allocation_properties_t properties = {
		.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
	};
	const struct inject_ze_list *list = inject_ze_list_find(handle);

	if (!list || inject_ze.zeMemGetAllocProperties(list->context->handle, pointer, &properties,
						       NULL) != ZE_RESULT_SUCCESS)
		return GPUMON_PLACE_UNKNOWN;
	switch (properties.type) {
	case ZE_MEMORY_TYPE_HOST:
		return GPUMON_PLACE_PINNED;
	case ZE_MEMORY_TYPE_DEVICE:
		return GPUMON_PLACE_DEVICE;
	case ZE_MEMORY_TYPE_SHARED:
		return GPUMON_PLACE_MANAGED;
	default:
		return GPUMON_PLACE_PAGEABLE;
	}
}

static void describe_kernel(struct inject_ze_command *command, ze_kernel_handle_t handle,
			    const ze_group_count_t *groups)
{
	struct inject_ze_kernel *kernel = inject_ze_kernel_find(handle);

	if (!kernel || !kernel->name)
		kernel = inject_ze_kernel_learn(handle);
	command->record = GPUMON_RECORD_KERNEL;
	if (kernel) {
		command->name = kernel->name;
		memcpy(command->local, kernel->local, sizeof(command->local));
	}
	if (groups) {
		command->grid[0] = groups->groupCountX;
		command->grid[1] = groups->groupCountY;
		command->grid[2] = groups->groupCountZ;
	}
}

static uint64_t region_bytes(const ze_copy_region_t *region)
{
	return region ? (uint64_t)region->width * region->height *
				(region->depth ? region->depth : 1) :
			0;
}

static void describe_copy(struct inject_ze_command *command, uint8_t from, uint8_t to,
			  uint64_t bytes)
{
	command->record = GPUMON_RECORD_COPY;
	command->from = from;
	command->to = to;
	command->bytes = bytes;
}

/*
 * Both callbacks of a function. @describe is done where it is recorded, after the call succeeded: what
 * the arguments point to may be wrong before.
 */
#define APPEND(name, what, describe)                                                         \
	INJECT_ZE_BEFORE(name, what)                                                         \
	{                                                                                    \
		(void)result;                                                                \
		(void)tracer;                                                                \
		inject_ze_append_begin(INJECT_zeCommandList##name, *p->phCommandList,        \
				       p->phSignalEvent, mine);                              \
	}                                                                                    \
	INJECT_ZE_AFTER(name, what)                                                          \
	{                                                                                    \
		struct inject_ze_command command = { 0 };                                    \
                                                                                             \
		(void)tracer;                                                                \
		if (!*mine)                                                                  \
			return;                                                              \
		if (result == ZE_RESULT_SUCCESS)                                             \
			describe;                                                            \
		inject_ze_append_end(*p->phCommandList, *p->phSignalEvent, result, &command, \
				     *mine);                                                 \
	}

#define PLACE(pointer) find_place(*p->phCommandList, pointer)

APPEND(AppendLaunchKernel, command_list_append_launch_kernel,
       describe_kernel(&command, *p->phKernel, *p->ppLaunchFuncArgs))
APPEND(AppendLaunchCooperativeKernel, command_list_append_launch_cooperative_kernel,
       describe_kernel(&command, *p->phKernel, *p->ppLaunchFuncArgs))
/* How many groups is in memory of the device. */
APPEND(AppendLaunchKernelIndirect, command_list_append_launch_kernel_indirect,
       describe_kernel(&command, *p->phKernel, NULL))
/* One command, one time: that of all of them. */
APPEND(AppendLaunchMultipleKernelsIndirect, command_list_append_launch_multiple_kernels_indirect,
       describe_kernel(&command, (*p->pphKernels)[0], NULL))

APPEND(AppendMemoryCopy, command_list_append_memory_copy,
       describe_copy(&command, PLACE(*p->psrcptr), PLACE(*p->pdstptr), *p->psize))
APPEND(AppendMemoryCopyRegion, command_list_append_memory_copy_region,
       describe_copy(&command, PLACE(*p->psrcptr), PLACE(*p->pdstptr),
		     region_bytes(*p->pdstRegion)))
APPEND(AppendMemoryCopyFromContext, command_list_append_memory_copy_from_context,
       describe_copy(&command, GPUMON_PLACE_UNKNOWN, PLACE(*p->pdstptr), *p->psize))
/* How many bytes a pixel has is not known here. */
APPEND(AppendImageCopy, command_list_append_image_copy,
       describe_copy(&command, GPUMON_PLACE_ARRAY, GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyRegion, command_list_append_image_copy_region,
       describe_copy(&command, GPUMON_PLACE_ARRAY, GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyToMemory, command_list_append_image_copy_to_memory,
       describe_copy(&command, GPUMON_PLACE_ARRAY, PLACE(*p->pdstptr), 0))
APPEND(AppendImageCopyFromMemory, command_list_append_image_copy_from_memory,
       describe_copy(&command, PLACE(*p->psrcptr), GPUMON_PLACE_ARRAY, 0))
APPEND(AppendImageCopyToMemoryExt, command_list_append_image_copy_to_memory_ext,
       describe_copy(&command, GPUMON_PLACE_ARRAY, PLACE(*p->pdstptr), 0))
APPEND(AppendImageCopyFromMemoryExt, command_list_append_image_copy_from_memory_ext,
       describe_copy(&command, PLACE(*p->psrcptr), GPUMON_PLACE_ARRAY, 0))

static void describe_set(struct inject_ze_command *command, const void *pattern,
			 size_t pattern_size, uint64_t bytes)
{
	command->record = GPUMON_RECORD_SET;
	command->bytes = bytes;
	if (pattern && pattern_size <= sizeof(command->value))
		memcpy(&command->value, pattern, pattern_size);
}

APPEND(AppendMemoryFill, command_list_append_memory_fill,
       describe_set(&command, *p->ppattern, *p->ppattern_size, *p->psize))

#define SET(name)                                                  \
	do {                                                       \
		before->CommandList.pfn##name##Cb = before_##name; \
		after->CommandList.pfn##name##Cb = after_##name;   \
	} while (0)

void inject_ze_trace_appends(zel_core_callbacks_t *before, zel_core_callbacks_t *after)
{
	SET(AppendLaunchKernel);
	SET(AppendLaunchCooperativeKernel);
	SET(AppendLaunchKernelIndirect);
	SET(AppendLaunchMultipleKernelsIndirect);
	SET(AppendMemoryCopy);
	SET(AppendMemoryCopyRegion);
	SET(AppendMemoryCopyFromContext);
	SET(AppendImageCopy);
	SET(AppendImageCopyRegion);
	SET(AppendImageCopyToMemory);
	SET(AppendImageCopyFromMemory);
	SET(AppendMemoryFill);
}

#define SET_NEW(name)                                                           \
	do {                                                                    \
		if (inject_ze.zelTracerCommandList##name##RegisterCallback) {   \
			inject_ze.zelTracerCommandList##name##RegisterCallback( \
				tracer, ZEL_REGISTER_PROLOGUE, before_##name);  \
			inject_ze.zelTracerCommandList##name##RegisterCallback( \
				tracer, ZEL_REGISTER_EPILOGUE, after_##name);   \
		}                                                               \
	} while (0)

/* Functions that are newer than version 1.0 are registered one by one. */
void inject_ze_trace_new_appends(zel_tracer_handle_t tracer)
{
	SET_NEW(AppendImageCopyToMemoryExt);
	SET_NEW(AppendImageCopyFromMemoryExt);
}
