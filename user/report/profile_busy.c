// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "profile_busy.h"
#include "time_range.h"

/* Maximum number of late intervals. Beyond it, all others may arrive later. */
#define LATE_MAX 4096

/* Maximum number of disjoint intervals that are kept for later ones in between. */
#define INTERVALS_MAX (1u << 17)

/*
 * Intervals out of order are collected before they are merged. Many intervals mean larger batches.
 */
#define PENDING_MIN 1024

#define ALLOW_FIRST_NS 1000

static uint64_t interval_lateness(struct gpumon_busy *busy, uint64_t start_ns)
{
	if (start_ns > busy->newest_ns)
		busy->newest_ns = start_ns;
	return busy->newest_ns - start_ns;
}

void gpumon_busy_look(struct gpumon_busy *busy, const struct gpumon_interval *interval)
{
	uint64_t late_ns = interval_lateness(busy, interval->start_ns);
	struct gpumon_late *late;

	if (!busy->allow_ns)
		busy->allow_ns = ALLOW_FIRST_NS;
	if (late_ns <= busy->allow_ns)
		return;
	while (busy->late_used == LATE_MAX) {
		uint32_t kept = 0;

		busy->allow_ns = busy->allow_ns < UINT64_MAX / 2 ? busy->allow_ns * 2 : UINT64_MAX;
		for (uint32_t i = 0; i < busy->late_used; i++) {
			if (busy->late[i].late_ns > busy->allow_ns)
				busy->late[kept++] = busy->late[i];
		}
		busy->late_used = kept;
	}
	if (late_ns <= busy->allow_ns)
		return;
	late = GPUMON_ARRAY_ADD(busy->late, busy->late_used, busy->late_room);
	late->interval = *interval;
	late->late_ns = late_ns;
}

void gpumon_busy_unended(struct gpumon_busy *busy, uint64_t start_ns, uint64_t origin)
{
	struct gpumon_unended *at =
		GPUMON_ARRAY_ADD(busy->unended, busy->unended_used, busy->unended_room);

	*at = (struct gpumon_unended){ start_ns, origin };
}

static int by_unended(const void *a, const void *b)
{
	const struct gpumon_unended *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->origin < y->origin ? -1 : x->origin > y->origin;
}

static int by_start(const void *a, const void *b)
{
	const struct gpumon_late *x = a, *y = b;

	return x->interval.start_ns < y->interval.start_ns ? -1 :
	       x->interval.start_ns > y->interval.start_ns ? 1 :
							     0;
}

void gpumon_busy_turn(struct gpumon_busy *busy, uint64_t from_ns)
{
	busy->newest_ns = 0;
	busy->began = from_ns != 0;
	busy->done_ns = from_ns;
	if (busy->late_used)
		qsort(busy->late, busy->late_used, sizeof(*busy->late), by_start);
	if (busy->unended_used)
		qsort(busy->unended, busy->unended_used, sizeof(*busy->unended), by_unended);
}

/* Nothing ran from @from_ns on but for what began since @since_ns and has not ended. */
static void give_gap(struct gpumon_busy *busy, uint64_t since_ns, uint64_t from_ns,
		     uint64_t until_ns, uint64_t origin, gpumon_gap_fn *gap, void *data)
{
	uint32_t low = 0, high = busy->unended_used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (busy->unended[middle].start_ns < since_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < busy->unended_used && busy->unended[low].start_ns <= until_ns) {
		until_ns = busy->unended[low].start_ns;
		origin = busy->unended[low].origin;
	}
	if (until_ns <= from_ns)
		return;
	if (gap)
		gap(data, from_ns, until_ns, origin);
	if (gpumon_time_clip(busy->from_ns, busy->until_ns, &from_ns, &until_ns) &&
	    until_ns - from_ns > busy->idle_longest_ns)
		busy->idle_longest_ns = until_ns - from_ns;
}

/*
 * The part of each window. Where a window begins, earlier operations may still run, which are not
 * recorded: the time until its first one is not known to be idle.
 */
static void give_gap_in_windows(struct gpumon_busy *busy, uint64_t until_ns, uint64_t origin,
				gpumon_gap_fn *gap, void *data)
{
	const struct gpumon_windows *windows = busy->windows;

	while (busy->window < windows->used && windows->at[busy->window].end_ns <= busy->done_ns)
		busy->window++;
	for (uint32_t i = busy->window; i < windows->used && windows->at[i].start_ns < until_ns;
	     i++) {
		uint64_t start_ns = windows->at[i].start_ns, end_ns = windows->at[i].end_ns;

		if (start_ns > busy->done_ns && end_ns > until_ns)
			continue;
		give_gap(busy, start_ns, start_ns > busy->done_ns ? start_ns : busy->done_ns,
			 end_ns < until_ns ? end_ns : until_ns, origin, gap, data);
	}
}

/* Nothing ran from the counted time until then. */
static void count_gap(struct gpumon_busy *busy, uint64_t until_ns, uint64_t origin,
		      gpumon_gap_fn *gap, void *data)
{
	if (!busy->began || until_ns <= busy->done_ns)
		return;
	if (busy->windows)
		give_gap_in_windows(busy, until_ns, origin, gap, data);
	else
		give_gap(busy, 0, busy->done_ns, until_ns, origin, gap, data);
}

