/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From times of events to CLOCK_MONOTONIC. A device says its time when it is asked; how long that
 * takes is the error. Times of events have fewer bits, and wrap around within minutes: they are
 * counted back from the device's time now.
 */
#ifndef GPUMON_INJECT_ZE_TIMES_H
#define GPUMON_INJECT_ZE_TIMES_H

#include "objects.h"

/* Clocks of devices are measured again from now on. One thread at a time, here and below. */
void inject_ze_times_look(void);

/**
 * inject_ze_times - times of an event that was signalled
 * @device: that did it
 * @event: of the driver
 * @begin_ns: begin of the call that it is of
 * @times: set, with flags where they are not known or not possible
 */
void inject_ze_times(struct inject_ze_device *device, ze_event_handle_t event, uint64_t begin_ns,
		     struct inject_times *times);

#endif /* GPUMON_INJECT_ZE_TIMES_H */
