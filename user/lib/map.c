// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
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

#define BLOCK_SIZE (64u << 10)

static void *pool_take(struct gpumon_pool *pool, size_t size)
{
	void *taken;

	size = (size + 7) & ~(size_t)7;
	if (size > pool->left) {
		size_t length = size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE;
		char *block = gpumon_malloc(length);

		pool->blocks = gpumon_reallocarray(pool->blocks, pool->blocks_used + 1,
						   sizeof(*pool->blocks));
		pool->blocks[pool->blocks_used++] = block;
		/* A large object gets a block of its own, and the current block stays in use. */
		if (length != BLOCK_SIZE)
			return block;
		pool->block = block;
		pool->left = length;
	}
	taken = pool->block;
	pool->block += size;
	pool->left -= size;
	return taken;
}

static const char **find_text(const char **texts, size_t mask, const char *text, size_t length)
{
	size_t i = gpumon_hash_bytes(text, length) & mask;

	while (texts[i] && (strncmp(texts[i], text, length) != 0 || texts[i][length]))
		i = (i + 1) & mask;
	return &texts[i];
}

static void grow_texts(struct gpumon_pool *pool)
{
	size_t mask = pool->texts ? pool->mask * 2 + 1 : 255;
	const char **texts = gpumon_calloc(mask + 1, sizeof(*texts));

	for (size_t i = 0; pool->texts && i <= pool->mask; i++) {
		if (pool->texts[i])
			*find_text(texts, mask, pool->texts[i], strlen(pool->texts[i])) =
				pool->texts[i];
	}
	free(pool->texts);
	pool->texts = texts;
	pool->mask = mask;
}

const char *gpumon_pool_part(struct gpumon_pool *pool, const char *text, size_t length)
{
	const char **slot;
	char *copy;

	length = strnlen(text, length);
	if (!pool->texts || pool->used * 4 > pool->mask * 3)
		grow_texts(pool);
	slot = find_text(pool->texts, pool->mask, text, length);
	if (*slot)
		return *slot;
	copy = pool_take(pool, length + 1);
	memcpy(copy, text, length);
	copy[length] = '\0';
	*slot = copy;
	pool->used++;
	return copy;
}

const char *gpumon_pool_text(struct gpumon_pool *pool, const char *text)
{
	return gpumon_pool_part(pool, text, strlen(text));
}

void *gpumon_pool_zalloc(struct gpumon_pool *pool, size_t size)
{
	void *taken = pool_take(pool, size);

	return memset(taken, 0, size);
}

