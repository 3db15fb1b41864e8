// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "layer.h"
#include "write/library_code.h"
#include "wrappers.h"

struct _cl_icd_dispatch inject_opencl;

static struct _cl_icd_dispatch layer_functions;
static struct inject_code loader;
static bool is_ready;

cl_int inject_layer_info(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "gpumon";
	const void *answer = what == CL_LAYER_NAME ? (const void *)name : (const void *)&version;
	size_t length = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < length)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, length);
	if (size_ret)
		*size_ret = length;
	return CL_SUCCESS;
}

bool inject_layer_loader(struct inject_code *code)
{
	*code = loader;
	return is_ready && loader.size;
}

cl_int inject_layer_init(cl_uint count, const struct _cl_icd_dispatch *below, cl_uint *count_ret,
			 const struct _cl_icd_dispatch **layer, const void *caller)
{
	const cl_uint known = sizeof(layer_functions) / sizeof(void *);

	/* Named twice in OPENCL_LAYERS: what is below would be this layer itself. */
	if (!below || !count_ret || !layer || is_ready)
		return CL_INVALID_VALUE;
	if (count > known)
		count = known;
	memcpy(&inject_opencl, below, count * sizeof(void *));
	/* Every driver has these, and nothing can be recorded without them. */
	if (!inject_opencl.clGetEventInfo || !inject_opencl.clGetEventProfilingInfo ||
	    !inject_opencl.clRetainEvent || !inject_opencl.clReleaseEvent)
		return CL_INVALID_VALUE;
	layer_functions = inject_opencl;
	inject_wrap_objects(&layer_functions);
	inject_wrap_kernels(&layer_functions);
	inject_wrap_buffers(&layer_functions);
	inject_wrap_images(&layer_functions);
	inject_wrap_svm(&layer_functions);
	inject_wrap_others(&layer_functions);
	inject_wrap_extensions(&layer_functions);
	inject_library_code(caller, &loader);
	is_ready = true;
	*count_ret = count;
	*layer = &layer_functions;
	return CL_SUCCESS;
}
