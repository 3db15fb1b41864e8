// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "map_memory.h"

#define GPUMON_GPUPROG_HASH_PROBES 64 /* slots that are tried for a key */
#define GPUMON_GPUPROG_RING_GROUP  32 /* slots of a group: bits of a word, lanes of a warp */
#define GPUMON_GPUPROG_PRINT_BYTES (1u << 20)

#define MIN_PART_GROUPS 4 /* of a ring, so that one warp does not fill a part */

const struct gpumon_gpuprog_map gpumon_gpuprog_print_map = {
	.name = "print",
	.kind = GPUMON_GPUPROG_MAP_RING,
	.type = BPF_MAP_TYPE_RINGBUF,
	.value_size = sizeof(struct gpumon_gpuprog_print),
	.max_entries = GPUMON_GPUPROG_PRINT_BYTES,
};

static uint64_t round_up(uint64_t size, uint64_t to)
{
	return (size + to - 1) / to * to;
}

const char *gpumon_gpuprog_loss_text(enum gpumon_gpuprog_loss loss)
{
	static const char *const texts[] = {
#define LOSS_TEXT(name, text) [GPUMON_GPUPROG_LOST_##name] = text,
		GPUMON_GPUPROG_LOSSES(LOSS_TEXT)
	};

	return texts[loss];
}

uint64_t gpumon_gpuprog_value_bytes(const struct gpumon_gpuprog_map *map)
{
	if (map->kind == GPUMON_GPUPROG_MAP_HISTOGRAM)
		return GPUMON_GPUPROG_BUCKETS * sizeof(uint64_t);
	return round_up(map->value_size, 8);
}

uint64_t gpumon_gpuprog_shard_bytes(const struct gpumon_gpuprog_map *map)
{
	struct gpumon_gpuprog_hash hash;
	uint64_t bytes = map->max_entries * gpumon_gpuprog_value_bytes(map);

	switch (map->kind) {
	case GPUMON_GPUPROG_MAP_SM_ARRAY:
	case GPUMON_GPUPROG_MAP_HISTOGRAM:
		return round_up(bytes, GPUMON_GPUPROG_SHARD_ALIGN);
	case GPUMON_GPUPROG_MAP_HASH:
		hash = gpumon_gpuprog_hash_layout(map);
		return hash.slots * hash.slot_bytes;
	case GPUMON_GPUPROG_MAP_DATA:
		return gpumon_gpuprog_value_bytes(map);
	default:
		return bytes;
	}
}

uint64_t gpumon_gpuprog_map_bytes(const struct gpumon_gpuprog_map *map, uint32_t shards)
{
	struct gpumon_gpuprog_ring ring;

	/* 2^32 values of 2^30 bytes in 64 shards do not fit into the sums below. */
	if (map->kind != GPUMON_GPUPROG_MAP_RING &&
	    map->max_entries * (double)gpumon_gpuprog_value_bytes(map) > 1e15)
		return UINT64_MAX;
	switch (map->kind) {
	case GPUMON_GPUPROG_MAP_RING:
		ring = gpumon_gpuprog_ring_layout(map, shards);
		return ring.parts * ring.part_bytes;
	case GPUMON_GPUPROG_MAP_SM_ARRAY:
	case GPUMON_GPUPROG_MAP_HISTOGRAM:
		return shards * gpumon_gpuprog_shard_bytes(map);
	default:
		return gpumon_gpuprog_shard_bytes(map);
	}
}

uint64_t gpumon_gpuprog_content_bytes(const struct gpumon_gpuprog_map *map)
{
	if (!map->data)
		return 0;
	return map->kind == GPUMON_GPUPROG_MAP_DATA ? map->value_size :
						      gpumon_gpuprog_map_bytes(map, 1);
}

struct gpumon_gpuprog_hash gpumon_gpuprog_hash_layout(const struct gpumon_gpuprog_map *map)
{
	struct gpumon_gpuprog_hash hash = { .slots = 1, .key = 8 };

	while (hash.slots < 2 * (uint64_t)map->max_entries)
		hash.slots *= 2;
	hash.probes = hash.slots < GPUMON_GPUPROG_HASH_PROBES ? hash.slots :
								GPUMON_GPUPROG_HASH_PROBES;
	hash.value = hash.key + round_up(map->key_size, 8);
	hash.slot_bytes = hash.value + gpumon_gpuprog_value_bytes(map);
	return hash;
}

