// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Shared virtual memory: a pointer does not say where its memory is. */
#include "opencl/command.h"
#include "wrappers.h"

#define SHARED GPUMON_PLACE_MANAGED
#define HOST   GPUMON_PLACE_PAGEABLE

static cl_int svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
		       size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_TRANSFER(clEnqueueSVMMemcpy,
		       (queue, blocking, to, from, size, count, list, command.event),
		       inject_command_copy(&command, SHARED, SHARED, size));
}

static cl_int svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
		       size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueSVMMemFill,
		       (queue, to, pattern, pattern_size, size, count, list, command.event),
		       inject_command_set(&command, size, result == CL_SUCCESS ? pattern : NULL,
					  pattern_size));
}

static cl_int svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer,
		      size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	struct inject_command command;
	cl_int result;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueSVMMap);
	result = inject_opencl.clEnqueueSVMMap(queue, blocking, flags, pointer, size, count, list,
					       command.event);
	inject_command_copy(&command, SHARED, HOST, size);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && result == CL_SUCCESS)
		inject_mapped_add(pointer, size);
	inject_command_end(&command, result);
	if (blocking && result == CL_SUCCESS)
		inject_command_waited(&command, queue);
	return result;
}

static cl_int svm_unmap(cl_command_queue queue, void *pointer, cl_uint count, const cl_event *list,
			cl_event *event)
{
	struct inject_command command;
	cl_int result;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueSVMUnmap);
	result = inject_opencl.clEnqueueSVMUnmap(queue, pointer, count, list, command.event);
	inject_command_copy(&command, HOST, SHARED, inject_mapped_bytes(pointer));
	command.kept.copy_kind = GPUMON_COPY_UNMAP;
	inject_command_end(&command, result);
	return result;
}

static cl_int svm_migrate(cl_command_queue queue, cl_uint pointers, const void **pointer_list,
			  const size_t *sizes, cl_mem_migration_flags flags, cl_uint count,
			  const cl_event *list, cl_event *event)
{
	bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
	struct inject_command command;
	uint64_t bytes = 0;
	cl_int result;
	cl_uint i;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueSVMMigrateMem);
	result = inject_opencl.clEnqueueSVMMigrateMem(queue, pointers, pointer_list, sizes, flags,
						      count, list, command.event);
	for (i = 0; result == CL_SUCCESS && sizes && i < pointers; i++)
		bytes += sizes[i];
	inject_command_copy(&command, to_host ? SHARED : HOST, to_host ? HOST : SHARED, bytes);
	command.kept.copy_kind = GPUMON_COPY_MIGRATE;
	inject_command_end(&command, result);
	return result;
}

void inject_wrap_svm(struct _cl_icd_dispatch *layer)
{
	INJECT_WRAP(layer, clEnqueueSVMMemcpy, svm_copy);
	INJECT_WRAP(layer, clEnqueueSVMMemFill, svm_fill);
	INJECT_WRAP(layer, clEnqueueSVMMap, svm_map);
	INJECT_WRAP(layer, clEnqueueSVMUnmap, svm_unmap);
	INJECT_WRAP(layer, clEnqueueSVMMigrateMem, svm_migrate);
}
