/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How many warps of a kernel a multiprocessor has room for. */
#ifndef GPUMON_REPORT_OCCUPANCY_H
#define GPUMON_REPORT_OCCUPANCY_H

#include <stdbool.h>

#include "stalls.h"

/* What allows no more blocks. */
enum gpumon_occupancy_limit {
	GPUMON_OCCUPANCY_WARPS,
	GPUMON_OCCUPANCY_BLOCKS,
	GPUMON_OCCUPANCY_REGISTERS,
	GPUMON_OCCUPANCY_SHARED,
};

/**
 * struct gpumon_occupancy - theoretical occupancy
 * @blocks: blocks that a multiprocessor runs at a time
 * @warps: warps of these
 * @warps_max: warps that it has room for
 * @limit: what allows no more of them
 */
struct gpumon_occupancy {
	unsigned int blocks;
	unsigned int warps;
	unsigned int warps_max;
	enum gpumon_occupancy_limit limit;
};

/**
 * gpumon_occupancy - compute it from the limits of a compute capability
 * @launch: launch
 * @occupancy: out
 *
 * With the largest share of shared memory that the hardware can give a kernel, beside its L1 cache.
 *
 * Return: false if the limits of this compute capability are not known, or the launch is impossible there.
 */
bool gpumon_occupancy(const struct gpumon_stall_launch *launch, struct gpumon_occupancy *occupancy);

/* "registers" and so on. */
const char *gpumon_occupancy_text(enum gpumon_occupancy_limit limit);

#endif /* GPUMON_REPORT_OCCUPANCY_H */
