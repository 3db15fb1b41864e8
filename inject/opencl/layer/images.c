// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "opencl/command.h"
#include "wrappers.h"

#define HOST   GPUMON_PLACE_PAGEABLE
#define DEVICE GPUMON_PLACE_DEVICE
#define IMAGE  GPUMON_PLACE_ARRAY

/* Of what was enqueued, while the image is sure to be there. */
static uint64_t image_bytes(const struct inject_command *command, cl_int result, cl_mem image,
			    const size_t *region)
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
	INJECT_TRANSFER(clEnqueueReadImage,
		       (queue, image, blocking, origin, region, row, slice, to, count, list,
			command.event),
		       inject_command_copy(&command, IMAGE, HOST,
					   image_bytes(&command, result, image, region)));
}

static cl_int write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
			  const size_t *origin, const size_t *region, size_t row, size_t slice,
			  const void *from, cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_TRANSFER(clEnqueueWriteImage,
		       (queue, image, blocking, origin, region, row, slice, from, count, list,
			command.event),
		       inject_command_copy(&command, HOST, IMAGE,
					   image_bytes(&command, result, image, region)));
}

static cl_int copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
			 const size_t *to_origin, const size_t *region, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueCopyImage,
		       (queue, from, to, from_origin, to_origin, region, count, list,
			command.event),
		       inject_command_copy(&command, IMAGE, IMAGE,
					   image_bytes(&command, result, from, region)));
}

static cl_int copy_image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
				   const size_t *origin, const size_t *region, size_t offset,
				   cl_uint count, const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueCopyImageToBuffer,
		       (queue, from, to, origin, region, offset, count, list, command.event),
		       inject_command_copy(&command, IMAGE, DEVICE,
					   image_bytes(&command, result, from, region)));
}

static cl_int copy_buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
				   const size_t *origin, const size_t *region, cl_uint count,
				   const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueCopyBufferToImage,
		       (queue, from, to, offset, origin, region, count, list, command.event),
		       inject_command_copy(&command, DEVICE, IMAGE,
					   image_bytes(&command, result, to, region)));
}

static cl_int fill_image(cl_command_queue queue, cl_mem image, const void *colour,
			 const size_t *origin, const size_t *region, cl_uint count,
			 const cl_event *list, cl_event *event)
{
	INJECT_ENQUEUE(clEnqueueFillImage,
		       (queue, image, colour, origin, region, count, list, command.event),
		       inject_command_set(&command, image_bytes(&command, result, image, region),
					  NULL, 0));
}

static void *map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
		       const size_t *origin, const size_t *region, size_t *row, size_t *slice,
		       cl_uint count, const cl_event *list, cl_event *event, cl_int *result)
{
	struct inject_command command;
	cl_int of_ours = CL_SUCCESS;
	uint64_t bytes;
	void *pointer;

	inject_command_begin(&command, queue, event, INJECT_clEnqueueMapImage);
	pointer = inject_opencl.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
						  row, slice, count, list, command.event, &of_ours);
	if (result)
		*result = of_ours;
	bytes = image_bytes(&command, of_ours, image, region);
	inject_command_copy(&command, IMAGE, HOST, bytes);
	command.kept.copy_kind = GPUMON_COPY_MAP;
	if (command.is_recorded && pointer)
		inject_mapped_add(pointer, bytes);
	inject_command_end(&command, of_ours);
	if (blocking && pointer)
		inject_command_waited(&command, queue);
	return pointer;
}

void inject_wrap_images(struct _cl_icd_dispatch *layer)
{
	INJECT_WRAP(layer, clEnqueueReadImage, read_image);
	INJECT_WRAP(layer, clEnqueueWriteImage, write_image);
	INJECT_WRAP(layer, clEnqueueCopyImage, copy_image);
	INJECT_WRAP(layer, clEnqueueCopyImageToBuffer, copy_image_to_buffer);
	INJECT_WRAP(layer, clEnqueueCopyBufferToImage, copy_buffer_to_image);
	INJECT_WRAP(layer, clEnqueueFillImage, fill_image);
	INJECT_WRAP(layer, clEnqueueMapImage, map_image);
}
