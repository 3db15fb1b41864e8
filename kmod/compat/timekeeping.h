/* SPDX-License-Identifier: GPL-2.0-only */
/* ktime_get_snapshot() was given a clock to ask for, and another name, in 7.x. */
#ifndef GPUMON_COMPAT_TIMEKEEPING_H
#define GPUMON_COMPAT_TIMEKEEPING_H

#include <linux/timekeeping.h>

/* The present value of the counter that the kernel keeps time by; 0 if it is unknown. */
static inline u64 gpumon_compat_clocksource_cycles(void)
{
	struct system_time_snapshot snapshot = {};

#ifdef GPUMON_HAVE_KTIME_GET_SNAPSHOT_ID
	ktime_get_snapshot_id(CLOCK_MONOTONIC, &snapshot);
#else
	ktime_get_snapshot(&snapshot);
#endif
	return snapshot.cycles;
}

#endif /* GPUMON_COMPAT_TIMEKEEPING_H */
