// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the lock-free table that no hot path needs inline. */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "table.h"

/**
 * gpumon_table_init - allocate a table
 * @table: table
 * @slots: slots wanted, rounded up to a power of two of at least one set
 * @ways: slots of a set, 0 for a single set that is searched as a whole
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int gpumon_table_init(struct gpumon_table *table, u32 slots, u32 ways)
{
	table->slots = ways ? roundup_pow_of_two(max(slots, ways)) : slots;
	table->ways = ways ?: slots;
	/* The number of the set is what remains of the hash's 32 bits, none for a single set. */
	table->shift = 32 - ilog2(table->slots / table->ways);
	table->keys = kvcalloc(table->slots, sizeof(*table->keys), GFP_KERNEL);
	return table->keys ? 0 : -ENOMEM;
}

/**
 * gpumon_table_free - free what gpumon_table_init() allocated
 * @table: table, may be all zeroes
 *
 * Context: may sleep.
 */
void gpumon_table_free(struct gpumon_table *table)
{
	kvfree(table->keys);
	table->keys = NULL;
}

/**
 * gpumon_table_bytes - memory held by a table
 * @table: table
 *
 * Return: bytes.
 */
size_t gpumon_table_bytes(const struct gpumon_table *table)
{
	return table->slots * sizeof(*table->keys);
}

/**
 * gpumon_table_used - slots in use
 * @table: table
 *
 * Return: number of slots that hold a key.
 */
u32 gpumon_table_used(const struct gpumon_table *table)
{
	u32 slot, used = 0;

	for (slot = 0; slot < table->slots; slot++)
		used += !!READ_ONCE(table->keys[slot]);
	return used;
}

/**
 * gpumon_table_claim - slot of a key, a new one if it has none
 * @table: table
 * @key: key, not 0
 * @ways: @table->ways
 * @created: set to whether the slot is new
 *
 * Any number of CPUs may claim the same key at once, all but one find it.
 *
 * Context: any, takes no lock.
 * Return: number of the slot, GPUMON_NONE if there is no room.
 */
u32 gpumon_table_claim(struct gpumon_table *table, u64 key, u32 ways, bool *created)
{
	u32 first = gpumon_table_set(table, key, ways);
	u32 slot;
	u64 old;

	*created = false;
	slot = gpumon_table_find(table, key, ways);
	if (slot != GPUMON_NONE)
		return slot;
	for (slot = first; slot < first + ways; slot++) {
		if (READ_ONCE(table->keys[slot]))
			continue;
		old = cmpxchg64(&table->keys[slot], 0, key);
		if (old == key)
			return slot;
		if (!old) {
			*created = true;
			return slot;
		}
	}
	/* Another CPU may have put it behind where this one had looked. */
	return gpumon_table_find(table, key, ways);
}

/**
 * gpumon_table_clear - free every slot
 * @table: table
 *
 * Context: no probe may run that uses the table.
 */
void gpumon_table_clear(struct gpumon_table *table)
{
	memset(table->keys, 0, table->slots * sizeof(*table->keys));
}
