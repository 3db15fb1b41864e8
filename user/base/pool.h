/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Texts, each kept once, and numbers for keys of several numbers. */
#ifndef GPUMON_CORRELATE_POOL_H
#define GPUMON_CORRELATE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
struct gpumon_pool {
	char *block; /* what is left of the newest one */
	size_t left;
	void **blocks;
	size_t blocks_used;
	const char **texts; /* open addressing */
	size_t mask;
	size_t used;
};

/* The one copy of a text, which lives as long as the pool; NULL without memory. */
const char *gpumon_pool_text(struct gpumon_pool *pool, const char *text);
/* A NUL in it ends it. */
const char *gpumon_pool_part(struct gpumon_pool *pool, const char *text, size_t length);
/* Zeroed, as long as the pool; NULL without memory. */
void *gpumon_pool_zalloc(struct gpumon_pool *pool, size_t size);
void gpumon_pool_clear(struct gpumon_pool *pool);

#define GPUMON_KEY_SIZE 5

struct gpumon_key {
	uint64_t part[GPUMON_KEY_SIZE];
};

/* From keys to their numbers, counted from 0 on. All zero is an empty one. */
struct gpumon_keys {
	struct gpumon_key *keys;
	uint32_t used;
	uint32_t room;
	uint32_t *slots; /* number + 1 */
	uint32_t mask;
};

#define GPUMON_KEY_NONE ~0u

/**
 * gpumon_keys_number - the number of a key
 * @keys: known ones
 * @key: key, all of its parts count
 * @added: set to whether it is a new one; NULL: none is added
 *
 * Return: number; GPUMON_KEY_NONE without memory, or where it is not there.
 */
uint32_t gpumon_keys_number(struct gpumon_keys *keys, const struct gpumon_key *key, bool *added);
void gpumon_keys_clear(struct gpumon_keys *keys);

/* Room for one more element, zeroed and counted; NULL without memory. */
void *gpumon_array_add(void **array, uint32_t *used, uint32_t *room, size_t size);
#define GPUMON_ARRAY_ADD(array, used, room) \
	gpumon_array_add((void **)&(array), &(used), &(room), sizeof(*(array)))

#endif /* GPUMON_CORRELATE_POOL_H */
