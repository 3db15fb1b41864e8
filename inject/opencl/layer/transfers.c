// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Functions that move or set memory: buffers, images, and shared virtual memory. */
#include "opencl/command.h"
#include "wrappers.h"

#define HOST   GPUMON_PLACE_PAGEABLE
#define DEVICE GPUMON_PLACE_DEVICE
#define IMAGE  GPUMON_PLACE_ARRAY
/* Shared virtual memory: a pointer does not say where its memory is. */
#define SHARED GPUMON_PLACE_MANAGED

/* After a failed call there may be nothing at that address. */
static uint64_t region_bytes(cl_int result, const size_t *region)
{
	return result == CL_SUCCESS ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			  size_t size, void *to, cl_uint count, const cl_event *list,
			  cl_event *event)
{
	INJECT_OPENCL_TRANSFER(clEnqueueReadBuffer,
			       (queue, buffer, blocking, offset, size, to, count, list,
				command.event),
			       inject_opencl_command_copy(&command, DEVICE, HOST, size));
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			   size_t size, const void *from, cl_uint count, const cl_event *list,
			   cl_event *event)
{
	INJECT_OPENCL_TRANSFER(clEnqueueWriteBuffer,
			       (queue, buffer, blocking, offset, size, from, count, list,
				command.event),
			       inject_opencl_command_copy(&command, HOST, DEVICE, size));
}

static cl_int copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			  size_t to_offset, size_t size, cl_uint count, const cl_event *list,
			  cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(clEnqueueCopyBuffer,
			      (queue, from, to, from_offset, to_offset, size, count, list,
			       command.event),
			      inject_opencl_command_copy(&command, DEVICE, DEVICE, size));
}

static cl_int read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
			const size_t *buffer_origin, const size_t *host_origin,
			const size_t *region, size_t buffer_row, size_t buffer_slice,
			size_t host_row, size_t host_slice, void *to, cl_uint count,
			const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_TRANSFER(
		clEnqueueReadBufferRect,
		(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
		 buffer_slice, host_row, host_slice, to, count, list, command.event),
		inject_opencl_command_copy(&command, DEVICE, HOST, region_bytes(result, region)));
}

static cl_int write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
			 const size_t *buffer_origin, const size_t *host_origin,
			 const size_t *region, size_t buffer_row, size_t buffer_slice,
			 size_t host_row, size_t host_slice, const void *from, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_TRANSFER(
		clEnqueueWriteBufferRect,
		(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
		 buffer_slice, host_row, host_slice, from, count, list, command.event),
		inject_opencl_command_copy(&command, HOST, DEVICE, region_bytes(result, region)));
}

static cl_int copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
			const size_t *to_origin, const size_t *region, size_t from_row,
			size_t from_slice, size_t to_row, size_t to_slice, cl_uint count,
			const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(clEnqueueCopyBufferRect,
			      (queue, from, to, from_origin, to_origin, region, from_row,
			       from_slice, to_row, to_slice, count, list, command.event),
			      inject_opencl_command_copy(&command, DEVICE, DEVICE,
							 region_bytes(result, region)));
}

static cl_int fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
			  size_t pattern_size, size_t offset, size_t size, cl_uint count,
			  const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(
		clEnqueueFillBuffer,
		(queue, buffer, pattern, pattern_size, offset, size, count, list, command.event),
		inject_opencl_command_set(&command, size, result == CL_SUCCESS ? pattern : NULL,
					  pattern_size));
}

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
			size_t offset, size_t size, cl_uint count, const cl_event *list,
			cl_event *event, cl_int *result)
{
	struct inject_opencl_command command;
	cl_int of_ours = CL_SUCCESS;
	void *pointer;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueMapBuffer);
	pointer = inject_opencl.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
						   count, list, command.event, &of_ours);
	if (result)
		*result = of_ours;
	inject_opencl_command_copy(&command, DEVICE, HOST, size);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && pointer)
		inject_opencl_mapped_add(pointer, size);
	command.waits = blocking;
	inject_opencl_command_end(&command, of_ours);
	if (blocking && pointer)
		inject_opencl_command_waited(&command, queue);
	return pointer;
}

