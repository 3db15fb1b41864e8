/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * When something ran: the union of intervals that come roughly in order, and the
 * gaps between them. It takes two rounds of the same intervals: the first finds out how much
 * they are out of order, so that the second, keeping only as much, is exact.
 */
#ifndef GPUMON_CORRELATE_PROFILE_BUSY_H
#define GPUMON_CORRELATE_PROFILE_BUSY_H

#include <stdint.h>

struct gpumon_interval {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct gpumon_late {
	struct gpumon_interval interval;
	uint64_t late_ns;
};

/**
 * struct gpumon_busy - all zero is an empty one
 * @newest_ns: latest begin until now
 * @allow_ns: an interval begins at most so long before the newest one, but for those in @late
 * @late: what came later, as a kernel does that runs for minutes
 * @at: disjoint intervals to which something may still be added, sorted; from @first on
 * @pending: what belongs among them, in no order yet
 * @done_ns: all before this is counted
 * @began: something was counted
 * @busy_ns: result: time in which something ran
 * @idle_longest_ns: result: longest gap
 * @missed_ns: time that came too late to be counted
 */
struct gpumon_busy {
	uint64_t newest_ns;
	uint64_t allow_ns;
	struct gpumon_late *late;
	uint32_t late_used;
	uint32_t late_room;
	uint32_t late_next;
	struct gpumon_interval *at;
	uint32_t first;
	uint32_t used;
	uint32_t room;
	struct gpumon_interval *pending;
	uint32_t pending_used;
	uint32_t pending_room;
	uint64_t done_ns;
	int began;
	uint64_t busy_ns;
	uint64_t idle_longest_ns;
	uint64_t missed_ns;
};

/* Who is told of each gap, in their order. */
typedef void gpumon_gap_fn(void *data, uint64_t start_ns, uint64_t end_ns);

/* First round. 0, or -1 without memory. */
int gpumon_busy_look(struct gpumon_busy *busy, uint64_t start_ns, uint64_t end_ns);
/* Between the rounds. From @from_ns on to the first interval is a gap, too; 0: not. */
void gpumon_busy_turn(struct gpumon_busy *busy, uint64_t from_ns);
/* Second round. 0, or -1 without memory. */
int gpumon_busy_add(struct gpumon_busy *busy, uint64_t start_ns, uint64_t end_ns,
		    gpumon_gap_fn *gap, void *data);
/* After it; from the last interval to @until_ns is a gap, too, 0: not. 0, or -1 without memory. */
int gpumon_busy_end(struct gpumon_busy *busy, uint64_t until_ns, gpumon_gap_fn *gap, void *data);
void gpumon_busy_clear(struct gpumon_busy *busy);

#endif /* GPUMON_CORRELATE_PROFILE_BUSY_H */
