/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Puts the records of several CPUs, each in order by itself, into one order by time.
 *
 * A record can be handed out when no earlier one can come any more. Two things tell:
 *
 *   - a CPU's records are in order, so nothing earlier than its last one comes from it;
 *   - once the stream was read empty at a time T, nothing earlier than T comes from any CPU.
 *
 * Neither is sharp, because a record takes its time a moment before it is in the buffer (an
 * interrupt, or a virtual CPU that is not running, makes that moment long). The window is how
 * long a moment is waited for. A record that comes later still cannot be put in its place any
 * more: it is counted as late and not handed out, so that what is handed out is in order always.
 *
 * Memory is bounded: where more records are held than fit, the earliest is handed out although
 * an earlier one could come (counted as forced).
 */
#ifndef GPUMON_USER_EVENT_MERGE_H
#define GPUMON_USER_EVENT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kmod/uapi/gpumon_event.h"

struct gpumon_event_merge;

/**
 * struct gpumon_event_merge_stats - where the records went: in = out + late + held
 * @in: records pushed
 * @out: records handed out
 * @late: records that came after one of a later time had been handed out
 * @held: records that wait for earlier ones
 * @forced: records handed out early to make room (they are in @out)
 */
struct gpumon_event_merge_stats {
	uint64_t in;
	uint64_t out;
	uint64_t late;
	uint64_t held;
	uint64_t forced;
};

/**
 * gpumon_event_merge_new() - a merger
 * @cpus: CPUs that can record, 0 if unknown: then only gpumon_event_merge_drained() lets
 *	  records out
 * @window_ns: how much later than it should a record may come
 * @capacity: records held at most; memory grows up to that as needed
 *
 * Return: NULL without memory.
 */
struct gpumon_event_merge *gpumon_event_merge_new(unsigned int cpus, uint64_t window_ns,
						  size_t capacity);
void gpumon_event_merge_free(struct gpumon_event_merge *merge);

/**
 * gpumon_event_merge_push() - take in a record
 * @merge: merger
 * @event: copied
 *
 * Call gpumon_event_merge_pop() until it returns false after each push.
 *
 * Return: 0 taken, -ESTALE late and dropped, -ENOSPC full because nothing was popped, -ENOMEM.
 */
int gpumon_event_merge_push(struct gpumon_event_merge *merge, const struct gpumon_event *event);

/**
 * gpumon_event_merge_drained() - the stream was read empty
 * @merge: merger
 * @time_ns: a time before the read that found it empty; UINT64_MAX at the end of the stream
 */
void gpumon_event_merge_drained(struct gpumon_event_merge *merge, uint64_t time_ns);

/**
 * gpumon_event_merge_pop() - the next record in order, if it is certain which one it is
 * @merge: merger
 * @event: out
 *
 * Return: false if there is none, or an earlier one may come.
 */
bool gpumon_event_merge_pop(struct gpumon_event_merge *merge, struct gpumon_event *event);

void gpumon_event_merge_get_stats(const struct gpumon_event_merge *merge,
				  struct gpumon_event_merge_stats *stats);

#endif /* GPUMON_USER_EVENT_MERGE_H */
