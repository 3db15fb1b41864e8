// SPDX-License-Identifier: GPL-2.0-only
/* Tables of objects under way: allocation, growth, begin and end. */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "memory.h"
#include "track.h"

/* A table with room for more than this has it in parts. */
#define WHOLE 2048

static bool in_parts(const struct gpumon_track *track)
{
	return track->capacity > WHOLE && !track->whole;
}

/* The first part has this fraction of the room of all parts. */
static u32 first_capacity(const struct gpumon_track *track)
{
	return in_parts(track) ? track->capacity / 4 : track->capacity;
}

static int part_init(struct gpumon_track *part, u32 capacity)
{
	/* The table is half full at most: a key hardly finds all its places taken. */
	int ret = gpumon_table_init(&part->table, 2 * capacity, GPUMON_TABLE_WAYS);

	if (ret)
		return ret;
	part->entries = gpumon_memory_zalloc(part->table.slots, sizeof(*part->entries),
					     NUMA_NO_NODE);
	return part->entries ? 0 : -ENOMEM;
}

/* Home slots of the first part whose keys are counted as one in @spilled. */
#define NEIGHBOURS GPUMON_TABLE_WAYS

static u32 spilled_length(const struct gpumon_track *track)
{
	return DIV_ROUND_UP(track->table.homes, NEIGHBOURS);
}

static int spilled_init(const struct gpumon_track *track, struct gpumon_track *second)
{
	second->spilled = gpumon_memory_zalloc(spilled_length(track), sizeof(*second->spilled),
					       NUMA_NO_NODE);
	return second->spilled ? 0 : -ENOMEM;
}

/* The count that a key with this home slot in the first part belongs to. */
static __always_inline atomic_t *spilled_at(const struct gpumon_track *second, u32 home)
{
	return &second->spilled[home / NEIGHBOURS];
}

static void part_exit(struct gpumon_track *part)
{
	kvfree(part->spilled);
	part->spilled = NULL;
	kvfree(part->entries);
	part->entries = NULL;
	gpumon_table_free(&part->table);
}

static void parts_free(struct gpumon_track *part)
{
	struct gpumon_track *next;

	for (; part; part = next) {
		next = part->more;
		part_exit(part);
		kfree(part);
	}
}

/**
 * gpumon_track_init - allocate a table
 * @track: table, described
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_track_exit() frees what was allocated.
 */
int gpumon_track_init(struct gpumon_track *track)
{
	return part_init(track, first_capacity(track));
}

/**
 * gpumon_track_exit - free a table
 * @track: table, may be half allocated
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_track_exit(struct gpumon_track *track)
{
	parts_free(track->more);
	track->more = NULL;
	part_exit(track);
}

/**
 * gpumon_track_clear - forget all objects
 * @track: table
 *
 * Context: may sleep, no probe that uses it runs.
 */
void gpumon_track_clear(struct gpumon_track *track)
{
	if (!track->entries)
		return;
	parts_free(track->more);
	track->more = NULL;
	memset(track->table.keys, 0, track->table.slots * sizeof(*track->table.keys));
	memset(track->entries, 0, track->table.slots * sizeof(*track->entries));
}

/**
 * gpumon_track_supply - add a part if the table may soon be full
 * @track: table
 *
 * Context: may sleep, gpumon_period_lock held; probes may run.
 */
void gpumon_track_supply(struct gpumon_track *track)
{
	u32 used = 0, capacity = 0, next = first_capacity(track);
	struct gpumon_track *part, *last = NULL;

	if (!track->entries)
		return;
	for (part = track; part; part = part->more) {
		used += gpumon_table_used(&part->table);
		capacity += next;
		next = capacity;
		last = part;
	}
	if (used < capacity / 2 || capacity >= track->capacity)
		return;
	part = kzalloc(sizeof(*part), GFP_KERNEL);
	if (part && (part_init(part, min(next, track->capacity - capacity)) ||
		     (last == track && spilled_init(track, part)))) {
		parts_free(part);
		part = NULL;
	}
	/* Pairs with the READ_ONCE() of @more: readers have an address dependency. */
	smp_store_release(&last->more, part);
}

