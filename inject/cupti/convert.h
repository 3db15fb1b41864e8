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

/* A window of operations begins or ends. One thread at a time. */
void inject_convert_switched(bool on);

/* Forgets what was learnt in the capture before. */
void inject_convert_reset(void);

#endif /* GPUMON_INJECT_CUPTI_CONVERT_H */
