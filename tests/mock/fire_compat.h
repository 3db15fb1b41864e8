/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels for the fire modules. MOCK_HAVE_* come from mock_gpu_conftest.sh,
 * FIRE_HAVE_* from Kbuild.
 */
#ifndef FIRE_COMPAT_H
#define FIRE_COMPAT_H

#include <linux/hrtimer.h>

#include "mock_gpu_conftest.h"

/**
 * fire_compat_hrtimer_setup() - a timer on the monotonic clock
 * @timer: the timer
 * @function: what it calls
 * @mode: as it will be started
 */
static inline void fire_compat_hrtimer_setup(struct hrtimer *timer,
					     enum hrtimer_restart (*function)(struct hrtimer *),
					     enum hrtimer_mode mode)
{
#ifdef MOCK_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

#endif /* FIRE_COMPAT_H */
