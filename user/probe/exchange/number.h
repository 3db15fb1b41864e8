/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbers of kernels in a run. */
#ifndef GPUMON_PROBE_NUMBER_OF_KERNEL_H
#define GPUMON_PROBE_NUMBER_OF_KERNEL_H

#include "run.h"

#define GPUMON_PROBE_NO_KERNEL UINT32_MAX

/* The number of a kernel, new ones get the next; GPUMON_PROBE_NO_KERNEL without memory. */
uint32_t gpumon_probe_run_kernel(struct gpumon_probe_run *run, const char *name);

/* The number of a kernel, or GPUMON_PROBE_NO_KERNEL. */
uint32_t gpumon_probe_run_find(const struct gpumon_probe_run *run, const char *name);

#endif /* GPUMON_PROBE_NUMBER_OF_KERNEL_H */
