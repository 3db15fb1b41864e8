// SPDX-License-Identifier: GPL-2.0-only
/* Allocation and growth of the tables of things under way. */
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
	/* Half full at most, so that a key hardly finds all its places taken. */
	int ret = gpumon_table_init(&part->table, 2 * capacity, GPUMON_TABLE_WAYS);

	if (ret)
		return ret;
	part->entries = gpumon_memory_zalloc(part->table.slots, sizeof(*part->entries),
					     NUMA_NO_NODE);
	return part->entries ? 0 : -ENOMEM;
}

static void part_exit(struct gpumon_track *part)
{
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
 * gpumon_track_clear - nothing is known any more
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
 * gpumon_track_supply - another part, if those that there are may soon be full
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
	if (part && part_init(part, min(next, track->capacity - capacity))) {
		parts_free(part);
		part = NULL;
	}
	/* Pairs with the READ_ONCE() of those who look for it: they depend on the address. */
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
			 (part == track ? 0 : gpumon_memory_held(part, sizeof(*part)));
	return bytes;
}

/* gpumon_track_find() in the parts behind the first. */
noinline struct gpumon_tracked *gpumon_track_find_more(const struct gpumon_track *track, u64 key)
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

/**
 * gpumon_track_begin - a thing begins
 * @track: table
 * @key: what it is known by, not 0
 * @known: set if there was an entry already: its end was not seen, the caller
 *         takes back what it had counted for it
 *
 * Context: any, preemption off, takes no lock; begin and end of one thing never
 * run at once.
 * Return: the entry to be filled in, NULL if the table is full.
 */
struct gpumon_tracked *gpumon_track_begin(struct gpumon_track *track, u64 key, bool *known)
{
	struct gpumon_tracked *entry;
	struct gpumon_track *part;
	bool created, crowded;
	u32 slot;

	if (unlikely(READ_ONCE(track->more))) {
		entry = gpumon_track_find(track, key);
		if (entry) {
			*known = true;
			return entry;
		}
	}
	for (part = track; part; part = READ_ONCE(part->more)) {
		slot = gpumon_table_claim(&part->table, key, &created);
		crowded = slot - gpumon_table_home(&part->table, key) >= GPUMON_TABLE_WAYS / 2;
		/* Hardly any key is that far from its place before a third of them are taken. */
		if (unlikely(crowded) && in_parts(track) && !READ_ONCE(part->more))
			gpumon_memory_ask();
		if (likely(slot != GPUMON_NONE)) {
			*known = !created;
			return &part->entries[slot];
		}
	}
	return NULL;
}

/* The part that an entry is in, and its slot there. */
static struct gpumon_track *part_of(struct gpumon_track *track, const struct gpumon_tracked *entry,
				    u32 *slot)
{
	while (entry < track->entries || entry >= track->entries + track->table.slots)
		track = READ_ONCE(track->more);
	*slot = entry - track->entries;
	return track;
}

/**
 * gpumon_track_end - a thing is over
 * @track: table
 * @entry: its entry, of which everything has been read
 *
 * Context: any, takes no lock.
 */
void gpumon_track_end(struct gpumon_track *track, struct gpumon_tracked *entry)
{
	struct gpumon_track *part;
	u32 slot;

	part = part_of(track, entry, &slot);
	gpumon_table_release(&part->table, slot);
}

/**
 * gpumon_track_take - of those who see the end of a thing at once, only one may end it
 * @track: table
 * @entry: its entry
 * @key: its key
 *
 * Context: any, takes no lock.
 * Return: whether the caller has it, who calls gpumon_track_end() then.
 */
bool gpumon_track_take(struct gpumon_track *track, struct gpumon_tracked *entry, u64 key)
{
	struct gpumon_track *part;
	u32 slot;

	part = part_of(track, entry, &slot);
	return cmpxchg64(&part->table.keys[slot], key, GPUMON_TABLE_RECYCLING) == key;
}

/**
 * gpumon_track_remember - what an address stands for, for gpumon_track_known()
 * @track: table
 * @key: the address, not 0
 * @identity: what shows that it is the same object, not 0
 * @what: any number but 0; without room it is found again the next time
 *
 * Context: any, preemption off, takes no lock. Two CPUs that learn it at once write the same.
 */
void gpumon_track_remember(struct gpumon_track *track, u64 key, u64 identity, u64 what)
{
	struct gpumon_tracked *entry;
	bool known;

	entry = gpumon_track_begin(track, key, &known);
	if (!entry)
		return;
	WRITE_ONCE(entry->owner, 0);
	/* No reader takes this for what the previous object was. */
	smp_wmb();
	WRITE_ONCE(entry->value, what);
	/* Pairs with gpumon_track_known(). */
	smp_store_release(&entry->owner, identity);
}

/**
 * gpumon_track_forget - all addresses may be those of other objects now
 * @track: table
 *
 * Context: any; probes may look up and learn meanwhile.
 */
void gpumon_track_forget(struct gpumon_track *track)
{
	u32 slot;

	for (; track; track = READ_ONCE(track->more)) {
		for (slot = 0; slot < track->table.slots; slot++) {
			/* First: the reader of a key that takes the place finds nothing old. */
			WRITE_ONCE(track->entries[slot].owner, 0);
			gpumon_table_release(&track->table, slot);
		}
	}
}
