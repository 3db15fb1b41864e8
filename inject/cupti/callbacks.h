/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_CALLBACKS_H
#define GPUMON_INJECT_CUPTI_CALLBACKS_H

#include "channel/thread.h"
#include "library.h"

/* CUPTI calls this, in the program's threads. */
void CUPTIAPI inject_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data);

/**
 * inject_callbacks_left_calls - is a thread of the program in a call that may take long, and that had a callback
 *
 * Where its other callback is disabled meanwhile, nothing tells its end. Context: any.
 */
bool inject_callbacks_left_calls(void);

/**
 * inject_callbacks_are_over - wait until no thread of the program is in a callback
 * @until_ns: so long at most, by inject_now()
 *
 * A thread in one may wait for the calling thread, as after a synchronisation: its question is answered. When
 * cuptiFinalize() frees what CUPTI has, a thread that comes back from a callback would use freed memory (seen on
 * an H200: heaps of programs were damaged in one of 35 recordings). Context: the worker; the callbacks are disabled.
 *
 * Return: false if one still is.
 */
bool inject_callbacks_are_over(uint64_t until_ns);

#endif /* GPUMON_INJECT_CUPTI_CALLBACKS_H */
