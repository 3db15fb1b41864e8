// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "read.h"

uint32_t gpumon_probe_read_bytes(const struct gpumon_probe_map *map)
{
	if (map->kind == GPUMON_PROBE_MAP_HISTOGRAM)
		return gpumon_probe_value_bytes(map);
	return map->value_size;
}

/* Whether a value has others than numbers of 64 bits. */
static bool has_narrow(const struct gpumon_probe_fields *fields)
{
	for (uint32_t i = 0; i < fields->n; i++)
		if (fields->fields[i].size < 8 || fields->fields[i].offset % 8)
			return true;
	return false;
}

/* The width of the number at @place of a value: that of a field, or what is left up to the next one. */
static uint32_t number_bytes(const struct gpumon_probe_fields *fields, uint32_t n, uint32_t place,
			     uint32_t left)
{
	uint32_t rest = left < 8 - place % 8 ? left : 8 - place % 8, widest = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gpumon_probe_field *field = &fields->fields[i];

		if (field->offset == place && field->size > widest && field->size <= left)
			widest = field->size;
		else if (field->offset > place && field->offset - place < rest)
			rest = field->offset - place;
	}
	return widest ? widest : rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
}

static void change_value(const struct gpumon_probe_map *map, void *sum, const void *value,
			 bool take)
{
	const struct gpumon_probe_fields *fields = &map->value_fields;
	uint32_t place = 0, bytes, size = gpumon_probe_read_bytes(map);
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

void gpumon_probe_add_value(const struct gpumon_probe_map *map, void *sum, const void *value)
{
	change_value(map, sum, value, false);
}

void gpumon_probe_take_value(const struct gpumon_probe_map *map, void *sum, const void *value)
{
	change_value(map, sum, value, true);
}

void gpumon_probe_read_value(const struct gpumon_probe_map *map, uint32_t shards, const void *image,
			     uint64_t index, void *value)
{
	bool sharded = map->kind == GPUMON_PROBE_MAP_SM_ARRAY ||
		       map->kind == GPUMON_PROBE_MAP_HISTOGRAM;
	const uint8_t *from = (const uint8_t *)image + index * gpumon_probe_value_bytes(map);
	uint32_t i;

	memcpy(value, from, gpumon_probe_read_bytes(map));
	for (i = 1; sharded && i < shards; i++)
		gpumon_probe_add_value(map, value, from + i * gpumon_probe_shard_bytes(map));
}

bool gpumon_probe_hash_next(const struct gpumon_probe_map *map, const void *image, uint64_t *place,
			    const void **key, const void **value)
{
	struct gpumon_probe_hash hash = gpumon_probe_hash_layout(map);
	const uint8_t *slot;
	uint64_t state;

	while (*place < hash.slots) {
		slot = (const uint8_t *)image + (*place)++ * hash.slot_bytes;
		memcpy(&state, slot, sizeof(state));
		if ((state & 3) != GPUMON_PROBE_SLOT_READY)
			continue;
		*key = slot + hash.key;
		*value = slot + hash.value;
		return true;
	}
	return false;
}

int gpumon_probe_drain_init(struct gpumon_probe_drain *drain, const struct gpumon_probe_map *map,
			    uint32_t shards)
{
	struct gpumon_probe_ring ring = gpumon_probe_ring_layout(map, shards);
	size_t words = (size_t)ring.parts * ring.groups;

	drain->seen = calloc(words, sizeof(*drain->seen));
	drain->taken = calloc(words, sizeof(*drain->taken));
	if (drain->seen && drain->taken)
		return 0;
	gpumon_probe_drain_clear(drain);
	return -1;
}

void gpumon_probe_drain_clear(struct gpumon_probe_drain *drain)
{
	free(drain->seen);
	free(drain->taken);
	drain->seen = drain->taken = NULL;
}

static void drain_group(struct gpumon_probe_drain *drain, const struct gpumon_probe_map *map,
			const struct gpumon_probe_ring *ring, const uint8_t *slots, uint32_t word,
			bool quiet)
{
	uint32_t was = quiet ? ~0u : drain->seen[word], i, size;
	uint64_t header;

	for (i = 0; i < GPUMON_PROBE_RING_GROUP; i++) {
		memcpy(&header, slots + (uint64_t)i * ring->slot_bytes, sizeof(header));
		if (!(header & GPUMON_PROBE_RING_COMMITTED))
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

void gpumon_probe_ring_drain(struct gpumon_probe_drain *drain, const struct gpumon_probe_map *map,
			     uint32_t shards, const void *image, bool quiet)
{
	struct gpumon_probe_ring ring = gpumon_probe_ring_layout(map, shards);
	uint64_t group_bytes = (uint64_t)GPUMON_PROBE_RING_GROUP * ring.slot_bytes;
	uint64_t part, slots, claims;
	uint32_t i, group, word, claimed;

	for (i = 0; i < ring.parts * ring.groups; i++) {
		group = i % ring.groups;
		part = i / ring.groups * ring.part_bytes;
		slots = part + ring.place_slots + group * group_bytes;
		drain_group(drain, map, &ring, (const uint8_t *)image + slots, i, quiet);
		claims = part + GPUMON_PROBE_RING_WORDS + group * sizeof(uint32_t);
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
