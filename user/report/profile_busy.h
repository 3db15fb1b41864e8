/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Busy time: the union of intervals that arrive roughly in order, and the gaps between them. It
 * needs two passes over the same intervals. The first one measures how far they are out of order,
 * so that the second one keeps only as many as needed and still is exact.
 */
#ifndef GPUMON_REPORT_PROFILE_BUSY_H
#define GPUMON_REPORT_PROFILE_BUSY_H

#include <stdint.h>

#include "capture/windows.h"

/*
 * Where an operation comes from: its process, the API and the correlation id of its launch. Never 0.
 */
static inline uint64_t gpumon_origin(uint32_t process, uint32_t context, uint32_t correlation)
{
	return (uint64_t)(process + 1) << 40 | (uint64_t)GPUMON_API_OF(context) << 32 | correlation;
}

static inline uint32_t gpumon_origin_process(uint64_t origin)
{
	return (uint32_t)(origin >> 40) - 1;
}

/* @origin: of the operation that began first; of several the lowest */
struct gpumon_interval {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t origin;
};

/* An operation that has not ended. */
struct gpumon_unended {
	uint64_t start_ns;
	uint64_t origin;
};

struct gpumon_late {
	struct gpumon_interval interval;
	uint64_t late_ns;
};

/*
 * Called with each gap, or with each time in which something ran, in order. @origin: of the operation
 * that ends the gap, 0 if none does; or of what ran
 */
typedef void gpumon_gap_fn(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin);

/**
 * struct gpumon_busy - a zeroed one is empty
 * @newest_ns: latest beginning until now
 * @allow_ns: maximum time by which an interval begins before the newest one, except those in @late
 * @late: intervals that arrive later, such as kernels that run for minutes
 * @at: sorted disjoint intervals that may still grow, from @first on
 * @pending: intervals to be merged into @at, unsorted
 * @done_ns: everything before this is counted
 * @unended: when something began that has not ended, sorted between the passes
 * @windows: gaps are counted only within these; NULL: all are
 * @window: number of the first one that has not ended
 * @from_ns: the results have only the time since then
 * @until_ns: and before then; 0: no limit
 * @ran: called in the second pass with each time in which something ran; may be NULL
 * @ran_data: its first argument
 * @began: something was counted
 * @busy_ns: result: time in which something ran
 * @idle_longest_ns: result: longest gap
 * @missed_ns: time of intervals that arrived too late to be counted
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
	struct gpumon_unended *unended;
	uint32_t unended_used;
	uint32_t unended_room;
	const struct gpumon_windows *windows;
	uint32_t window;
	uint64_t from_ns;
	uint64_t until_ns;
	gpumon_gap_fn *ran;
	void *ran_data;
	int began;
	uint64_t busy_ns;
	uint64_t idle_longest_ns;
	uint64_t missed_ns;
};

/* First pass. */
void gpumon_busy_look(struct gpumon_busy *busy, const struct gpumon_interval *interval);
/*
 * In the first pass: something began that has not ended. The time since then is no gap, up to the end of
 * its window, and not busy either.
 */
void gpumon_busy_unended(struct gpumon_busy *busy, uint64_t start_ns, uint64_t origin);
/* Between the passes. The time from @from_ns to the first interval is a gap, too; 0: it is not. */
void gpumon_busy_turn(struct gpumon_busy *busy, uint64_t from_ns);
/* Second pass. */
void gpumon_busy_add(struct gpumon_busy *busy, const struct gpumon_interval *interval,
		     gpumon_gap_fn *gap, void *data);
/* After the second pass. The time from the last interval to @until_ns is a gap, too; 0: it is not. */
void gpumon_busy_end(struct gpumon_busy *busy, uint64_t until_ns, gpumon_gap_fn *gap, void *data);
void gpumon_busy_clear(struct gpumon_busy *busy);

#endif /* GPUMON_REPORT_PROFILE_BUSY_H */
