/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What threads are called, by the kernel, and by the program. */
#ifndef GPUMON_INJECT_NAMES_H
#define GPUMON_INJECT_NAMES_H

#include <wchar.h>

#include "thread.h"

/**
 * inject_name_thread - the program gives a name, as with nvtxNameOsThread
 * @tid: any thread of the process
 * @text: NULL takes no name away
 * @wide: instead of @text
 *
 * Remembered for captures to come. Never waits.
 */
void inject_name_thread(uint32_t tid, const char *text, const wchar_t *wide);

/**
 * inject_names_introduce - a THREAD record of the caller, by the name that is known best
 * @thread: caller, within
 */
void inject_names_introduce(struct inject_thread *thread);

/**
 * inject_names_refresh - threads that were renamed since
 * @thread: caller, of ours, within
 */
void inject_names_refresh(struct inject_thread *thread);

/* The caller, @tid, ends: by what name, and the next thread of that number has none yet. */
void inject_names_leave(uint32_t tid);

#endif /* GPUMON_INJECT_NAMES_H */
