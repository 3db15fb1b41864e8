/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How evenly something is spread: over SMs, over blocks. */
#ifndef GPUMON_PROBE_SPREAD_H
#define GPUMON_PROBE_SPREAD_H

#include <stdint.h>

/**
 * struct gpumon_probe_spread - of numbers that are not 0
 * @n: how many there are
 * @least: the smallest one
 * @median: of an even number the lower one
 * @most: the largest one
 * @most_at: its index
 */
struct gpumon_probe_spread {
	uint32_t n;
	uint64_t least;
	uint64_t median;
	uint64_t most;
	uint32_t most_at;
};

/* 0, or -1 without memory. */
int gpumon_probe_spread(const uint64_t *numbers, uint32_t n, struct gpumon_probe_spread *spread);

#endif /* GPUMON_PROBE_SPREAD_H */