void gpumon_pool_clear(struct gpumon_pool *pool)
{
	for (size_t i = 0; i < pool->blocks_used; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	free(pool->texts);
	memset(pool, 0, sizeof(*pool));
}

static inline bool same_key(const struct gpumon_key *a, const struct gpumon_key *b)
{
	uint64_t differ = 0;

	for (unsigned int part = 0; part < GPUMON_KEY_SIZE; part++)
		differ |= a->part[part] ^ b->part[part];
	return !differ;
}

static inline uint32_t *find_key(const struct gpumon_keys *keys, const struct gpumon_key *key)
{
	uint64_t hash = 0;
	uint32_t i;

	for (unsigned int part = 0; part < GPUMON_KEY_SIZE; part++)
		hash = gpumon_hash(hash + key->part[part]);
	i = (uint32_t)hash & keys->mask;
	while (keys->slots[i] && !same_key(&keys->keys[keys->slots[i] - 1], key))
		i = (i + 1) & keys->mask;
	return &keys->slots[i];
}

static void grow_keys(struct gpumon_keys *keys)
{
	uint32_t mask = keys->slots ? keys->mask * 2 + 1 : 63;
	uint32_t *slots = gpumon_calloc((size_t)mask + 1, sizeof(*slots));

	free(keys->slots);
	keys->slots = slots;
	keys->mask = mask;
	for (uint32_t i = 0; i < keys->used; i++)
		*find_key(keys, &keys->keys[i]) = i + 1;
}

uint32_t gpumon_keys_number(struct gpumon_keys *keys, const struct gpumon_key *key, bool *added)
{
	uint32_t *slot;

	if (added)
		*added = false;
	if (keys->slots) {
		slot = find_key(keys, key);
		if (*slot)
			return *slot - 1;
	}
	if (!added)
		return GPUMON_KEY_NONE;
	if (!keys->slots || (uint64_t)keys->used * 4 > (uint64_t)keys->mask * 3)
		grow_keys(keys);
	slot = find_key(keys, key);
	*(struct gpumon_key *)GPUMON_ARRAY_ADD(keys->keys, keys->used, keys->room) = *key;
	*slot = keys->used;
	*added = true;
	return keys->used - 1;
}

void *gpumon_keys_value(struct gpumon_keys *keys, const struct gpumon_key *key, void **array,
			uint32_t *room, size_t size, bool *added)
{
	uint32_t used = keys->used, number;
	bool is_new;
	void *value;

	if (used == *room)
		gpumon_array_add(array, &used, room, size);
	number = gpumon_keys_number(keys, key, &is_new);
	value = (char *)*array + number * size;
	if (is_new)
		memset(value, 0, size);
	if (added)
		*added = is_new;
	return value;
}

void gpumon_keys_clear(struct gpumon_keys *keys)
{
	free(keys->keys);
	free(keys->slots);
	memset(keys, 0, sizeof(*keys));
}

#define ROOM_MIN      256
#define LENGTH_DIGITS 22 /* of a size, and a colon */

/* The slot of a text, or the free slot where it belongs. */
static uint32_t slot_of(const struct gpumon_intern *intern, const void *text, uint32_t size,
			uint64_t hash)
{
	uint32_t at = (uint32_t)hash & (intern->room - 1);

	while (intern->slots[at]) {
		uint32_t number = intern->slots[at];

		if (intern->hashes[number - 1] == hash && intern->sizes[number - 1] == size &&
		    !memcmp(intern->texts[number - 1], text, size))
			return at;
		at = (at + 1) & (intern->room - 1);
	}
	return at;
}

static void grow_intern(struct gpumon_intern *intern)
{
	uint32_t room = intern->room ? 2 * intern->room : ROOM_MIN;
	uint32_t *slots = gpumon_calloc(room, sizeof(*slots));

	intern->texts = gpumon_reallocarray(intern->texts, room / 2, sizeof(*intern->texts));
	intern->sizes = gpumon_reallocarray(intern->sizes, room / 2, sizeof(*intern->sizes));
	intern->hashes = gpumon_reallocarray(intern->hashes, room / 2, sizeof(*intern->hashes));
	free(intern->slots);
	intern->slots = slots;
	intern->room = room;
	for (uint32_t i = 0; i < intern->n; i++) {
		uint32_t at = (uint32_t)intern->hashes[i] & (room - 1);

		while (slots[at])
			at = (at + 1) & (room - 1);
		slots[at] = i + 1;
	}
}

uint32_t gpumon_intern_bytes(struct gpumon_intern *intern, const void *bytes, uint32_t size,
			     bool *added)
{
	uint64_t hash = gpumon_hash_bytes(bytes, size);
	uint32_t at;
	char *copy;

	if (added)
		*added = false;
	if (intern->n == intern->room / 2)
		grow_intern(intern);
	at = slot_of(intern, bytes, size, hash);
	if (intern->slots[at])
		return intern->slots[at];
	copy = gpumon_malloc((size_t)size + 1);
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	intern->texts[intern->n] = copy;
	intern->sizes[intern->n] = size;
	intern->hashes[intern->n] = hash;
	intern->slots[at] = ++intern->n;
	if (added)
		*added = true;
	return intern->n;
}

uint32_t gpumon_intern(struct gpumon_intern *intern, const char *text, bool *added)
{
	return gpumon_intern_bytes(intern, text, (uint32_t)strlen(text), added);
}

uint32_t gpumon_intern_find(const struct gpumon_intern *intern, const char *text)
{
	uint32_t size = (uint32_t)strlen(text);

	return intern->room ?
		       intern->slots[slot_of(intern, text, size, gpumon_hash_bytes(text, size))] :
		       0;
}

uint32_t gpumon_intern_parts(struct gpumon_intern *intern, const char *const *parts,
			     unsigned int count, bool *added)
{
	char room[512], *key = room, *at;
	size_t size = 1;
	uint32_t number;

	for (unsigned int i = 0; i < count; i++)
		size += strlen(parts[i]) + LENGTH_DIGITS;
	if (size > sizeof(room))
		key = gpumon_malloc(size);
	at = key;
	/* The lengths keep the parts apart, whatever characters they contain. */
	*at = '\0';
	for (unsigned int i = 0; i < count; i++) {
		at += snprintf(at, LENGTH_DIGITS + 1, "%zu:", strlen(parts[i]));
		at = stpcpy(at, parts[i]);
	}
	number = gpumon_intern(intern, key, added);
	if (key != room)
		free(key);
	return number;
}

void gpumon_intern_clear(struct gpumon_intern *intern)
{
	for (uint32_t i = 0; i < intern->n; i++)
		free(intern->texts[i]);
	free(intern->texts);
	free(intern->sizes);
	free(intern->hashes);
	free(intern->slots);
	memset(intern, 0, sizeof(*intern));
}
