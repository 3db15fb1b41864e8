/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What threads of the program wait for when they are in no call of an API: a thread of the library looks at
 * them now and then (look.h), with the stack of one that is blocked, and writes WAIT records.
 */
#ifndef GPUMON_INJECT_WAITS_WAITS_H
#define GPUMON_INJECT_WAITS_WAITS_H

#include <stdbool.h>

/* A session has begun: look at threads, if its settings ask for it. Context: as inject_session_begin(). */
void inject_waits_begin(void);

/* Libraries were loaded: they may forbid system calls. Context: the worker; waits for the loader. */
void inject_waits_libraries(void);

/**
 * inject_waits_end - the session ends: write what is left
 *
 * Waits a little for the thread that looks. Context: the session is still open.
 */
void inject_waits_end(void);

/* In a child after fork, which does not have the thread. */
void inject_waits_forked(void);

#endif /* GPUMON_INJECT_WAITS_WAITS_H */
