/* SPDX-License-Identifier: GPL-2.0-only */
/* Periods: what the counters count in, from one reset to the next. */
#ifndef GPUMON_PERIOD_H
#define GPUMON_PERIOD_H

#include <linux/mutex.h>
#include <linux/types.h>

/**
 * struct gpumon_period - the period that runs and the one before
 * @number: number of the one that runs, 1 after load
 * @since_ns: when it began, CLOCK_MONOTONIC
 * @closed_since_ns: when the one before began
 */
struct gpumon_period {
	u32 number;
	u64 since_ns;
	u64 closed_since_ns;
};

extern struct gpumon_period gpumon_period;
/* Serialises reading, closing, recycling and freeing of counters and tables. */
extern struct mutex gpumon_period_lock;

void gpumon_period_start(void);
void gpumon_period_next(void);

#endif /* GPUMON_PERIOD_H */
