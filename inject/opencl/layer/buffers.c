// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "opencl/command.h"
#include "wrappers.h"

#define HOST   GPUMON_PLACE_PAGEABLE
#define DEVICE GPUMON_PLACE_DEVICE

/* After a failed call there may be nothing at that address. */
static uint64_t region_bytes(cl_int result, const size_t *region)
{
	return result == CL_SUCCESS ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			  size_t size, void *to, cl_uint count, const cl_event *list,
			  cl_event *event)
{
	INJECT_TRANSFER(clEnqueueReadBuffer,
		       (queue, buffer, blocking, offset, size, to, count, list, command.event),
		       inject_command_copy(&command, DEVICE, HOST, size));
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			   size_t size, const void *from, cl_uint count, const cl_event *list,
			   cl_event *event)
{
	INJECT_TRANSFER(clEnqueueWriteBuffer,
		       (queue, buffer, blocking, offset, size, from, count, list, command.event),
		       inject_command_copy(&command, HOST, DEVICE, size));
}

static cl_int copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			  size_t to_offset, size_t size, cl_uint count, const cl_event *list,
			  cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueCopyBuffer,
		       (queue, from, to, from_offset, to_offset, size, count, list, command.event),
		       inject_command_copy(&command, DEVICE, DEVICE, size));
}

static cl_int read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
			const size_t *buffer_origin, const size_t *host_origin,
			const size_t *region, size_t buffer_row, size_t buffer_slice,
			size_t host_row, size_t host_slice, void *to, cl_uint count,
			const cl_event *list, cl_event *event)
{
	INJECT_TRANSFER(clEnqueueReadBufferRect,
		       (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
			buffer_slice, host_row, host_slice, to, count, list, command.event),
		       inject_command_copy(&command, DEVICE, HOST, region_bytes(result, region)));
}

static cl_int write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
			 const size_t *buffer_origin, const size_t *host_origin,
			 const size_t *region, size_t buffer_row, size_t buffer_slice,
			 size_t host_row, size_t host_slice, const void *from, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_TRANSFER(clEnqueueWriteBufferRect,
		       (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
			buffer_slice, host_row, host_slice, from, count, list, command.event),
		       inject_command_copy(&command, HOST, DEVICE, region_bytes(result, region)));
}

static cl_int copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
			const size_t *to_origin, const size_t *region, size_t from_row,
			size_t from_slice, size_t to_row, size_t to_slice, cl_uint count,
			const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueCopyBufferRect,
		       (queue, from, to, from_origin, to_origin, region, from_row, from_slice,
			to_row, to_slice, count, list, command.event),
		       inject_command_copy(&command, DEVICE, DEVICE, region_bytes(result, region)));
}

static cl_int fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
			  size_t pattern_size, size_t offset, size_t size, cl_uint count,
			  const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueFillBuffer,
		       (queue, buffer, pattern, pattern_size, offset, size, count, list,
			command.event),
		       inject_command_set(&command, size, result == CL_SUCCESS ? pattern : NULL,
					  pattern_size));
}

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
			size_t offset, size_t size, cl_uint count, const cl_event *list,
			cl_event *event, cl_int *result)
{
	struct inject_command command;
	cl_int of_ours = CL_SUCCESS;
	void *pointer;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueMapBuffer);
	pointer = inject_opencl.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
						   count, list, command.event, &of_ours);
	if (result)
		*result = of_ours;
	inject_command_copy(&command, DEVICE, HOST, size);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && pointer)
		inject_mapped_add(pointer, size);
	inject_command_end(&command, of_ours);
	if (blocking && pointer)
		inject_command_waited(&command, queue);
	return pointer;
}

static cl_int unmap(cl_command_queue queue, cl_mem memory, void *pointer, cl_uint count,
		    const cl_event *list, cl_event *event)
{
	struct inject_command command;
	cl_int result;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueUnmapMemObject);
	result = inject_opencl.clEnqueueUnmapMemObject(queue, memory, pointer, count, list,
						       command.event);
	inject_command_copy(&command, HOST, DEVICE, inject_mapped_bytes(pointer));
	command.kept.copy_kind = GPUMON_COPY_UNMAP;
	inject_command_end(&command, result);
	return result;
}

static uint64_t memory_bytes(cl_uint count, const cl_mem *objects)
{
	uint64_t bytes = 0;
	size_t size;
	cl_uint i;

	for (i = 0; i < count; i++)
		if (inject_opencl.clGetMemObjectInfo(objects[i], CL_MEM_SIZE, sizeof(size), &size,
						     NULL) == CL_SUCCESS)
			bytes += size;
	return bytes;
}

static cl_int migrate(cl_command_queue queue, cl_uint objects, const cl_mem *memory,
		      cl_mem_migration_flags flags, cl_uint count, const cl_event *list,
		      cl_event *event)
{
	bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
	struct inject_command command;
	cl_int result;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueMigrateMemObjects);
	result = inject_opencl.clEnqueueMigrateMemObjects(queue, objects, memory, flags, count,
							  list, command.event);
	inject_command_copy(
		&command, to_host ? DEVICE : HOST, to_host ? HOST : DEVICE,
		command.is_recorded && result == CL_SUCCESS ? memory_bytes(objects, memory) : 0);
	command.kept.copy_kind = GPUMON_COPY_MIGRATE;
	inject_command_end(&command, result);
	return result;
}

void inject_wrap_buffers(struct _cl_icd_dispatch *layer)
{
	INJECT_WRAP(layer, clEnqueueReadBuffer, read_buffer);
	INJECT_WRAP(layer, clEnqueueWriteBuffer, write_buffer);
	INJECT_WRAP(layer, clEnqueueCopyBuffer, copy_buffer);
	INJECT_WRAP(layer, clEnqueueReadBufferRect, read_rect);
	INJECT_WRAP(layer, clEnqueueWriteBufferRect, write_rect);
	INJECT_WRAP(layer, clEnqueueCopyBufferRect, copy_rect);
	INJECT_WRAP(layer, clEnqueueFillBuffer, fill_buffer);
	INJECT_WRAP(layer, clEnqueueMapBuffer, map_buffer);
	INJECT_WRAP(layer, clEnqueueUnmapMemObject, unmap);
	INJECT_WRAP(layer, clEnqueueMigrateMemObjects, migrate);
}
