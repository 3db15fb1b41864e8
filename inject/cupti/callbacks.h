/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CALLBACKS_H
#define GPUMON_INJECT_CALLBACKS_H

#include "library.h"
#include "write/thread.h"

/* What CUPTI calls, in the program's threads. */
void CUPTIAPI inject_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data);

/**
 * inject_stack_here - id of the calling thread's stack, without our frames and CUPTI's
 * @thread: caller
 */
uint32_t inject_stack_here(struct inject_thread *thread);

/**
 * inject_callbacks_finish_open - record the calls that have not returned, without an end
 *
 * At the end of a capture: the kernels of such launches may be recorded already, and their returns
 * call nobody back any more. Context: no other thread is between inject_thread_enter() and _leave().
 */
void inject_callbacks_finish_open(void);

/* Frames of ours in memory: set up once. */
void inject_callbacks_setup(void);

#endif /* GPUMON_INJECT_CALLBACKS_H */
