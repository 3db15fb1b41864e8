/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_CONVERT_H
#define GPUMON_INJECT_CUPTI_CONVERT_H

#include "channel/thread.h"
#include "library.h"

/**
 * inject_convert - make records of a buffer of CUPTI's
 * @thread: caller
 * @buffer: of CUPTI
 * @valid: bytes of it
 */
void inject_convert(struct inject_thread *thread, uint8_t *buffer, size_t valid);

/* A time that is this far ahead is of another clock. */
#define INJECT_CONVERT_AHEAD_NS 1000000000ull

/**
 * inject_convert_time - a time of CUPTI's by our clock
 * @time: of CUPTI
 * @latest_ns: later times are of another clock
 */
uint64_t inject_convert_time(uint64_t time, uint64_t latest_ns);

/* A window of operations begins or ends. One thread at a time. */
void inject_convert_switched(bool on);

/* Forgets what was learnt in the capture before. */
void inject_convert_reset(void);

#endif /* GPUMON_INJECT_CUPTI_CONVERT_H */
