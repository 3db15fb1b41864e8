/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Signals, and waiting on CLOCK_MONOTONIC that they interrupt. */
#ifndef GPUMON_LIB_WAIT_H
#define GPUMON_LIB_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * SIGUSR1 asks a recorder for a capture, and may be sent to all processes of our name: it is ignored from
 * now on. To be called once, at the start.
 */
void gpumon_signals_start(void);
/* In a child, before it runs a program: as it was before. */
void gpumon_signals_give_back(void);

/* SIGINT and SIGTERM only set a flag, so that output ends with a whole line. */
void gpumon_signals_catch(void);
bool gpumon_signals_caught(void);
/* Sleep until that time on CLOCK_MONOTONIC. False if a signal asked to stop. */
bool gpumon_sleep_until(uint64_t monotonic_ns);
uint64_t gpumon_clock_ns(clockid_t clock);
uint64_t gpumon_monotonic_ns(void);

#endif /* GPUMON_LIB_WAIT_H */
