// SPDX-License-Identifier: GPL-2.0-only
/* The number and the begin of the period that runs. */
#include <linux/ktime.h>
#include <linux/lockdep.h>

#include "period.h"

struct gpumon_period gpumon_period;
DEFINE_MUTEX(gpumon_period_lock);

/** gpumon_period_start - begin the first period, at load */
void gpumon_period_start(void)
{
	gpumon_period.number = 1;
	gpumon_period.since_ns = ktime_get_mono_fast_ns();
}

/**
 * gpumon_period_next - begin the next period, everything that counts has closed the one that ran
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_period_next(void)
{
	lockdep_assert_held(&gpumon_period_lock);
	gpumon_period.closed_since_ns = gpumon_period.since_ns;
	gpumon_period.since_ns = ktime_get_mono_fast_ns();
	gpumon_period.number++;
}
