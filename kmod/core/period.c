// SPDX-License-Identifier: GPL-2.0-only
/* Reset: closes the period of everything that counts. */
#include <linux/ktime.h>

#include "attach/probe.h"
#include "common/process.h"
#include "drivers/drm_sched/ring.h"
#include "period.h"
#include "statistics.h"

struct gpumon_period gpumon_period;
DEFINE_MUTEX(gpumon_period_lock);

/** gpumon_period_start - begin the first period, at load */
void gpumon_period_start(void)
{
	gpumon_period.number = 1;
	gpumon_period.since_ns = ktime_get_mono_fast_ns();
}

/**
 * gpumon_period_close - end the running period, begin the next
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_period_close(void)
{
	lockdep_assert_held(&gpumon_period_lock);
	gpumon_probe_collect_missed();
	gpumon_counters_close(&gpumon_probe_counters);
	gpumon_ring_close();
	gpumon_process_close();
	gpumon_groups_close();
	gpumon_period.closed_since_ns = gpumon_period.since_ns;
	gpumon_period.since_ns = ktime_get_mono_fast_ns();
	gpumon_period.number++;
}