/**
 * gpumon_track_bytes - memory of a table
 * @track: table
 *
 * Return: bytes.
 */
size_t gpumon_track_bytes(const struct gpumon_track *track)
{
	const struct gpumon_track *part;
	size_t bytes = 0;

	for (part = track; part; part = part->more)
		bytes += gpumon_table_bytes(&part->table) +
			 gpumon_memory_held(part->entries,
					    part->table.slots * sizeof(*part->entries)) +
			 gpumon_memory_held(part->spilled,
					    spilled_length(track) * sizeof(*part->spilled)) +
			 (part == track ? 0 : gpumon_memory_held(part, sizeof(*part)));
	return bytes;
}

/* gpumon_track_find() in all parts but the first. */
noinline void *gpumon_track_find_more(const struct gpumon_track *track, u64 key)
{
	u32 slot;

	while ((track = READ_ONCE(track->more))) {
		slot = gpumon_table_find(&track->table, gpumon_table_home(&track->table, key), key,
					 GPUMON_TABLE_WAYS);
		if (slot != GPUMON_NONE)
			return &track->entries[slot];
	}
	return NULL;
}

/* A part is asked for when a key finds half of its places taken. */
static __always_inline bool crowded(u32 home, u32 slot)
{
	/* Hardly any key is that far from its home slot before a third of the slots are taken. */
	return unlikely(slot - home >= GPUMON_TABLE_WAYS / 2);
}

/* gpumon_track_begin() where the first part has no room for the key. */
static noinline void *begin_more(struct gpumon_track *track, u32 first_home, u64 key, bool *known)
{
	struct gpumon_track *part = READ_ONCE(track->more);
	bool created = false;
	void *entry = NULL;
	atomic_t *spilled;
	u32 home, slot;

	if (!part)
		return NULL;
	spilled = spilled_at(part, first_home);
	/* Before the key is there: who could begin with it again sees the count. */
	atomic_inc(spilled);
	for (; part && !entry; part = READ_ONCE(part->more)) {
		home = gpumon_table_home(&part->table, key);
		slot = gpumon_table_claim_from(&part->table, home, key, &created);
		if (crowded(home, slot) && !READ_ONCE(part->more))
			gpumon_memory_ask();
		if (slot != GPUMON_NONE)
			entry = &part->entries[slot];
	}
	if (!created)
		atomic_dec(spilled);
	*known = !created;
	return entry;
}

/**
 * gpumon_track_begin - an object begins
 * @track: table
 * @key: key of the object, not 0
 * @known: set if there was an entry already: the end of the object that had the key was not seen,
 *         the caller takes back what it had counted for it
 *
 * A key is in a later part only if the first had no room for it, which is counted: without such a key
 * in the neighbourhood, the first part alone is searched. The count is never less than the keys
 * that it stands for. It is raised before such a key gets a slot and lowered after it has lost it; and
 * begin and end of one object never run at once, so a begin sees what the previous begin with
 * its key has counted. A count that is too high costs a search.
 *
 * Context: any, preemption off, takes no lock; begin and end of one object never
 * run at once.
 * Return: the entry to be filled in, of the table's type; NULL if the table is full.
 */
void *gpumon_track_begin(struct gpumon_track *track, u64 key, bool *known)
{
	/* Pairs with gpumon_track_supply(): the counts are found through it. */
	const struct gpumon_track *more = READ_ONCE(track->more);
	u32 home = gpumon_table_home(&track->table, key);
	bool created;
	void *entry;
	u32 slot;

	if (unlikely(more) && unlikely(atomic_read(spilled_at(more, home)))) {
		entry = gpumon_track_find_more(track, key);
		if (entry) {
			*known = true;
			return entry;
		}
	}
	slot = gpumon_table_claim_from(&track->table, home, key, &created);
	if (crowded(home, slot) && in_parts(track) && !more)
		gpumon_memory_ask();
	if (unlikely(slot == GPUMON_NONE))
		return begin_more(track, home, key, known);
	*known = !created;
	return &track->entries[slot];
}

