// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * OpenCL's loader calls these in the libraries that OPENCL_LAYERS names: from within the program's
 * first call of OpenCL, once. The loader cannot be called from here.
 */
#include <sys/auxv.h>

#include "entry.h"
#include "opencl/layer/layer.h"

INJECT_EXPORT cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
	return inject_opencl_layer_info(what, size, value, size_ret);
}

INJECT_EXPORT cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *below, cl_uint *count_ret,
				 const cl_icd_dispatch **layer)
{
	cl_int result;

	/* Such a program has no layer, as in inject_enter(). */
	if (getauxval(AT_SECURE))
		return CL_INVALID_VALUE;
	result = inject_opencl_layer_init(count, below, count_ret, layer,
					  __builtin_return_address(0));
	if (result == CL_SUCCESS)
		inject_enter(&inject_opencl_backend);
	return result;
}
