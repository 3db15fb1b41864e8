/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_HIP_BACKEND_H
#define GPUMON_INJECT_HIP_BACKEND_H

#include "session/backend.h"

extern const struct inject_backend inject_hip_backend;

#endif /* GPUMON_INJECT_HIP_BACKEND_H */