static cl_int unmap(cl_command_queue queue, cl_mem memory, void *pointer, cl_uint count,
		    const cl_event *list, cl_event *event)
{
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueUnmapMemObject);
	result = inject_opencl.clEnqueueUnmapMemObject(queue, memory, pointer, count, list,
						       command.event);
	inject_opencl_command_copy(&command, HOST, DEVICE, inject_opencl_mapped_bytes(pointer));
	command.kept.copy_kind = GPUMON_COPY_UNMAP;
	inject_opencl_command_end(&command, result);
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
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueMigrateMemObjects);
	result = inject_opencl.clEnqueueMigrateMemObjects(queue, objects, memory, flags, count,
							  list, command.event);
	inject_opencl_command_copy(
		&command, to_host ? DEVICE : HOST, to_host ? HOST : DEVICE,
		command.is_recorded && result == CL_SUCCESS ? memory_bytes(objects, memory) : 0);
	command.kept.copy_kind = GPUMON_COPY_MIGRATE;
	inject_opencl_command_end(&command, result);
	return result;
}

void inject_opencl_wrap_buffers(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clEnqueueReadBuffer, read_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueWriteBuffer, write_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueCopyBuffer, copy_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueReadBufferRect, read_rect);
	INJECT_OPENCL_WRAP(layer, clEnqueueWriteBufferRect, write_rect);
	INJECT_OPENCL_WRAP(layer, clEnqueueCopyBufferRect, copy_rect);
	INJECT_OPENCL_WRAP(layer, clEnqueueFillBuffer, fill_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueMapBuffer, map_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueUnmapMemObject, unmap);
	INJECT_OPENCL_WRAP(layer, clEnqueueMigrateMemObjects, migrate);
}

/* Asked right after the command was enqueued, while the image is sure to be there. */
static uint64_t image_bytes(const struct inject_opencl_command *command, cl_int result,
			    cl_mem image, const size_t *region)
{
	size_t element = 0;

	if (!command->is_recorded || result != CL_SUCCESS ||
	    inject_opencl.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element,
					 NULL) != CL_SUCCESS)
		return 0;
	return (uint64_t)element * region[0] * region[1] * region[2];
}

static cl_int read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
			 const size_t *origin, const size_t *region, size_t row, size_t slice,
			 void *to, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_TRANSFER(
		clEnqueueReadImage,
		(queue, image, blocking, origin, region, row, slice, to, count, list,
		 command.event),
		inject_opencl_command_copy(&command, IMAGE, HOST,
					   image_bytes(&command, result, image, region)));
}

static cl_int write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
			  const size_t *origin, const size_t *region, size_t row, size_t slice,
			  const void *from, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_TRANSFER(
		clEnqueueWriteImage,
		(queue, image, blocking, origin, region, row, slice, from, count, list,
		 command.event),
		inject_opencl_command_copy(&command, HOST, IMAGE,
					   image_bytes(&command, result, image, region)));
}

static cl_int copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
			 const size_t *to_origin, const size_t *region, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(
		clEnqueueCopyImage,
		(queue, from, to, from_origin, to_origin, region, count, list, command.event),
		inject_opencl_command_copy(&command, IMAGE, IMAGE,
					   image_bytes(&command, result, from, region)));
}

static cl_int copy_image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
				   const size_t *origin, const size_t *region, size_t offset,
				   cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(
		clEnqueueCopyImageToBuffer,
		(queue, from, to, origin, region, offset, count, list, command.event),
		inject_opencl_command_copy(&command, IMAGE, DEVICE,
					   image_bytes(&command, result, from, region)));
}

static cl_int copy_buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
				   const size_t *origin, const size_t *region, cl_uint count,
				   const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(
		clEnqueueCopyBufferToImage,
		(queue, from, to, offset, origin, region, count, list, command.event),
		inject_opencl_command_copy(&command, DEVICE, IMAGE,
					   image_bytes(&command, result, to, region)));
}

static cl_int fill_image(cl_command_queue queue, cl_mem image, const void *colour,
			 const size_t *origin, const size_t *region, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(
		clEnqueueFillImage,
		(queue, image, colour, origin, region, count, list, command.event),
		inject_opencl_command_set(&command, image_bytes(&command, result, image, region),
					  NULL, 0));
}

