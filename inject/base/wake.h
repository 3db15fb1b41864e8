/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How any part of the library wakes the thread that does its work
 * (run/worker.c). Also from an API's own callbacks, under its locks.
 */
#ifndef GPUMON_INJECT_WAKE_H
#define GPUMON_INJECT_WAKE_H

#include <stdint.h>

void inject_wake(void);

/**
 * inject_wake_wait - sleep until somebody calls inject_wake(), and take that back
 * @wait_ns: at most; INJECT_FOR_EVER
 *
 * Context: the thread that is woken. Does not sleep if inject_wake() was called before.
 */
void inject_wake_wait(uint64_t wait_ns);

/* As if it had not been called. */
void inject_wake_reset(void);

#endif /* GPUMON_INJECT_WAKE_H */
