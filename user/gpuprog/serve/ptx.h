/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The PTX that programs of a checked object become, to look at. */
#ifndef GPUMON_GPUPROG_SERVE_PTX_H
#define GPUMON_GPUPROG_SERVE_PTX_H

#include <stdio.h>

#include "check.h"

/**
 * gpumon_probe_print_ptx - print the block of one program
 * @check: checked object
 * @i: number of the program; it was not refused
 * @sm: architecture without the point, 90 for sm_90
 * @out: stream; in case of an error it has the program's name only
 * @err: why it cannot be translated
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_print_ptx(const struct gpumon_probe_check *check, uint32_t i, uint32_t sm,
			   FILE *out, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_PTX_H */
