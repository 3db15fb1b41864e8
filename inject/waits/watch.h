/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The threads that are looked at, what each was last found doing, and the WAIT records of that. */
#ifndef GPUMON_INJECT_WAITS_WATCH_H
#define GPUMON_INJECT_WAITS_WATCH_H

#include "channel/thread.h"
#include "python/other.h"

/**
 * struct inject_watcher - what the thread that looks needs for it
 * @thread: its own, within, which writes the records
 * @stacks: for walks, NULL where there was no memory
 * @python: for functions of Python, likewise
 * @looks: that were made
 * @turns: of threads with calls of an API, also those that were in a call
 * @running: of these, that found it running outside of one
 * @asked: stacks of threads that are to be taken
 * @asks: stacks that were asked for
 * @asks_one_of: only for one of so many looks that found a thread running, by chance
 * @chance: for inject_random()
 * @running_stacks: different ones of running threads, in the life of the process
 * @is_new_stack: the last one was the first of its kind
 */
struct inject_watcher {
	struct inject_thread *thread;
	struct inject_stack_other *stacks;
	struct inject_python_other *python;
	uint64_t looks;
	uint64_t turns;
	uint64_t running;
	unsigned int asked;
	uint64_t asks;
	uint32_t asks_one_of;
	uint32_t chance;
	unsigned int running_stacks;
	bool is_new_stack;
};

/**
 * inject_watch_look - look at a thread
 * @watcher: caller
 * @tid: thread
 * @caller: what the library keeps of it, if it made calls of an API; else NULL
 * @period_ns: distance of looks at it
 *
 * Writes a record when the thread does something else than at the last look, and each second. A thread in a
 * recorded call of an API is left out: the call says more.
 */
void inject_watch_look(struct inject_watcher *watcher, uint32_t tid,
		       const struct inject_thread *caller, uint64_t period_ns);

/* Take the stacks of those that were found running, a moment after the looks. */
void inject_watch_take(struct inject_watcher *watcher);

/* Forget threads that have not been looked at since a time: they have ended, or are no more to be looked at. */
void inject_watch_forget(struct inject_watcher *watcher, uint64_t before_ns);

/* Write the records of all that was found, and go on. */
void inject_watch_write(struct inject_watcher *watcher);

/* Close all files, and forget all threads. @is_open: false where the files are another process's, or cannot be closed. */
void inject_watch_end(bool is_open);

#endif /* GPUMON_INJECT_WAITS_WATCH_H */
