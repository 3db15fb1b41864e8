/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUPTI's buffers of activity records: ours, of a bounded number, handed out
 * and taken back in callbacks that only move them from one list to another.
 */
#ifndef GPUMON_INJECT_ACTIVITY_H
#define GPUMON_INJECT_ACTIVITY_H

#include "library.h"
#include "write/thread.h"

/**
 * inject_activity_setup - make the pool; a greater one than there is replaces nothing, but adds
 * @mib: of all buffers, at most
 *
 * Return: false where there is no memory.
 */
bool inject_activity_setup(uint32_t mib);

/* For cuptiActivityRegisterCallbacks. */
void CUPTIAPI inject_activity_request(uint8_t **buffer, size_t *size, size_t *records);
void CUPTIAPI inject_activity_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
				       size_t size, size_t valid);

/* Has CUPTI given all buffers back? */
bool inject_activity_is_home(void);

/**
 * inject_activity_drain - records of all complete buffers
 * @thread: caller; NULL: nobody reads them, just take the buffers back
 */
void inject_activity_drain(struct inject_thread *thread);

#endif /* GPUMON_INJECT_ACTIVITY_H */
