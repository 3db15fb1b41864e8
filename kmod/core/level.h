/* SPDX-License-Identifier: GPL-2.0-only */
/* Gauges of things that begin and end. */
#ifndef GPUMON_LEVEL_H
#define GPUMON_LEVEL_H

#include "statistics.h"
#include "track.h"

/**
 * gpumon_level_begin - a thing begins that is counted in a level
 * @track: table of these things
 * @key: what it is known by, 0 if that is unknown
 * @statistics: table of the gauge
 * @row: row
 * @column: number of the column, which only gpumon_level_begin() and gpumon_level_end() change
 * @value: how much it is
 *
 * What was known by the same key has ended unseen, and leaves the level.
 *
 * Context: any, preemption off.
 * Return: its entry, NULL if there is no room: then it is in no level.
 */
static inline struct gpumon_tracked *gpumon_level_begin(struct gpumon_track *track, u64 key,
							struct gpumon_statistics *statistics,
							u32 row, unsigned int column, u64 value)
{
	struct gpumon_tracked *entry;
	bool known;

	entry = likely(key) ? gpumon_track_begin(track, key, &known) : NULL;
	if (unlikely(!entry))
		return NULL;
	if (unlikely(known))
		gpumon_row_level(statistics, entry->row, column, -(s64)entry->value);
	entry->row = row;
	entry->value = value;
	gpumon_row_level(statistics, row, column, value);
	return entry;
}

/* A thing ends that was counted in a level, everything else of its entry has been read. */
static inline void gpumon_level_end(struct gpumon_track *track, struct gpumon_tracked *entry,
				    struct gpumon_statistics *statistics, unsigned int column)
{
	gpumon_row_level(statistics, entry->row, column, -(s64)entry->value);
	gpumon_track_end(track, entry);
}

#endif /* GPUMON_LEVEL_H */
