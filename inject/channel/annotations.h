/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names and ranges that the program has given its threads, so that a capture that begins later has them. */
#ifndef GPUMON_INJECT_CHANNEL_ANNOTATIONS_H
#define GPUMON_INJECT_CHANNEL_ANNOTATIONS_H

#include <wchar.h>

#include "thread.h"

/**
 * inject_open_ranges_push - also while there is no capture
 * @thread: caller
 * @range: the outermost INJECT_RANGES of a thread are kept, deeper ones are counted
 *
 * Return: where it is kept, NULL where it is not.
 */
struct inject_range *inject_open_ranges_push(struct inject_thread *thread,
					     const struct inject_range *range);

/**
 * inject_open_ranges_pop - the last range of a domain ends
 * @thread: caller
 * @handle: of the domain
 *
 * Return: whether it held the window of this session open.
 */
bool inject_open_ranges_pop(struct inject_thread *thread, const void *handle);

/* Writes those that were open before the thread came into this capture. */
void inject_open_ranges_write(struct inject_thread *thread);

/* Names that the program gives its threads. The recorder reads those that the kernel has. */

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

#endif /* GPUMON_INJECT_CHANNEL_ANNOTATIONS_H */
