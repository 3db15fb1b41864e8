/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The program's calls. */
#ifndef GPUMON_INJECT_HIP_CALLS_H
#define GPUMON_INJECT_HIP_CALLS_H

#include "hip.h"

/**
 * inject_hip_call_begin - a call begins
 * @function: the API's number of it
 * @call: of the library
 * @layout: of @call
 *
 * Return: INJECT_HIP_YES if the library is to call back at the end of the call.
 */
int inject_hip_call_begin(uint32_t function, void *call, const struct inject_hip_layout *layout);

/* In a child after fork. */
void inject_hip_calls_forked(void);

#endif /* GPUMON_INJECT_HIP_CALLS_H */
