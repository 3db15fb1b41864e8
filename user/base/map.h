/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* From a number to a number: ids of a process to where its things lie. */
#ifndef GPUMON_CORRELATE_MAP_H
#define GPUMON_CORRELATE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gpumon_map_slot {
	uint64_t key;
	uint64_t value; /* 0: free */
};

/* All zero is an empty one. */
struct gpumon_map {
	struct gpumon_map_slot *slots;
	size_t mask;
	size_t used;
};

/**
 * gpumon_map_set - remember a number, or another one for the same key
 * @map: map
 * @key: any
 * @value: not 0
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_map_set(struct gpumon_map *map, uint64_t key, uint64_t value);

/* 0: not there. */
uint64_t gpumon_map_get(const struct gpumon_map *map, uint64_t key);
size_t gpumon_map_bytes(const struct gpumon_map *map);
void gpumon_map_clear(struct gpumon_map *map);

/* Spreads keys whose lower bits are alike. */
static inline uint64_t gpumon_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ (key >> 29);
}

/* For qsort() of 64-bit numbers. */
int gpumon_by_value(const void *a, const void *b);

uint64_t gpumon_hash_bytes(const void *data, size_t size);

#endif /* GPUMON_CORRELATE_MAP_H */
