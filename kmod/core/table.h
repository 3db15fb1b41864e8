/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash table that a probe may use: of fixed size, without locks. It maps a
 * 64-bit key that is not 0 to the number of a slot; the payload of a slot is
 * the owner's, in an array of its own.
 *
 * A key may sit in its home slot or in one of the few behind it, which bounds a
 * lookup. A table whose keys may sit anywhere holds exactly as many as it has
 * slots.
 */
#ifndef GPUMON_TABLE_H
#define GPUMON_TABLE_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "compat/once64.h"
#include "gpumon.h"
#include "key.h"

#define GPUMON_TABLE_WAYS 8

/* Key of a slot that is being recycled: neither free nor found. */
#define GPUMON_TABLE_RECYCLING (~0ULL)

/**
 * struct gpumon_table - the keys
 * @keys: key of each slot, 0 if free
 * @slots: number of slots
 * @ways: slots that a key may sit in
 * @homes: slots that are the first of these of some key
 */
struct gpumon_table {
	u64 *keys;
	u32 slots;
	u32 ways;
	u32 homes;
};

int gpumon_table_init(struct gpumon_table *table, u32 slots, u32 ways);
void gpumon_table_free(struct gpumon_table *table);
u32 gpumon_table_used(const struct gpumon_table *table);
u32 gpumon_table_claim_from(struct gpumon_table *table, u32 home, u64 key, bool *created);
size_t gpumon_table_bytes(const struct gpumon_table *table);

static __always_inline u32 gpumon_table_home(const struct gpumon_table *table, u64 key)
{
	return (u64)gpumon_key_spread(key) * table->homes >> 32;
}

/**
 * gpumon_table_find - slot of a key
 * @table: table
 * @home: its home slot
 * @key: key, not 0
 * @ways: @table->ways, as a constant where it is one
 *
 * Context: any, takes no lock.
 * Return: number of the slot or GPUMON_NONE.
 */
static __always_inline u32 gpumon_table_find(const struct gpumon_table *table, u32 home, u64 key,
					     u32 ways)
{
	const u64 *keys = table->keys + home;
	u32 way;

	if (likely(gpumon_read_once64(keys[0]) == key))
		return home;
	for (way = 1; way < ways; way++)
		if (gpumon_read_once64(keys[way]) == key)
			return home + way;
	return GPUMON_NONE;
}

/* gpumon_table_claim_from() for a key whose home slot is not known yet. */
static inline u32 gpumon_table_claim(struct gpumon_table *table, u64 key, bool *created)
{
	return gpumon_table_claim_from(table, gpumon_table_home(table, key), key, created);
}

/* Free a slot that the caller owns. */
static __always_inline void gpumon_table_release(struct gpumon_table *table, u32 slot)
{
	/* The next owner of the slot must write its payload after this owner's last access. */
	gpumon_store_release64(&table->keys[slot], 0);
}

#endif /* GPUMON_TABLE_H */
