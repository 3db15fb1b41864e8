/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash table that a probe may use: of fixed size, without locks. It maps a
 * 64-bit key that is not 0 to the number of a slot; the payload of a slot is
 * the owner's, in an array of its own.
 *
 * A key may sit in any slot of its set. Sets make a lookup bounded, and with
 * eight ways a set's keys are one cache line. A table with a single set holds
 * exactly as many keys as it has slots.
 */
#ifndef GPUMON_TABLE_H
#define GPUMON_TABLE_H

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/types.h>

#include "gpumon.h"

#define GPUMON_TABLE_WAYS 8

/* Key of a slot that is being recycled: neither free nor found. */
#define GPUMON_TABLE_RECYCLING (~0ULL)

/**
 * struct gpumon_table - the keys
 * @keys: key of each slot, 0 if free
 * @slots: number of slots, sets times ways
 * @ways: slots of a set
 * @shift: bits of the hash that are not the number of the set
 */
struct gpumon_table {
	u64 *keys;
	u32 slots;
	u32 ways;
	u32 shift;
};

int gpumon_table_init(struct gpumon_table *table, u32 slots, u32 ways);
void gpumon_table_free(struct gpumon_table *table);
u32 gpumon_table_used(const struct gpumon_table *table);
u32 gpumon_table_claim(struct gpumon_table *table, u64 key, u32 ways, bool *created);
void gpumon_table_clear(struct gpumon_table *table);
size_t gpumon_table_bytes(const struct gpumon_table *table);

static __always_inline u32 gpumon_table_set(const struct gpumon_table *table, u64 key, u32 ways)
{
	return (u32)((key * GOLDEN_RATIO_64) >> 32 >> table->shift) * ways;
}

/**
 * gpumon_table_find - slot of a key
 * @table: table
 * @key: key, not 0
 * @ways: @table->ways, as a constant where it is one
 *
 * Context: any, takes no lock.
 * Return: number of the slot or GPUMON_NONE.
 */
static __always_inline u32 gpumon_table_find(const struct gpumon_table *table, u64 key, u32 ways)
{
	u32 slot = gpumon_table_set(table, key, ways);
	u32 end = slot + ways;

	do {
		if (READ_ONCE(table->keys[slot]) == key)
			return slot;
	} while (++slot < end);
	return GPUMON_NONE;
}

/**
 * gpumon_table_insert - slot for a key that is not in the table
 * @table: table with GPUMON_TABLE_WAYS ways
 * @key: key, not 0, that no other CPU inserts
 *
 * Context: any, takes no lock.
 * Return: number of the slot, GPUMON_NONE if the set is full.
 */
static __always_inline u32 gpumon_table_insert(struct gpumon_table *table, u64 key)
{
	u32 slot = gpumon_table_set(table, key, GPUMON_TABLE_WAYS);
	u32 end = slot + GPUMON_TABLE_WAYS;

	do {
		if (!READ_ONCE(table->keys[slot]) && !cmpxchg64(&table->keys[slot], 0, key))
			return slot;
	} while (++slot < end);
	return GPUMON_NONE;
}

/**
 * gpumon_table_release - free a slot
 * @table: table
 * @slot: number of a slot that the caller owns
 *
 * Context: any, takes no lock.
 */
static __always_inline void gpumon_table_release(struct gpumon_table *table, u32 slot)
{
	smp_store_release(&table->keys[slot], 0);
}

#endif /* GPUMON_TABLE_H */