/* The part that has an entry; @slot: set to the entry's slot there. */
static struct gpumon_track *track_part(struct gpumon_track *track,
				       const struct gpumon_tracked *entry, u32 *slot)
{
	while (entry < track->entries || entry >= track->entries + track->table.slots)
		track = READ_ONCE(track->more);
	*slot = entry - track->entries;
	return track;
}

/* A key has lost its slot in a later part. */
static noinline void unspill(const struct gpumon_track *track, u64 key)
{
	atomic_dec(spilled_at(READ_ONCE(track->more), gpumon_table_home(&track->table, key)));
}

/* gpumon_track_end() in a later part. */
static noinline void end_more(struct gpumon_track *track, const struct gpumon_tracked *entry)
{
	struct gpumon_track *part;
	u32 slot;
	u64 key;

	part = track_part(track, entry, &slot);
	key = gpumon_read_once64(part->table.keys[slot]);
	gpumon_table_release(&part->table, slot);
	/* A key that gpumon_track_take() has taken out is no longer counted. */
	if (key != GPUMON_TABLE_RECYCLING)
		unspill(track, key);
}

/**
 * gpumon_track_end - an object has ended
 * @track: table
 * @entry: the object's entry, which nobody reads any more
 *
 * Context: any, takes no lock.
 */
void gpumon_track_end(struct gpumon_track *track, const void *entry)
{
	/* Of an entry in a later part it is no slot of the first, whichever of them is in front. */
	unsigned long slot = gpumon_track_slot(track, entry);

	if (likely(slot < track->table.slots))
		gpumon_table_release(&track->table, slot);
	else
		end_more(track, entry);
}

/**
 * gpumon_track_take - claim the end of an object that several CPUs may see at once
 * @track: table
 * @entry: the object's entry
 * @key: the object's key
 *
 * Context: any, takes no lock.
 * Return: true for one of the CPUs, which then calls gpumon_track_end().
 */
bool gpumon_track_take(struct gpumon_track *track, const void *entry, u64 key)
{
	struct gpumon_track *part;
	u32 slot;

	part = track_part(track, entry, &slot);
	if (gpumon_cmpxchg64(&part->table.keys[slot], key, GPUMON_TABLE_RECYCLING) != key)
		return false;
	if (unlikely(part != track))
		unspill(track, key);
	return true;
}

/**
 * gpumon_track_remember - what an address stands for, for gpumon_track_known()
 * @track: table of struct gpumon_remembered
 * @key: the address, not 0
 * @identity: shows that it is the same object, not 0
 * @what: any number but 0; without room the caller finds it again the next time
 *
 * Context: any, preemption off, takes no lock. Two CPUs that learn it at once write the same.
 */
void gpumon_track_remember(struct gpumon_track *track, u64 key, u64 identity, u64 what)
{
	struct gpumon_remembered *known;
	bool had_entry;

	known = gpumon_track_begin(track, key, &had_entry);
	if (!known)
		return;
	gpumon_write_once64(known->identity, 0);
	/* A reader with the previous object's identity must not find the new @what. */
	smp_wmb();
	gpumon_write_once64(known->what, what);
	/* Pairs with gpumon_track_known(). */
	gpumon_store_release64(&known->identity, identity);
}

/**
 * gpumon_track_forget - all addresses may be those of other objects now
 * @track: table of struct gpumon_remembered
 *
 * Counts of keys in later parts stay too high: another CPU may just be adding one.
 *
 * Context: any; probes may look up and learn meanwhile.
 */
void gpumon_track_forget(struct gpumon_track *track)
{
	struct gpumon_remembered *known;
	u32 slot;

	for (; track; track = READ_ONCE(track->more)) {
		for (slot = 0; slot < track->table.slots; slot++) {
			/* Before the slot is free: the next key's readers must not find this identity. */
			known = gpumon_track_at(track, slot);
			gpumon_write_once64(known->identity, 0);
			gpumon_table_release(&track->table, slot);
		}
	}
}
