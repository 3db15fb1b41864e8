/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Makes kernels of programs in gpu/run: a kernel for each, with its name, that does nothing else. */
#ifndef GPUMON_GPUPROG_IMAGE_OWN_H
#define GPUMON_GPUPROG_IMAGE_OWN_H

#include "exchange.h"

/* How many of an order's programs are kernels of their own. */
uint32_t gpumon_probe_own_n(const struct gpumon_probe_order *order);

/**
 * gpumon_probe_own_write - write the kernels
 * @order: programs, @sm is the GPU's, with @own
 * @run: kernels are added to it
 * @out: stream for PTX, without a NUL behind it
 * @err: a program has a name that PTX does not allow or that another one has, or does not work there
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_own_write(const struct gpumon_probe_order *order, struct gpumon_probe_run *run,
			   FILE *out, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_OWN_H */
