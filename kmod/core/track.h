/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Things that were seen to begin and whose end is waited for: objects that
 * live, requests under way, files that are open. What has no entry here was
 * begun before anybody looked, and its end must not be counted against a level.
 *
 * A large table begins with a quarter of its room. Half full, it gets another part as large as all
 * before.
 */
#ifndef GPUMON_TRACK_H
#define GPUMON_TRACK_H

#include "table.h"

/**
 * struct gpumon_tracked - a thing that has begun
 * @since: when; by gpumon_clock(), of vblank requests by CLOCK_MONOTONIC
 * @value: its size, or whatever its driver keeps
 * @owner: whose it is, or whatever its driver keeps
 * @row: row that it is counted in
 * @process: slot of the process that began it, GPUMON_NONE if there is none
 */
struct gpumon_tracked {
	u64 since;
	u64 value;
	u64 owner;
	u32 row;
	u32 process;
};

/**
 * struct gpumon_track - a bounded table of them, or a part of one
 * @capacity: how many fit, with all parts that there may be
 * @whole: it has one part, since places in @entries are known elsewhere
 * @table: the keys
 * @entries: their entries
 * @more: the next part, NULL if there is none yet
 */
struct gpumon_track {
	u32 capacity;
	bool whole;
	struct gpumon_table table;
	struct gpumon_tracked *entries;
	struct gpumon_track *more;
};

int gpumon_track_init(struct gpumon_track *track);
void gpumon_track_exit(struct gpumon_track *track);
void gpumon_track_clear(struct gpumon_track *track);
void gpumon_track_supply(struct gpumon_track *track);
struct gpumon_tracked *gpumon_track_find_more(const struct gpumon_track *track, u64 key);
struct gpumon_tracked *gpumon_track_begin(struct gpumon_track *track, u64 key, bool *known);
void gpumon_track_end(struct gpumon_track *track, struct gpumon_tracked *entry);
bool gpumon_track_take(struct gpumon_track *track, struct gpumon_tracked *entry, u64 key);
size_t gpumon_track_bytes(const struct gpumon_track *track);

/**
 * gpumon_track_find - what is known of a thing
 * @track: table
 * @key: what it is known by, not 0: an address (never followed), or its numbers mixed
 *
 * Context: any, preemption off, takes no lock.
 * Return: its entry, NULL if its beginning was not seen.
 */
static __always_inline struct gpumon_tracked *gpumon_track_find(const struct gpumon_track *track,
								u64 key)
{
	u32 slot = gpumon_table_find(&track->table, gpumon_table_home(&track->table, key), key,
				     GPUMON_TABLE_WAYS);

	if (likely(slot != GPUMON_NONE))
		return &track->entries[slot];
	return unlikely(READ_ONCE(track->more)) ? gpumon_track_find_more(track, key) : NULL;
}

/**
 * gpumon_track_known - what an address was found to stand for
 * @track: table, only for gpumon_track_remember()
 * @key: the address, not 0
 * @identity: what shows that it is the same object: another one may have its address by now
 *
 * Context: any, preemption off, takes no lock.
 * Return: what gpumon_track_remember() was given, 0 if nothing is known.
 */
static __always_inline u64 gpumon_track_known(const struct gpumon_track *track, u64 key,
					      u64 identity)
{
	const struct gpumon_tracked *entry = gpumon_track_find(track, key);

	if (unlikely(!entry))
		return 0;
	/* Pairs with gpumon_track_forget(): what follows is not the previous key's. */
	smp_rmb();
	/* Pairs with gpumon_track_remember(). */
	return likely(smp_load_acquire(&entry->owner) == identity) ? READ_ONCE(entry->value) : 0;
}

void gpumon_track_remember(struct gpumon_track *track, u64 key, u64 identity, u64 what);
void gpumon_track_forget(struct gpumon_track *track);

#endif /* GPUMON_TRACK_H */
