/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which kernels of a module get programs by patches of its machine code: probe/patch. */
#ifndef GPUMON_GPUPROG_IMAGE_PATCHED_H
#define GPUMON_GPUPROG_IMAGE_PATCHED_H

#include "exchange.h"

/**
 * gpumon_probe_patched - find the kernels of a module that get programs
 * @order: what to do
 * @cubin: the module; not trusted
 * @size: bytes
 * @run: the kernels are added to it
 * @each: called for each: number, programs (1 << index), name; another value than 0 ends the search
 * @argument: for @each
 * @err: no memory. A module that cannot be read has no kernels.
 *
 * In a module that the driver has made of an edited image, kernels with programs have them already, and
 * the others are left alone.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_patched(const struct gpumon_probe_order *order, const void *cubin, size_t size,
			 struct gpumon_probe_run *run,
			 int (*each)(void *argument, uint32_t number, uint32_t programs,
				     const char *name),
			 void *argument, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_PATCHED_H */
