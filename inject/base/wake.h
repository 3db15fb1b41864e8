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
 * inject_wake_wait - sleep until inject_wake() is called
 * @wait_ns: at most; INJECT_FOR_EVER
 *
 * Does not sleep if inject_wake() was called since the last time. Context: the worker.
 */
void inject_wake_wait(uint64_t wait_ns);

/* Forgets an earlier inject_wake(). */
void inject_wake_reset(void);

#endif /* GPUMON_INJECT_WAKE_H */
