/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* OpenCL's loader puts the library between itself and the drivers (OPENCL_LAYERS). */
#ifndef GPUMON_INJECT_OPENCL_LAYER_LAYER_H
#define GPUMON_INJECT_OPENCL_LAYER_LAYER_H

#include "opencl/opencl.h"
#include "session/backend.h"

/* Answers clGetLayerInfo. */
cl_int inject_opencl_layer_info(cl_layer_info what, size_t size, void *value, size_t *size_ret);

/**
 * inject_opencl_layer_init - take the functions below, and make those of the layer
 * @count: functions in @below
 * @below: of the loader, or of the layer below
 * @count_ret: how many there are in @layer
 * @layer: out
 * @caller: an address in the loader
 *
 * Return: CL_SUCCESS, or why the loader has to do without the layer.
 */
cl_int inject_opencl_layer_init(cl_uint count, const struct _cl_icd_dispatch *below,
				cl_uint *count_ret, const struct _cl_icd_dispatch **layer,
				const void *caller);

/* OpenCL, by a layer of its loader. */
extern const struct inject_backend inject_opencl_backend;

#endif /* GPUMON_INJECT_OPENCL_LAYER_LAYER_H */
