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

	for (slot = 0; slot < track->table.slots; slot++) {
		/* First, so that the reader of a key that takes the place finds nothing old. */
		WRITE_ONCE(track->entries[slot].owner, 0);
		gpumon_table_release(&track->table, slot);
	}
}
