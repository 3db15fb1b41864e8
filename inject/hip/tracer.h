/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The library's tracer, which has one callback for the whole process. */
#ifndef GPUMON_INJECT_HIP_TRACER_H
#define GPUMON_INJECT_HIP_TRACER_H

#include "hip.h"
#include "session/backend.h"

/**
 * inject_hip_trace - have the library call back, if it is loaded
 * @first_call: called once, from within the program's first call of the API
 *
 * Does not initialise HIP. Does nothing where that was done before.
 */
void inject_hip_trace(void (*first_call)(void));

extern const struct inject_backend inject_hip_backend;

#endif /* GPUMON_INJECT_HIP_TRACER_H */
