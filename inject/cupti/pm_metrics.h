/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which metrics are sampled on a GPU: as many as it counts at the same time, the important ones first. */
#ifndef GPUMON_INJECT_CUPTI_PM_METRICS_H
#define GPUMON_INJECT_CUPTI_PM_METRICS_H

#include <stdbool.h>

#include "../user/abi/gpu_metrics.h"
#include "pm_library.h"

/* Room for the configuration of the hardware's counters, in bytes; 6 KB were used on an H100. */
#define INJECT_PM_CONFIG_ROOM 65536

/**
 * struct inject_pm_choice - metrics, and what CUPTI needs for them
 * @host: object of CUPTI that computes values; NULL: nothing is chosen
 * @names: of CUPTI's metrics
 * @count: of these
 * @config_size: bytes of @config
 * @config: for the hardware
 */
struct inject_pm_choice {
	void *host;
	const char *names[GPUMON_METRICS];
	unsigned int count;
	size_t config_size;
	uint8_t config[INJECT_PM_CONFIG_ROOM];
};

/**
 * inject_pm_choose - try them one after the other
 * @choice: out; without a host object before
 * @chip: name of the GPU's chip
 * @available: CUPTI's image of the counters that can be had now; NULL: all
 *
 * Return: CUPTI_SUCCESS also where no metric can be had: then there are none.
 */
CUptiResult inject_pm_choose(struct inject_pm_choice *choice, const char *chip,
			     const uint8_t *available);

/* Frees CUPTI's object. Nothing is chosen afterwards. */
void inject_pm_unchoose(struct inject_pm_choice *choice);

#endif /* GPUMON_INJECT_CUPTI_PM_METRICS_H */
