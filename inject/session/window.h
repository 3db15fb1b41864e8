/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* When a capture records: the window that the program opens, samples of it, and gaps. */
#ifndef GPUMON_INJECT_SESSION_WINDOW_H
#define GPUMON_INJECT_SESSION_WINDOW_H

#include "channel/thread.h"

/**
 * inject_window_open - record from now on, until it was closed as often as it was opened
 * @thread: caller, within
 * @reason: for the WINDOW record
 *
 * Waits a little where another thread opens or closes it just then.
 */
void inject_window_open(struct inject_thread *thread, const char *reason);
void inject_window_close(struct inject_thread *thread, const char *reason);

/**
 * inject_window_sample - switch what the GPU does on or off, where it is recorded in windows
 * @thread: the library's own, within
 *
 * Also ends what inject_window_yield() began.
 *
 * Return: when this should be called again, CLOCK_MONOTONIC ns.
 */
uint64_t inject_window_sample(struct inject_thread *thread);

/**
 * inject_window_yield - let go of the APIs that serve one profiler at a time
 *
 * The program's own profiler is about to subscribe to one. Nothing is recorded until it can be had
 * again, which inject_window_sample() tries. Context: a thread of the program, not within; waits until
 * the worker has read what the GPU has done, for two seconds at most.
 *
 * Return: whether the program can have it.
 */
bool inject_window_yield(void);

/* A session begins: nothing holds the window open. */
void inject_window_reset(void);
/* The session ends: write that, if something is being recorded. Within inject_window_lock(). */
void inject_window_end(struct inject_thread *thread, const char *reason);

/* No window begins or ends meanwhile. */
void inject_window_lock(void);

/* inject_window_lock() in a thread of the program. False: it takes too long or the session ends, nothing is locked. */
bool inject_window_lock_in_program(void);
void inject_window_unlock(void);

/* After that, in a session that goes on: others may have opened or closed the window meanwhile. */
void inject_window_catch_up(struct inject_thread *thread);

/* In a child after fork. */
void inject_window_forked(void);

#endif /* GPUMON_INJECT_SESSION_WINDOW_H */
