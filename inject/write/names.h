/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the program calls its threads. What the kernel calls them, the recorder asks. */
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
 * inject_names_introduce - write a THREAD record of the caller, with the program's name for it
 * @thread: caller, within
 */
void inject_names_introduce(struct inject_thread *thread);

/* The thread @tid ends: forgets what the program called it. */
void inject_names_leave(uint32_t tid);

#endif /* GPUMON_INJECT_NAMES_H */
