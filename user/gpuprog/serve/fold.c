// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "fold.h"
#include "gpuprog/object/read.h"

/* For a key: many keys without room would take for ever if each looked at all slots. */
#define TRIED_SLOTS 256

static void fold_values(const struct gpumon_probe_map *map, uint32_t shards, uint8_t *to,
			const uint8_t *from)
{
	uint64_t step = gpumon_probe_value_bytes(map), shard_step = gpumon_probe_shard_bytes(map);

	for (uint32_t shard = 0; shard < shards; shard++)
		for (uint64_t i = 0; i < map->max_entries; i++)
			gpumon_probe_add_value(map, to + shard * shard_step + i * step,
					       from + shard * shard_step + i * step);
}

/* What was added to the first content. */
static void fold_content(const struct gpumon_probe_map *map, uint8_t *to, const uint8_t *from)
{
	uint64_t step = gpumon_probe_value_bytes(map);

	for (uint64_t i = 0; i < map->max_entries; i++) {
		gpumon_probe_add_value(map, to + i * step, from + i * step);
		if (map->data)
			gpumon_probe_take_value(map, to + i * step, map->data + i * step);
	}
}

/* Readers look at all slots, so that a key may be in any of those that are tried. */
static bool fold_key(const struct gpumon_probe_map *map, uint8_t *to, const void *key,
		     const void *value)
{
	struct gpumon_probe_hash hash = gpumon_probe_hash_layout(map);
	uint64_t at = gpumon_probe_key_hash(key, map->key_size), ready, state;

	ready = (at & ~3ull) | GPUMON_PROBE_SLOT_READY;
	for (uint64_t i = 0; i < hash.slots && i < TRIED_SLOTS; i++, at++) {
		uint8_t *slot = to + (at & (hash.slots - 1)) * hash.slot_bytes;

		memcpy(&state, slot, sizeof(state));
		if (!state) {
			memcpy(slot, &ready, sizeof(ready));
			memcpy(slot + hash.key, key, map->key_size);
		} else if (memcmp(slot + hash.key, key, map->key_size) != 0) {
			continue;
		}
		gpumon_probe_add_value(map, slot + hash.value, value);
		return true;
	}
	return false;
}

/* Return: keys without room. */
static uint64_t fold_hash(const struct gpumon_probe_map *map, uint8_t *to, const uint8_t *from)
{
	uint64_t place = 0, lost = 0;
	const void *key, *value;

	while (gpumon_probe_hash_next(map, from, &place, &key, &value))
		lost += !fold_key(map, to, key, value);
	return lost;
}

void gpumon_probe_fold(const struct gpumon_probe_object *object,
		       const struct gpumon_probe_plan *plan, uint8_t *to, const uint8_t *from)
{
	const struct gpumon_wire_settings *settings = &plan->settings;
	struct gpumon_probe_control sum, more;

	memcpy(&sum, to + settings->places[0], sizeof(sum));
	memcpy(&more, from + settings->places[0], sizeof(more));
	for (uint32_t i = 0; i < GPUMON_PROBE_LOSS_CAUSES; i++)
		sum.lost[i] += more.lost[i];
	for (uint32_t i = 0; i < object->maps_n; i++) {
		const struct gpumon_probe_map *map = &object->maps[i];
		uint64_t place = settings->places[1 + i];

		if (settings->shared >> i & 1)
			continue;
		switch (map->kind) {
		case GPUMON_PROBE_MAP_SM_ARRAY:
		case GPUMON_PROBE_MAP_HISTOGRAM:
			fold_values(map, plan->shards, to + place, from + place);
			break;
		case GPUMON_PROBE_MAP_ARRAY:
		case GPUMON_PROBE_MAP_THREAD_ARRAY:
			fold_content(map, to + place, from + place);
			break;
		case GPUMON_PROBE_MAP_HASH:
			sum.lost[GPUMON_PROBE_LOST_HASH_FULL] +=
				fold_hash(map, to + place, from + place);
			break;
		case GPUMON_PROBE_MAP_DATA:
			if (!map->read_only)
				fold_content(map, to + place, from + place);
			break;
		default:
			break;
		}
	}
	memcpy(to + settings->places[0], &sum, sizeof(sum));
}
