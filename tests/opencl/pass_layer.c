// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Another layer, above or below: passes all calls through, and counts the launches at the end. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

static struct _cl_icd_dispatch below, layer;
static unsigned long launches;

static cl_int enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
		      const size_t *offset, const size_t *global, const size_t *local,
		      cl_uint count, const cl_event *list, cl_event *event)
{
	__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
	return below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
					    list, event);
}

__attribute__((destructor)) static void tell(void)
{
	printf("passed %lu\n", launches);
}

cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION || (value && size < sizeof(version)))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &version, sizeof(version));
	if (size_ret)
		*size_ret = sizeof(version);
	return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
		   const cl_icd_dispatch **layer_ret)
{
	if (count > sizeof(layer) / sizeof(void *))
		count = sizeof(layer) / sizeof(void *);
	memcpy(&below, target, count * sizeof(void *));
	layer = below;
	layer.clEnqueueNDRangeKernel = enqueue;
	*count_ret = count;
	*layer_ret = &layer;
	return CL_SUCCESS;
}
