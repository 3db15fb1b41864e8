/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is not in the numbers: kernels and places without a program, and losses. */
#ifndef GPUMON_GPUPROG_VIEW_COVERAGE_H
#define GPUMON_GPUPROG_VIEW_COVERAGE_H

#include "names.h"
#include "lib/sheet.h"

/*
 * Add tables "kernels" and "lost", and notes. People get a table of kernels only if there is one that
 * has no programs.
 */
void gpumon_probe_coverage(struct gpumon_sheet *sheet, struct gpumon_probe_names *names);

/* Say so if there are more kernels than a tool counts by themselves: @kernels, the last one with others. */
void gpumon_probe_note_kernels(struct gpumon_sheet *sheet, const struct gpumon_probe_names *names,
			       uint32_t kernels);

#endif /* GPUMON_GPUPROG_VIEW_COVERAGE_H */
