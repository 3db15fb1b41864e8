/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Merges the records of several CPUs, each of them in order, by time.
 *
 * A record is returned once no earlier one can still arrive. Two facts show that:
 *
 *   - a CPU's records are in order, so nothing earlier than its last one follows;
 *   - after the stream was read empty at a time T, nothing earlier than T follows from any CPU.
 *
 * Neither is exact, because a record gets its time a moment before it is in the buffer. An
 * interrupt, or a virtual CPU that is not running, makes that moment long. The window is the
 * longest such delay that the merger waits for. A record that arrives even later is counted as late
 * and dropped, so that the output is always in order.
 *
 * Memory is bounded. If too many records are held, the earliest is returned although an earlier one
 * could still arrive (counted as forced).
 */
#ifndef GPUMON_DRIVER_EVENT_MERGE_H
#define GPUMON_DRIVER_EVENT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kmod/uapi/gpumon_event.h"

struct gpumon_event_merge;

/**
 * struct gpumon_event_merge_stats - counts of records: in = out + late + held
 * @in: records pushed
 * @out: records returned
 * @late: records that arrived after a later one had been returned
 * @held: records that wait for earlier ones
 * @forced: records returned early to make room (also in @out)
 */
struct gpumon_event_merge_stats {
	uint64_t in;
	uint64_t out;
	uint64_t late;
	uint64_t held;
	uint64_t forced;
};

/**
 * gpumon_event_merge_new() - create a merger
 * @cpus: number of CPUs; 0 if unknown: then only gpumon_event_merge_drained() releases records
 * @window_ns: how late a record may arrive
 * @capacity: maximum number of held records; memory grows as needed
 *
 * Return: NULL without memory.
 */
struct gpumon_event_merge *gpumon_event_merge_new(unsigned int cpus, uint64_t window_ns,
						  size_t capacity);
void gpumon_event_merge_free(struct gpumon_event_merge *merge);

/**
 * gpumon_event_merge_push() - add a record
 * @merge: merger
 * @event: copied
 *
 * Call gpumon_event_merge_pop() until it returns false after each push.
 *
 * Return: 0; -ESTALE: late and dropped; -ENOSPC: full, since nothing was popped.
 */
int gpumon_event_merge_push(struct gpumon_event_merge *merge, const struct gpumon_event *event);

/**
 * gpumon_event_merge_drained() - the stream was read empty
 * @merge: merger
 * @time_ns: a time before the read that found it empty; UINT64_MAX at the end of the stream
 */
void gpumon_event_merge_drained(struct gpumon_event_merge *merge, uint64_t time_ns);

/**
 * gpumon_event_merge_pop() - get the next record in order, if it is certain
 * @merge: merger
 * @event: out
 *
 * Return: false if there is none, or if an earlier one may still arrive.
 */
bool gpumon_event_merge_pop(struct gpumon_event_merge *merge, struct gpumon_event *event);

/* No record before this time will be returned any more, once gpumon_event_merge_pop() returned false. */
uint64_t gpumon_event_merge_complete_ns(const struct gpumon_event_merge *merge);

void gpumon_event_merge_get_stats(const struct gpumon_event_merge *merge,
				  struct gpumon_event_merge_stats *stats);

#endif /* GPUMON_DRIVER_EVENT_MERGE_H */
