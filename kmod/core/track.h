/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of objects whose beginning was seen and whose end is awaited: buffers that
 * live, requests under way, files that are open. An object without an entry
 * began before its group was attached, so its end must not be counted against a level.
 *
 * An entry is of a type of its own for each kind of object, which the kind's file defines with
 * GPUMON_TRACKED_TYPE().
 *
 * A large table begins with a quarter of its room. When it is half full, it gets another part that is
 * as large as all parts before. A key is in a later part only if its places in the parts before were
 * taken when its object began.
 */
#ifndef GPUMON_TRACK_H
#define GPUMON_TRACK_H

#include "table.h"

/**
 * struct gpumon_tracked - room for an entry of any type: as many bytes in each table, so that a probe
 * finds an entry with a shift
 * @words: an entry of the table's type
 */
struct gpumon_tracked {
	u64 words[4];
};

/* Entries of this type fit into a table. */
#define GPUMON_TRACKED_TYPE(_type) static_assert(sizeof(_type) <= sizeof(struct gpumon_tracked))

/**
 * struct gpumon_remembered - what an address was found to stand for, see gpumon_track_known()
 * @what: never 0
 * @identity: of the object, 0 while @what is being changed
 */
struct gpumon_remembered {
	u64 what;
	u64 identity;
};
GPUMON_TRACKED_TYPE(struct gpumon_remembered);

/**
 * struct gpumon_track - a bounded table of objects, or a part of one
 * @capacity: how many objects fit into all parts that there may be
 * @whole: the table has one part only, because others keep numbers of its slots
 * @table: the keys
 * @entries: the entries, in the order of the keys
 * @more: the next part, NULL if there is none yet
 * @spilled: in the second part only: how many keys are in this part or later ones, by their home slots
 *           in the first part, which had no room for them
 */
struct gpumon_track {
	u32 capacity;
	bool whole;
	struct gpumon_table table;
	struct gpumon_tracked *entries;
	struct gpumon_track *more;
	atomic_t *spilled;
};

int gpumon_track_init(struct gpumon_track *track);
void gpumon_track_exit(struct gpumon_track *track);
void gpumon_track_clear(struct gpumon_track *track);
void gpumon_track_supply(struct gpumon_track *track);
void *gpumon_track_find_more(const struct gpumon_track *track, u64 key);
void *gpumon_track_begin(struct gpumon_track *track, u64 key, bool *known);
void gpumon_track_end(struct gpumon_track *track, const void *entry);
bool gpumon_track_take(struct gpumon_track *track, const void *entry, u64 key);
size_t gpumon_track_bytes(const struct gpumon_track *track);

/**
 * gpumon_track_slot - number of an entry's slot
 * @track: table of one part
 * @entry: one of its entries
 *
 * Return: the number, for gpumon_track_at().
 */
static __always_inline unsigned long gpumon_track_slot(const struct gpumon_track *track,
						       const void *entry)
{
	return (const struct gpumon_tracked *)entry - track->entries;
}

/**
 * gpumon_track_at - entry of a slot
 * @track: table of one part
 * @slot: less than @track->table.slots
 *
 * Return: the entry, also if the slot is free.
 */
static __always_inline void *gpumon_track_at(const struct gpumon_track *track, u32 slot)
{
	return &track->entries[slot];
}

/**
 * gpumon_track_find - entry of an object
 * @track: table
 * @key: key of the object, not 0: an address (never followed), or several numbers mixed
 *
 * Context: any, preemption off, takes no lock.
 * Return: the entry, of the table's type; NULL if the object's beginning was not seen.
 */
static __always_inline void *gpumon_track_find(const struct gpumon_track *track, u64 key)
{
	u32 slot = gpumon_table_find(&track->table, gpumon_table_home(&track->table, key), key,
				     GPUMON_TABLE_WAYS);

	if (likely(slot != GPUMON_NONE))
		return &track->entries[slot];
	return unlikely(READ_ONCE(track->more)) ? gpumon_track_find_more(track, key) : NULL;
}

/**
 * gpumon_track_known - what an address was found to stand for
 * @track: table of struct gpumon_remembered
 * @key: the address, not 0
 * @identity: shows that it is the same object: another one may have its address by now
 *
 * Context: any, preemption off, takes no lock.
 * Return: what gpumon_track_remember() was given, 0 if nothing is known.
 */
static __always_inline u64 gpumon_track_known(const struct gpumon_track *track, u64 key,
					      u64 identity)
{
	const struct gpumon_remembered *known = gpumon_track_find(track, key);

	if (unlikely(!known))
		return 0;
	/* Pairs with gpumon_track_forget(): the reads below are not of the previous key's object. */
	smp_rmb();
	/* Pairs with gpumon_track_remember(). */
	return likely(gpumon_load_acquire64(&known->identity) == identity) ?
		       gpumon_read_once64(known->what) :
		       0;
}

void gpumon_track_remember(struct gpumon_track *track, u64 key, u64 identity, u64 what);
void gpumon_track_forget(struct gpumon_track *track);

#endif /* GPUMON_TRACK_H */
