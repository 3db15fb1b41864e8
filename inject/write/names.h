/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What threads are called, by the kernel, and by the program. */
#ifndef GPUMON_INJECT_NAMES_H
#define GPUMON_INJECT_NAMES_H

#include <wchar.h>

#include "thread.h"

/**
 * inject_name_thread - the program gives a name, as with nvtxNameOsThread
 * @tid: any thread of the process
 * @text: NULL or empty changes nothing
 * @wide: instead of @text
 *
 * Remembered for captures to come. Never waits.
 */
void inject_name_thread(uint32_t tid, const char *text, const wchar_t *wide);

/**
 * inject_names_introduce - write a THREAD record of the caller
 * @thread: caller, within
 *
 * The program's name for it goes before the kernel's.
 */
void inject_names_introduce(struct inject_thread *thread);

/**
 * inject_names_refresh - write THREAD records of threads that were renamed since
 * @thread: caller, a thread of the library, within
 */
void inject_names_refresh(struct inject_thread *thread);

/* The caller, @tid, ends: writes its last name, and forgets what the program called it. */
void inject_names_leave(uint32_t tid);

#endif /* GPUMON_INJECT_NAMES_H */
