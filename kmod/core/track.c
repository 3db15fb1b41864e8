// SPDX-License-Identifier: GPL-2.0-only
/* Allocation of the tables of things under way. */
#include <linux/mm.h>
#include <linux/string.h>

#include "memory.h"
#include "track.h"

/**
 * gpumon_track_init - allocate a table
 * @track: table, described
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_track_exit() frees what was allocated.
 */
int gpumon_track_init(struct gpumon_track *track)
{
	/* Half full at most, so that a key hardly finds all its places taken. */
	int ret = gpumon_table_init(&track->table, 2 * track->capacity, GPUMON_TABLE_WAYS);

	if (ret)
		return ret;
	track->entries = kvcalloc(track->table.slots, sizeof(*track->entries), GFP_KERNEL);
	return track->entries ? 0 : -ENOMEM;
}

/**
 * gpumon_track_exit - free a table
 * @track: table, may be half allocated
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_track_exit(struct gpumon_track *track)
{
	kvfree(track->entries);
	track->entries = NULL;
	gpumon_table_free(&track->table);
}

/**
 * gpumon_track_clear - nothing is known any more
 * @track: table
 *
 * Context: no probe that uses it runs.
 */
void gpumon_track_clear(struct gpumon_track *track)
{
	if (!track->entries)
		return;
	memset(track->table.keys, 0, track->table.slots * sizeof(*track->table.keys));
	memset(track->entries, 0, track->table.slots * sizeof(*track->entries));
}

/**
 * gpumon_track_bytes - memory of a table
 * @track: table
 *
 * Return: bytes.
 */
size_t gpumon_track_bytes(const struct gpumon_track *track)
{
	return gpumon_table_bytes(&track->table) +
	       gpumon_memory_held(track->entries, track->table.slots * sizeof(*track->entries));
}
