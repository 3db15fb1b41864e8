// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "memory.h"
#include "pool.h"

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

static uint32_t *find_key(const struct gpumon_keys *keys, const struct gpumon_key *key)
{
	uint64_t hash = 0;
	uint32_t i;

	for (unsigned int part = 0; part < GPUMON_KEY_SIZE; part++)
		hash = gpumon_hash(hash + key->part[part]);
	i = (uint32_t)hash & keys->mask;
	while (keys->slots[i] && memcmp(&keys->keys[keys->slots[i] - 1], key, sizeof(*key)) != 0)
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
	struct gpumon_key *at;
	uint32_t *slot;

	if (added)
		*added = false;
	if (!keys->slots && !added)
		return GPUMON_KEY_NONE;
	if (added && (!keys->slots || (uint64_t)keys->used * 4 > (uint64_t)keys->mask * 3))
		grow_keys(keys);
	slot = find_key(keys, key);
	if (*slot)
		return *slot - 1;
	if (!added)
		return GPUMON_KEY_NONE;
	at = GPUMON_ARRAY_ADD(keys->keys, keys->used, keys->room);
	*at = *key;
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
