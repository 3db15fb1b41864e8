/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs that are kernels of their own, on a GPU, without a program around them. */
#ifndef GPUMON_GPUPROG_SERVER_OWN_KERNELS_H
#define GPUMON_GPUPROG_SERVER_OWN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"
#include "options.h"

/**
 * gpumon_gpuprog_run_own_kernels - run the programs of gpu/run, in the order of the object, and show the maps
 * @context: where to print
 * @check: verified programs; those that were refused are left out
 * @options: see there
 *
 * Return: an exit status; 77: there is no GPU here.
 */
int gpumon_gpuprog_run_own_kernels(struct gpumon_context *context,
				   const struct gpumon_gpuprog_check *check,
				   const struct gpumon_gpuprog_options *options);

#endif /* GPUMON_GPUPROG_SERVER_OWN_KERNELS_H */
