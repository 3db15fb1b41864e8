/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Ranges that a thread has pushed, so that a capture that begins later has them. */
#ifndef GPUMON_INJECT_OPEN_RANGES_H
#define GPUMON_INJECT_OPEN_RANGES_H

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

#endif /* GPUMON_INJECT_OPEN_RANGES_H */