/* Count the first interval. Nothing can be added to it any more. */
static void count_first(struct gpumon_busy *busy, gpumon_gap_fn *gap, void *data)
{
	const struct gpumon_interval *interval = &busy->at[busy->first];
	uint64_t start_ns = interval->start_ns, end_ns = interval->end_ns;

	count_gap(busy, interval->start_ns, interval->origin, gap, data);
	if (gpumon_time_clip(busy->from_ns, busy->until_ns, &start_ns, &end_ns))
		busy->busy_ns += end_ns - start_ns;
	if (busy->ran)
		busy->ran(busy->ran_data, interval->start_ns, interval->end_ns, interval->origin);
	busy->done_ns = interval->end_ns;
	busy->began = 1;
	busy->first++;
	busy->used--;
}

/* Append an interval, or join it with the last one. */
static void append_interval(struct gpumon_busy *busy, struct gpumon_interval interval)
{
	struct gpumon_interval *last;

	if (busy->used) {
		last = &busy->at[busy->first + busy->used - 1];
		if (last->end_ns >= interval.start_ns) {
			if (last->start_ns == interval.start_ns && interval.origin < last->origin)
				last->origin = interval.origin;
			if (last->end_ns < interval.end_ns)
				last->end_ns = interval.end_ns;
			return;
		}
	}
	GPUMON_QUEUE_ROOM(busy->at, busy->first, busy->used, busy->room);
	busy->at[busy->first + busy->used++] = interval;
}

static int by_interval(const void *a, const void *b)
{
	const struct gpumon_interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Merge the intervals that arrived out of order. */
static void merge_pending(struct gpumon_busy *busy)
{
	struct gpumon_busy merged = { 0 };
	uint32_t i = 0, j = 0;

	if (!busy->pending_used)
		return;
	qsort(busy->pending, busy->pending_used, sizeof(*busy->pending), by_interval);
	merged.room = busy->used + busy->pending_used;
	merged.at = gpumon_calloc(merged.room, sizeof(*merged.at));
	while (i < busy->used || j < busy->pending_used) {
		const struct gpumon_interval *next = &busy->at[busy->first + i];

		if (i == busy->used ||
		    (j < busy->pending_used && busy->pending[j].start_ns < next->start_ns))
			next = &busy->pending[j++];
		else
			i++;
		append_interval(&merged, *next);
	}
	free(busy->at);
	busy->at = merged.at;
	busy->first = 0;
	busy->used = merged.used;
	busy->room = merged.room;
	busy->pending_used = 0;
}

static void insert_interval(struct gpumon_busy *busy, struct gpumon_interval interval)
{
	struct gpumon_interval *pending;

	if (busy->began && interval.start_ns < busy->done_ns) {
		uint64_t until = interval.end_ns < busy->done_ns ? interval.end_ns : busy->done_ns;

		busy->missed_ns += until - interval.start_ns;
		interval.start_ns = busy->done_ns;
		if (interval.end_ns <= interval.start_ns)
			return;
	}
	if (!busy->used || busy->at[busy->first + busy->used - 1].start_ns <= interval.start_ns) {
		append_interval(busy, interval);
		return;
	}
	pending = GPUMON_ARRAY_ADD(busy->pending, busy->pending_used, busy->pending_room);
	*pending = interval;
}

void gpumon_busy_add(struct gpumon_busy *busy, const struct gpumon_interval *interval,
		     gpumon_gap_fn *gap, void *data)
{
	/* It is among the late ones. */
	if (interval_lateness(busy, interval->start_ns) > busy->allow_ns)
		return;
	while (busy->late_next < busy->late_used &&
	       busy->late[busy->late_next].interval.start_ns <= busy->newest_ns)
		insert_interval(busy, busy->late[busy->late_next++].interval);
	insert_interval(busy, *interval);
	/* Merge less often if there are many. */
	if ((busy->pending_used >= PENDING_MIN && busy->pending_used > busy->used / 4) ||
	    busy->used > INTERVALS_MAX)
		merge_pending(busy);
	if (busy->pending_used)
		return;
	while (busy->used && busy->newest_ns > busy->allow_ns &&
	       busy->at[busy->first].end_ns < busy->newest_ns - busy->allow_ns)
		count_first(busy, gap, data);
	if (busy->used > INTERVALS_MAX) {
		while (busy->used > INTERVALS_MAX / 4 * 3)
			count_first(busy, gap, data);
	}
}

void gpumon_busy_end(struct gpumon_busy *busy, uint64_t until_ns, gpumon_gap_fn *gap, void *data)
{
	while (busy->late_next < busy->late_used)
		insert_interval(busy, busy->late[busy->late_next++].interval);
	merge_pending(busy);
	while (busy->used)
		count_first(busy, gap, data);
	count_gap(busy, until_ns, 0, gap, data);
}

void gpumon_busy_clear(struct gpumon_busy *busy)
{
	free(busy->late);
	free(busy->unended);
	free(busy->at);
	free(busy->pending);
	memset(busy, 0, sizeof(*busy));
}
