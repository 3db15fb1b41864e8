/* SPDX-License-Identifier: GPL-2.0-only */
/* Gauges of objects that begin and end. */
#ifndef GPUMON_LEVEL_H
#define GPUMON_LEVEL_H

#include "statistics.h"
#include "track.h"

/**
 * struct gpumon_level - what an object adds to a gauge, the first member of its entry
 * @value: how much: 1, or bytes
 * @row: row of the gauge
 */
struct gpumon_level {
	u64 value;
	u32 row;
};
GPUMON_TRACKED_TYPE(struct gpumon_level);

/**
 * gpumon_level_begin - an object begins that is counted in a gauge
 * @track: table of such objects, whose entries begin with a struct gpumon_level
 * @key: key of the object, 0 if it is unknown
 * @statistics: table of the gauge
 * @row: row of the gauge
 * @column: column of the gauge, which only gpumon_level_begin() and gpumon_level_end() change
 * @value: how much the object adds
 *
 * If another object had the key, its end was not seen: it is taken out of the gauge.
 *
 * Context: any, preemption off.
 * Return: the object's entry, NULL if there is no room: then it is not in the gauge.
 */
static inline void *gpumon_level_begin(struct gpumon_track *track, u64 key,
				       struct gpumon_statistics *statistics, u32 row,
				       unsigned int column, u64 value)
{
	struct gpumon_level *level;
	bool known;

	level = likely(key) ? gpumon_track_begin(track, key, &known) : NULL;
	if (unlikely(!level))
		return NULL;
	if (unlikely(known))
		gpumon_row_level(statistics, level->row, column, -(s64)level->value);
	level->row = row;
	level->value = value;
	gpumon_row_level(statistics, row, column, value);
	return level;
}

/* An object ends that was counted in a gauge; nobody reads its entry any more. */
static inline void gpumon_level_end(struct gpumon_track *track, const struct gpumon_level *level,
				    struct gpumon_statistics *statistics, unsigned int column)
{
	gpumon_row_level(statistics, level->row, column, -(s64)level->value);
	gpumon_track_end(track, level);
}

#endif /* GPUMON_LEVEL_H */
