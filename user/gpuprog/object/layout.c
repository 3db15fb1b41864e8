// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "layout.h"

#define MIN_PART_GROUPS 4 /* of a ring, so that one warp does not fill a part */

const struct gpumon_probe_map gpumon_probe_print_map = {
	.name = "print",
	.kind = GPUMON_PROBE_MAP_RING,
	.type = BPF_MAP_TYPE_RINGBUF,
	.value_size = sizeof(struct gpumon_probe_print),
	.max_entries = GPUMON_PROBE_PRINT_BYTES,
};

static uint64_t round_up(uint64_t size, uint64_t to)
{
	return (size + to - 1) / to * to;
}

const char *gpumon_probe_loss_text(enum gpumon_probe_loss loss)
{
	static const char *const texts[] = {
#define LOSS_TEXT(name, text) [GPUMON_PROBE_LOST_##name] = text,
		GPUMON_PROBE_LOSSES(LOSS_TEXT)
	};

	return texts[loss];
}

uint64_t gpumon_probe_value_bytes(const struct gpumon_probe_map *map)
{
	if (map->kind == GPUMON_PROBE_MAP_HISTOGRAM)
		return GPUMON_PROBE_BUCKETS * sizeof(uint64_t);
	return round_up(map->value_size, 8);
}

uint64_t gpumon_probe_shard_bytes(const struct gpumon_probe_map *map)
{
	struct gpumon_probe_hash hash;
	uint64_t bytes = map->max_entries * gpumon_probe_value_bytes(map);

	switch (map->kind) {
	case GPUMON_PROBE_MAP_SM_ARRAY:
	case GPUMON_PROBE_MAP_HISTOGRAM:
		return round_up(bytes, GPUMON_PROBE_SHARD_ALIGN);
	case GPUMON_PROBE_MAP_HASH:
		hash = gpumon_probe_hash_layout(map);
		return hash.slots * hash.slot_bytes;
	case GPUMON_PROBE_MAP_DATA:
		return gpumon_probe_value_bytes(map);
	default:
		return bytes;
	}
}

uint64_t gpumon_probe_map_bytes(const struct gpumon_probe_map *map, uint32_t shards)
{
	struct gpumon_probe_ring ring;

	/* 2^32 values of 2^30 bytes in 64 shards do not fit into the sums below. */
	if (map->kind != GPUMON_PROBE_MAP_RING &&
	    map->max_entries * (double)gpumon_probe_value_bytes(map) > 1e15)
		return UINT64_MAX;
	switch (map->kind) {
	case GPUMON_PROBE_MAP_RING:
		ring = gpumon_probe_ring_layout(map, shards);
		return ring.parts * ring.part_bytes;
	case GPUMON_PROBE_MAP_SM_ARRAY:
	case GPUMON_PROBE_MAP_HISTOGRAM:
		return shards * gpumon_probe_shard_bytes(map);
	default:
		return gpumon_probe_shard_bytes(map);
	}
}

uint64_t gpumon_probe_content_bytes(const struct gpumon_probe_map *map)
{
	if (!map->data)
		return 0;
	return map->kind == GPUMON_PROBE_MAP_DATA ? map->value_size :
						    gpumon_probe_map_bytes(map, 1);
}

struct gpumon_probe_hash gpumon_probe_hash_layout(const struct gpumon_probe_map *map)
{
	struct gpumon_probe_hash hash = { .slots = 1, .key = 8 };

	while (hash.slots < 2 * (uint64_t)map->max_entries)
		hash.slots *= 2;
	hash.probes = hash.slots < GPUMON_PROBE_HASH_PROBES ? hash.slots : GPUMON_PROBE_HASH_PROBES;
	hash.value = hash.key + round_up(map->key_size, 8);
	hash.slot_bytes = hash.value + gpumon_probe_value_bytes(map);
	return hash;
}

struct gpumon_probe_ring gpumon_probe_ring_layout(const struct gpumon_probe_map *map,
						  uint32_t shards)
{
	struct gpumon_probe_ring ring = { .parts = shards };
	uint32_t groups;

	ring.slot_bytes = 8 + gpumon_probe_value_bytes(map);
	groups = map->max_entries / ring.slot_bytes / GPUMON_PROBE_RING_GROUP;
	if (!groups)
		groups = 1;
	while (ring.parts > 1 && groups / ring.parts < MIN_PART_GROUPS)
		ring.parts /= 2;
	ring.groups = groups / ring.parts;
	ring.slots = ring.groups * GPUMON_PROBE_RING_GROUP;
	ring.place_slots = GPUMON_PROBE_RING_WORDS +
			   round_up(ring.groups * sizeof(uint32_t), GPUMON_PROBE_SHARD_ALIGN);
	ring.part_bytes = round_up(ring.place_slots + (uint64_t)ring.slots * ring.slot_bytes,
				   GPUMON_PROBE_SHARD_ALIGN);
	return ring;
}

uint64_t gpumon_probe_key_hash(const void *key, uint32_t size)
{
	uint64_t hash = 0, word;
	uint32_t place;

	for (place = 0; place < size; place += 8) {
		word = 0;
		memcpy(&word, (const char *)key + place, size - place < 8 ? size - place : 8);
		hash = (hash ^ word) * GPUMON_PROBE_HASH_FACTOR;
		hash ^= hash >> 32;
	}
	return hash * GPUMON_PROBE_HASH_FACTOR;
}
