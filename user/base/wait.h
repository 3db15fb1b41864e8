/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Waiting that a signal ends, on CLOCK_MONOTONIC. */
#ifndef GPUMON_BASE_WAIT_H
#define GPUMON_BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* SIGINT and SIGTERM set a flag instead of killing: loops end with their last line whole. */
void gpumon_signals_catch(void);
bool gpumon_signals_caught(void);
/* Sleep on CLOCK_MONOTONIC until that time. False: a signal asked to stop. */
bool gpumon_sleep_until(uint64_t monotonic_ns);
uint64_t gpumon_monotonic_ns(void);

#endif /* GPUMON_BASE_WAIT_H */
