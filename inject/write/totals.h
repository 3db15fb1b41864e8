/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Operations that APIs reported: the channel counts them apart from their records. */
#ifndef GPUMON_INJECT_TOTALS_H
#define GPUMON_INJECT_TOTALS_H

#include <stdint.h>

struct inject_totals {
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
};

/*
 * Add to the channel's totals, and begin again from 0. The program's threads write to the same
 * cache line, so operations are added in lots.
 */
void inject_totals_add(struct inject_totals *totals);

#endif /* GPUMON_INJECT_TOTALS_H */