struct gpumon_gpuprog_ring gpumon_gpuprog_ring_layout(const struct gpumon_gpuprog_map *map,
						      uint32_t shards)
{
	struct gpumon_gpuprog_ring ring = { .parts = shards };
	uint32_t groups;

	ring.slot_bytes = 8 + gpumon_gpuprog_value_bytes(map);
	groups = map->max_entries / ring.slot_bytes / GPUMON_GPUPROG_RING_GROUP;
	if (!groups)
		groups = 1;
	while (ring.parts > 1 && groups / ring.parts < MIN_PART_GROUPS)
		ring.parts /= 2;
	ring.groups = groups / ring.parts;
	ring.slots = ring.groups * GPUMON_GPUPROG_RING_GROUP;
	ring.place_slots = GPUMON_GPUPROG_RING_WORDS +
			   round_up(ring.groups * sizeof(uint32_t), GPUMON_GPUPROG_SHARD_ALIGN);
	ring.part_bytes = round_up(ring.place_slots + (uint64_t)ring.slots * ring.slot_bytes,
				   GPUMON_GPUPROG_SHARD_ALIGN);
	return ring;
}

uint64_t gpumon_gpuprog_key_hash(const void *key, uint32_t size)
{
	uint64_t hash = 0, word;
	uint32_t place;

	for (place = 0; place < size; place += 8) {
		word = 0;
		memcpy(&word, (const char *)key + place, size - place < 8 ? size - place : 8);
		hash = (hash ^ word) * GPUMON_GPUPROG_HASH_FACTOR;
		hash ^= hash >> 32;
	}
	return hash * GPUMON_GPUPROG_HASH_FACTOR;
}

uint32_t gpumon_gpuprog_read_bytes(const struct gpumon_gpuprog_map *map)
{
	if (map->kind == GPUMON_GPUPROG_MAP_HISTOGRAM)
		return gpumon_gpuprog_value_bytes(map);
	return map->value_size;
}

/* Whether a value has others than numbers of 64 bits. */
static bool has_narrow(const struct gpumon_gpuprog_fields *fields)
{
	for (uint32_t i = 0; i < fields->n; i++)
		if (fields->fields[i].size < 8 || fields->fields[i].offset % 8)
			return true;
	return false;
}

/* The width of the number at @place of a value: that of a field, or what is left up to the next one. */
static uint32_t number_bytes(const struct gpumon_gpuprog_fields *fields, uint32_t n, uint32_t place,
			     uint32_t left)
{
	uint32_t rest = left < 8 - place % 8 ? left : 8 - place % 8, widest = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gpumon_gpuprog_field *field = &fields->fields[i];

		if (field->offset == place && field->size > widest && field->size <= left)
			widest = field->size;
		else if (field->offset > place && field->offset - place < rest)
			rest = field->offset - place;
	}
	return widest ? widest : rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
}

static void change_value(const struct gpumon_gpuprog_map *map, void *sum, const void *value,
			 bool take)
{
	const struct gpumon_gpuprog_fields *fields = &map->value_fields;
	uint32_t place = 0, bytes, size = gpumon_gpuprog_read_bytes(map);
	uint32_t n = has_narrow(fields) ? fields->n : 0;
	uint64_t a, b;

	while (place < size) {
		bytes = number_bytes(fields, n, place, size - place);
		a = b = 0;
		memcpy(&a, (uint8_t *)sum + place, bytes);
		memcpy(&b, (const uint8_t *)value + place, bytes);
		a = take ? a - b : a + b;
		memcpy((uint8_t *)sum + place, &a, bytes);
		place += bytes;
	}
}

void gpumon_gpuprog_add_value(const struct gpumon_gpuprog_map *map, void *sum, const void *value)
{
	change_value(map, sum, value, false);
}

void gpumon_gpuprog_take_value(const struct gpumon_gpuprog_map *map, void *sum, const void *value)
{
	change_value(map, sum, value, true);
}

