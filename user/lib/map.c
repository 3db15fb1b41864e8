// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"

static struct gpumon_map_slot *find_slot(struct gpumon_map_slot *slots, size_t mask, uint64_t key)
{
	size_t i = gpumon_hash(key) & mask;

	while (slots[i].value && slots[i].key != key)
		i = (i + 1) & mask;
	return &slots[i];
}

static void grow_map(struct gpumon_map *map)
{
	size_t mask = map->slots ? map->mask * 2 + 1 : 63;
	struct gpumon_map_slot *slots = gpumon_calloc(mask + 1, sizeof(*slots));

	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		if (map->slots[i].value)
			*find_slot(slots, mask, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	map->slots = slots;
	map->mask = mask;
}

void gpumon_map_set(struct gpumon_map *map, uint64_t key, uint64_t value)
{
	struct gpumon_map_slot *slot;

	if (!map->slots || map->used * 4 > map->mask * 3)
		grow_map(map);
	slot = find_slot(map->slots, map->mask, key);
	if (!slot->value)
		map->used++;
	slot->key = key;
	slot->value = value;
}

uint64_t gpumon_map_get(const struct gpumon_map *map, uint64_t key)
{
	return map->slots ? find_slot(map->slots, map->mask, key)->value : 0;
}

size_t gpumon_map_bytes(const struct gpumon_map *map)
{
	return map->slots ? (map->mask + 1) * sizeof(*map->slots) : 0;
}

void gpumon_map_clear(struct gpumon_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

uint64_t gpumon_hash_bytes(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t hash = size;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = gpumon_hash(hash ^ word) + 0x632be59bd9b4e019ull;
	}
	word = 0;
	/* Of nothing there may be no address. */
	if (size)
		memcpy(&word, p, size);
	return gpumon_hash(hash ^ word);
}

int gpumon_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}
