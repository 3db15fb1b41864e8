/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Times of the program's launches by kernel, in memory that gpumon-user shares. */
#ifndef GPUMON_INJECT_GPUPROG_LAUNCHES_H
#define GPUMON_INJECT_GPUPROG_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* Get the memory. Without it, launches are not written. */
void inject_gpuprog_launches_begin(void);

/**
 * inject_gpuprog_launch_add - the program launches a kernel
 * @function: CUfunction or CUkernel
 * @context: number of the context as gpumon-user knows it
 * @ns: CLOCK_MONOTONIC when the launch began
 *
 * Names a kernel when it comes for the first time; otherwise some 100 instructions.
 */
void inject_gpuprog_launch_add(void *function, unsigned int context, uint64_t ns);

/* Something else was launched, such as a graph: which kernels it has is not known. */
void inject_gpuprog_launch_unknown(void);

/* A number that changes with each launch. Return: false where it is not known. */
bool inject_gpuprog_launches_number(uint64_t *number);

/* A module or library goes, and the handles of its kernels may be others' later. */
void inject_gpuprog_launches_forget(void);

#endif /* GPUMON_INJECT_GPUPROG_LAUNCHES_H */
