// SPDX-License-Identifier: GPL-2.0-only
/* The lock-free table: functions that no hot path needs inline. */
#include <linux/minmax.h>
#include <linux/mm.h>

#include "memory.h"
#include "table.h"

/**
 * gpumon_table_init - allocate a table
 * @table: table
 * @slots: its slots, at least @ways
 * @ways: slots that a key may sit in, 0 for all of them
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int gpumon_table_init(struct gpumon_table *table, u32 slots, u32 ways)
{
	table->slots = max(slots, ways);
	table->ways = ways ?: slots;
	table->homes = table->slots - table->ways + 1;
	table->keys = gpumon_memory_zalloc(table->slots, sizeof(*table->keys), NUMA_NO_NODE);
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
	memset(table, 0, sizeof(*table));
}

/**
 * gpumon_table_bytes - memory held by a table
 * @table: table
 *
 * Return: bytes.
 */
size_t gpumon_table_bytes(const struct gpumon_table *table)
{
	return gpumon_memory_held(table->keys, table->slots * sizeof(*table->keys));
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
		used += !!gpumon_read_once64(table->keys[slot]);
	return used;
}

/**
 * gpumon_table_claim_from - slot of a key, a new one if it has none
 * @table: table
 * @home: the key's home slot
 * @key: key without order, not 0
 * @created: set to whether the slot is new
 *
 * Any number of CPUs may claim the same key at once, all but one find it.
 *
 * Context: any, takes no lock.
 * Return: number of the slot, GPUMON_NONE if there is no room.
 */
u32 gpumon_table_claim_from(struct gpumon_table *table, u32 home, u64 key, bool *created)
{
	u32 slot, first;
	u64 old;

	*created = false;
	/* A constant lets the compiler unroll the loop. */
	slot = likely(table->ways == GPUMON_TABLE_WAYS) ?
		       gpumon_table_find(table, home, key, GPUMON_TABLE_WAYS) :
		       gpumon_table_find(table, home, key, table->ways);
	if (slot != GPUMON_NONE)
		return slot;
	for (slot = home; slot < home + table->ways; slot++) {
		old = gpumon_read_once64(table->keys[slot]);
		if (!old)
			old = gpumon_cmpxchg64(&table->keys[slot], 0, key);
		if (old == key)
			return slot;
		if (!old)
			break;
	}
	if (slot == home + table->ways)
		return GPUMON_NONE;

	/*
	 * A slot before this one may have been freed after we passed it, and another CPU may have
	 * claimed it for the same key. Both check again; the first slot stays.
	 */
	smp_mb();
	first = gpumon_table_find(table, home, key, slot - home);
	if (slot > home && first != GPUMON_NONE) {
		gpumon_table_release(table, slot);
		return first;
	}
	*created = true;
	return slot;
}