static void *map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
		       const size_t *origin, const size_t *region, size_t *row, size_t *slice,
		       cl_uint count, const cl_event *list, cl_event *event, cl_int *result)
{
	struct inject_opencl_command command;
	cl_int of_ours = CL_SUCCESS;
	uint64_t bytes;
	void *pointer;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueMapImage);
	pointer = inject_opencl.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
						  row, slice, count, list, command.event, &of_ours);
	if (result)
		*result = of_ours;
	bytes = image_bytes(&command, of_ours, image, region);
	inject_opencl_command_copy(&command, IMAGE, HOST, bytes);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && pointer)
		inject_opencl_mapped_add(pointer, bytes);
	command.waits = blocking;
	inject_opencl_command_end(&command, of_ours);
	if (blocking && pointer)
		inject_opencl_command_waited(&command, queue);
	return pointer;
}

void inject_opencl_wrap_images(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clEnqueueReadImage, read_image);
	INJECT_OPENCL_WRAP(layer, clEnqueueWriteImage, write_image);
	INJECT_OPENCL_WRAP(layer, clEnqueueCopyImage, copy_image);
	INJECT_OPENCL_WRAP(layer, clEnqueueCopyImageToBuffer, copy_image_to_buffer);
	INJECT_OPENCL_WRAP(layer, clEnqueueCopyBufferToImage, copy_buffer_to_image);
	INJECT_OPENCL_WRAP(layer, clEnqueueFillImage, fill_image);
	INJECT_OPENCL_WRAP(layer, clEnqueueMapImage, map_image);
}

static cl_int svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
		       size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_TRANSFER(clEnqueueSVMMemcpy,
			       (queue, blocking, to, from, size, count, list, command.event),
			       inject_opencl_command_copy(&command, SHARED, SHARED, size));
}

static cl_int svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
		       size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(clEnqueueSVMMemFill,
			      (queue, to, pattern, pattern_size, size, count, list, command.event),
			      inject_opencl_command_set(&command, size,
							result == CL_SUCCESS ? pattern : NULL,
							pattern_size));
}

static cl_int svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer,
		      size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueSVMMap);
	result = inject_opencl.clEnqueueSVMMap(queue, blocking, flags, pointer, size, count, list,
					       command.event);
	inject_opencl_command_copy(&command, SHARED, HOST, size);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && result == CL_SUCCESS)
		inject_opencl_mapped_add(pointer, size);
	command.waits = blocking;
	inject_opencl_command_end(&command, result);
	if (blocking && result == CL_SUCCESS)
		inject_opencl_command_waited(&command, queue);
	return result;
}

static cl_int svm_unmap(cl_command_queue queue, void *pointer, cl_uint count, const cl_event *list,
			cl_event *event)
{
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueSVMUnmap);
	result = inject_opencl.clEnqueueSVMUnmap(queue, pointer, count, list, command.event);
	inject_opencl_command_copy(&command, HOST, SHARED, inject_opencl_mapped_bytes(pointer));
	command.kept.copy_kind = GPUMON_COPY_UNMAP;
	inject_opencl_command_end(&command, result);
	return result;
}

static cl_int svm_migrate(cl_command_queue queue, cl_uint pointers, const void **pointer_list,
			  const size_t *sizes, cl_mem_migration_flags flags, cl_uint count,
			  const cl_event *list, cl_event *event)
{
	bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
	struct inject_opencl_command command;
	uint64_t bytes = 0;
	cl_int result;
	cl_uint i;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueSVMMigrateMem);
	result = inject_opencl.clEnqueueSVMMigrateMem(queue, pointers, pointer_list, sizes, flags,
						      count, list, command.event);
	for (i = 0; result == CL_SUCCESS && sizes && i < pointers; i++)
		bytes += sizes[i];
	inject_opencl_command_copy(&command, to_host ? SHARED : HOST, to_host ? HOST : SHARED,
				   bytes);
	command.kept.copy_kind = GPUMON_COPY_MIGRATE;
	inject_opencl_command_end(&command, result);
	return result;
}

void inject_opencl_wrap_svm(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMMemcpy, svm_copy);
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMMemFill, svm_fill);
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMMap, svm_map);
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMUnmap, svm_unmap);
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMMigrateMem, svm_migrate);
}
