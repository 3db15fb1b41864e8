/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What several outputs say of a view. */
#ifndef GPUMON_OUTPUT_VIEW_TEXT_H
#define GPUMON_OUTPUT_VIEW_TEXT_H

#include "output.h"

/**
 * struct gpumon_view_totals - sums over a view's tree
 * @count: GPU operations; launches where the tree has no GPU time
 * @untimed: of @count, launches of which no time is known
 * @work_ns: of the table by kernel: GPU time that a tree of the CPU side does not have
 * @wall_ns: from the first begin to the last end of anything
 */
struct gpumon_view_totals {
	uint64_t gpu_ns;
	uint64_t cpu_ns;
	uint64_t count;
	uint64_t untimed;
	uint64_t work_ns;
	uint64_t wall_ns;
};

void gpumon_view_totals(const struct gpumon_view *view, struct gpumon_view_totals *totals);

/* What was run, "" where that is not known. */
const char *gpumon_view_command(const struct gpumon_view *view);

/* Of a process by its number, 0 where not known. */
uint32_t gpumon_view_pid(const struct gpumon_view *view, uint32_t process);

/* What ran where, for how long, and what the GPU had of it. */
const char *gpumon_view_subtitle(char *buf, size_t len, const struct gpumon_view *view);

#endif /* GPUMON_OUTPUT_VIEW_TEXT_H */
