/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Waiting on CLOCK_MONOTONIC that a signal interrupts. */
#ifndef GPUMON_BASE_WAIT_H
#define GPUMON_BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* SIGINT and SIGTERM only set a flag, so that output ends with a whole line. */
void gpumon_signals_catch(void);
bool gpumon_signals_caught(void);
/* Sleep until that time on CLOCK_MONOTONIC. False if a signal asked to stop. */
bool gpumon_sleep_until(uint64_t monotonic_ns);
uint64_t gpumon_clock_ns(clockid_t clock);
uint64_t gpumon_monotonic_ns(void);

#endif /* GPUMON_BASE_WAIT_H */
