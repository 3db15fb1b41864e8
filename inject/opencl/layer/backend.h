/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_OPENCL_BACKEND_H
#define GPUMON_INJECT_OPENCL_BACKEND_H

#include "session/backend.h"

/* OpenCL, by a layer of its loader. */
extern const struct inject_backend inject_opencl_backend;

#endif /* GPUMON_INJECT_OPENCL_BACKEND_H */
