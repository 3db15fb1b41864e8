/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Buffers for CUPTI's activity records. The library owns a bounded number; the
 * callbacks that hand them out and take them back only move them between lists.
 */
#ifndef GPUMON_INJECT_CUPTI_ACTIVITY_H
#define GPUMON_INJECT_CUPTI_ACTIVITY_H

#include "channel/thread.h"
#include "library.h"

/**
 * inject_activity_setup - make the pool
 * @settings: of the session: size of one buffer, and of all
 *
 * A pool of another size stays as it is while CUPTI has buffers of it.
 *
 * Return: false where there is no memory.
 */
bool inject_activity_setup(const struct gpumon_message_settings *settings);

/* For cuptiActivityRegisterCallbacks. */
void CUPTIAPI inject_activity_request(uint8_t **buffer, size_t *size, size_t *records);
void CUPTIAPI inject_activity_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
				       size_t size, size_t valid);

/* Whether the pool is that of an earlier session, which had other settings. */
bool inject_activity_is_old(void);

/* Whether CUPTI has given all buffers back. */
bool inject_activity_is_home(void);

/* A capture begins. */
void inject_activity_waits_begin(void);

/**
 * inject_activity_waited - in the program's thread: a call that waits for the GPU returns
 *
 * Has the worker write what has ended, and waits for it, unless nothing was launched since, or CUPTI does
 * not answer. Without a wait where waits have taken one part in 256 of the program's time already.
 */
void inject_activity_waited(void);

/**
 * inject_activity_drain - write records of all complete buffers
 * @thread: caller; NULL: nothing reads them, just take the buffers back
 */
void inject_activity_drain(struct inject_thread *thread);

#endif /* GPUMON_INJECT_CUPTI_ACTIVITY_H */
