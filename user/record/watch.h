/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The threads of a process that are looked at, what each was last found doing, and the WAIT records of that;
 * and how often they are looked at. inject/waits/ does the same inside of a process.
 */
#ifndef GPUMON_RECORD_WATCH_H
#define GPUMON_RECORD_WATCH_H

#include "abi/look.h"

/* Threads of which files are open: two each. Beyond that, the one that was looked at first is forgotten. */
#define GPUMON_WATCHED_MAX 256
#define GPUMON_WATCH_HINTS 1024

/* Threads with calls of an API that are looked at in one round; where there are more, they take turns. */
#define GPUMON_WATCH_CALLERS 64
/* Other threads that are looked at in a second, likewise. */
#define GPUMON_WATCH_OTHERS 16

/**
 * struct gpumon_watched - a thread
 * @tid: its name in the folder of threads; 0: none
 * @files: open
 * @looked_ns: the last look
 * @look: what it was
 * @record: of looks that are not yet written, if it has some
 */
struct gpumon_watched {
	uint32_t tid;
	struct gpumon_look_files files;
	uint64_t looked_ns;
	struct gpumon_look look;
	struct gpumon_record_wait record;
};

/**
 * struct gpumon_watch - all of a process
 * @folder: of its threads
 * @data: for the functions
 * @now: CLOCK_MONOTONIC of the recorder, ns
 * @is_in_call: is a thread in a recorded call? @caller as in gpumon_watch_look()
 * @stack: number of the stack of a blocked thread, 0 if it is not known or has run since the look
 * @append: write a record
 * @looks: that were made
 * @count: places of @watched in use
 * @hints: where a thread was found last, by the lower bits of its number
 *
 * The owner sets all up to @append.
 */
struct gpumon_watch {
	const char *folder;
	void *data;
	uint64_t (*now)(void);
	bool (*is_in_call)(void *data, const void *caller);
	uint32_t (*stack)(void *data, const struct gpumon_watched *one,
			  const struct gpumon_look *look);
	void (*append)(void *data, const struct gpumon_record_wait *record);
	uint64_t looks;
	unsigned int count;
	struct gpumon_watched watched[GPUMON_WATCHED_MAX];
	uint16_t hints[GPUMON_WATCH_HINTS];
};

/**
 * gpumon_watch_look - look at a thread
 * @watch: caller
 * @tid: its name in the folder of threads
 * @recorded_tid: its number in the records
 * @caller: what is known of it, if it made calls of an API; else NULL
 * @period_ns: distance of looks at it
 *
 * Writes a record when the thread does something else than at the last look, and each second. A thread in a
 * recorded call of an API is left out: the call says more.
 *
 * Return: 0 or a negative errno: it could not be looked at; mostly it has ended.
 */
int gpumon_watch_look(struct gpumon_watch *watch, uint32_t tid, uint32_t recorded_tid,
		      const void *caller, uint64_t period_ns);

/* Has a thread not run since a look at it? For @stack, when it has the stack. */
bool gpumon_watch_is_still(const struct gpumon_watched *one, const struct gpumon_look *look);

/* Forget threads that have not been looked at since a time: they have ended, or are no more to be looked at. */
void gpumon_watch_forget(struct gpumon_watch *watch, uint64_t before_ns);

/* Write the records of all that was found, and go on. */
void gpumon_watch_write(struct gpumon_watch *watch);

/* Close all files, and forget all threads. @is_open: false where the files are another process's, or cannot be closed. */
void gpumon_watch_end(struct gpumon_watch *watch, bool is_open);

/* --- how often */

/**
 * struct gpumon_pace - distance of looks, which grows where they take too long
 * @base_ns: that is asked for
 * @period_ns: that of now
 * @longest_ns: the longest ever
 * @second_ns: when the last second began
 * @cost_ns: processor time until then
 * @over: seconds in a row in which it was too much
 */
struct gpumon_pace {
	uint64_t base_ns;
	uint64_t period_ns;
	uint64_t longest_ns;
	uint64_t second_ns;
	uint64_t cost_ns;
	unsigned int over;
};

/* @hz: 0: the default; @cost_ns: processor time that looks have taken until now */
void gpumon_pace_begin(struct gpumon_pace *pace, uint32_t hz, uint64_t now, uint64_t cost_ns);

/* Call this each second. Takes looks from one another where they take too long, and moves them together again. */
void gpumon_pace_bound(struct gpumon_pace *pace, uint64_t now, uint64_t cost_ns);

/* The note about looks that were fewer than asked for. False: there were as many. */
bool gpumon_pace_note(const struct gpumon_pace *pace, char *text, size_t room);

/* How long to wait for the next look. @next_ns: when it is due, kept from one call to the next. */
uint64_t gpumon_pace_pause(const struct gpumon_pace *pace, uint64_t now, uint64_t *next_ns);

#endif /* GPUMON_RECORD_WATCH_H */
