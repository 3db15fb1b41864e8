/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A hash map from 64-bit numbers to 64-bit numbers. Without memory the program ends: memory.h. */
#ifndef GPUMON_LIB_MAP_H
#define GPUMON_LIB_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gpumon_map_slot {
	uint64_t key;
	uint64_t value; /* 0: free */
};

/* A zeroed map is empty. */
struct gpumon_map {
	struct gpumon_map_slot *slots;
	size_t mask;
	size_t used;
};

/**
 * gpumon_map_set - set the value of a key, replacing an earlier one
 * @map: map
 * @key: any number
 * @value: not 0
 */
void gpumon_map_set(struct gpumon_map *map, uint64_t key, uint64_t value);

/* Returns 0 if the key is not in the map. */
uint64_t gpumon_map_get(const struct gpumon_map *map, uint64_t key);
size_t gpumon_map_bytes(const struct gpumon_map *map);
void gpumon_map_clear(struct gpumon_map *map);

/* Spreads keys whose low bits are equal. */
static inline uint64_t gpumon_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ (key >> 29);
}

/* Compares 64-bit numbers for qsort(). */
int gpumon_by_value(const void *a, const void *b);

uint64_t gpumon_hash_bytes(const void *data, size_t size);

#endif /* GPUMON_LIB_MAP_H */
