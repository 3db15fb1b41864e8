/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CALL_PATH_H
#define GPUMON_INJECT_CALL_PATH_H

#include "write/thread.h"

/**
 * inject_call_path - id of the calling thread's stack, without frames of this library and the API's
 * @thread: caller, within
 *
 * Return: the id; 0 where there is no stack, or no room for one more.
 */
uint32_t inject_call_path(struct inject_thread *thread);

#ifdef GPUMON_COMPARE
/* For tests: paths that were compared with a full walk since the last call, and those that differed. */
void inject_call_path_compared(uint64_t *all, uint64_t *wrong);
#endif

#endif /* GPUMON_INJECT_CALL_PATH_H */