void gpumon_gpuprog_read_value(const struct gpumon_gpuprog_map *map, uint32_t shards,
			       const void *image, uint64_t index, void *value)
{
	bool sharded = map->kind == GPUMON_GPUPROG_MAP_SM_ARRAY ||
		       map->kind == GPUMON_GPUPROG_MAP_HISTOGRAM;
	const uint8_t *from = (const uint8_t *)image + index * gpumon_gpuprog_value_bytes(map);
	uint32_t i;

	memcpy(value, from, gpumon_gpuprog_read_bytes(map));
	for (i = 1; sharded && i < shards; i++)
		gpumon_gpuprog_add_value(map, value, from + i * gpumon_gpuprog_shard_bytes(map));
}

bool gpumon_gpuprog_hash_next(const struct gpumon_gpuprog_map *map, const void *image,
			      uint64_t *place, const void **key, const void **value)
{
	struct gpumon_gpuprog_hash hash = gpumon_gpuprog_hash_layout(map);
	const uint8_t *slot;
	uint64_t state;

	while (*place < hash.slots) {
		slot = (const uint8_t *)image + (*place)++ * hash.slot_bytes;
		memcpy(&state, slot, sizeof(state));
		if ((state & 3) != GPUMON_GPUPROG_SLOT_READY)
			continue;
		*key = slot + hash.key;
		*value = slot + hash.value;
		return true;
	}
	return false;
}

void gpumon_gpuprog_drain_init(struct gpumon_gpuprog_drain *drain,
			       const struct gpumon_gpuprog_map *map, uint32_t shards)
{
	struct gpumon_gpuprog_ring ring = gpumon_gpuprog_ring_layout(map, shards);
	size_t words = (size_t)ring.parts * ring.groups;

	drain->seen = gpumon_calloc(words, sizeof(*drain->seen));
	drain->taken = gpumon_calloc(words, sizeof(*drain->taken));
}

void gpumon_gpuprog_drain_clear(struct gpumon_gpuprog_drain *drain)
{
	free(drain->seen);
	free(drain->taken);
	drain->seen = drain->taken = NULL;
}

static void drain_group(struct gpumon_gpuprog_drain *drain, const struct gpumon_gpuprog_map *map,
			const struct gpumon_gpuprog_ring *ring, const uint8_t *slots, uint32_t word,
			bool quiet)
{
	uint32_t was = quiet ? ~0u : drain->seen[word], i, size;
	uint64_t header;

	for (i = 0; i < GPUMON_GPUPROG_RING_GROUP; i++) {
		memcpy(&header, slots + (uint64_t)i * ring->slot_bytes, sizeof(header));
		if (!(header & GPUMON_GPUPROG_RING_COMMITTED))
			continue;
		drain->seen[word] |= 1u << i;
		if (!(was & 1u << i) || (drain->taken[word] & 1u << i))
			continue;
		drain->taken[word] |= 1u << i;
		/* The program under test may have written over it. */
		size = (uint32_t)header < map->value_size ? (uint32_t)header : map->value_size;
		drain->record(drain->arg, slots + (uint64_t)i * ring->slot_bytes + 8, size);
	}
}

void gpumon_gpuprog_ring_drain(struct gpumon_gpuprog_drain *drain,
			       const struct gpumon_gpuprog_map *map, uint32_t shards,
			       const void *image, bool quiet)
{
	struct gpumon_gpuprog_ring ring = gpumon_gpuprog_ring_layout(map, shards);
	uint64_t group_bytes = (uint64_t)GPUMON_GPUPROG_RING_GROUP * ring.slot_bytes;
	uint64_t part, slots, claims;
	uint32_t i, group, word, claimed;

	for (i = 0; i < ring.parts * ring.groups; i++) {
		group = i % ring.groups;
		part = i / ring.groups * ring.part_bytes;
		slots = part + ring.place_slots + group * group_bytes;
		drain_group(drain, map, &ring, (const uint8_t *)image + slots, i, quiet);
		claims = part + GPUMON_GPUPROG_RING_WORDS + group * sizeof(uint32_t);
		memcpy(&claimed, (const uint8_t *)image + claims, sizeof(claimed));
		word = drain->taken[i];
		if (~word || ~claimed)
			continue;
		/* While the bits are set nobody writes here. */
		drain->clear(drain->arg, slots, group_bytes);
		drain->clear(drain->arg, claims, sizeof(claimed));
		drain->seen[i] = drain->taken[i] = 0;
	}
}
