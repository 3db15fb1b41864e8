/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A pool of texts, each stored once, and consecutive numbers for composite keys. Without memory the
 * program ends: memory.h.
 */
#ifndef GPUMON_LIB_POOL_H
#define GPUMON_LIB_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed pool is empty. */
struct gpumon_pool {
	char *block; /* free bytes of the newest block */
	size_t left;
	void **blocks;
	size_t blocks_used;
	const char **texts; /* open addressing */
	size_t mask;
	size_t used;
};

/* The pool's copy of a text, valid as long as the pool. */
const char *gpumon_pool_text(struct gpumon_pool *pool, const char *text)
	__attribute__((returns_nonnull));
/* The text ends at the first NUL. */
const char *gpumon_pool_part(struct gpumon_pool *pool, const char *text, size_t length)
	__attribute__((returns_nonnull));
/* Zeroed memory that lives as long as the pool. */
void *gpumon_pool_zalloc(struct gpumon_pool *pool, size_t size) __attribute__((returns_nonnull));
void gpumon_pool_clear(struct gpumon_pool *pool);

#define GPUMON_KEY_SIZE 5

struct gpumon_key {
	uint64_t part[GPUMON_KEY_SIZE];
};

/* Gives keys consecutive numbers, from 0 on. A zeroed table is empty. */
struct gpumon_keys {
	struct gpumon_key *keys;
	uint32_t used;
	uint32_t room;
	uint32_t *slots; /* number + 1 */
	uint32_t mask;
};

#define GPUMON_KEY_NONE ~0u

/**
 * gpumon_keys_number - look up or assign the number of a key
 * @keys: table
 * @key: key, compared in all its parts
 * @added: set to whether the key is new; NULL: do not add it
 *
 * Return: the number, or GPUMON_KEY_NONE if the key is absent and not to be added.
 */
uint32_t gpumon_keys_number(struct gpumon_keys *keys, const struct gpumon_key *key, bool *added);
/**
 * gpumon_keys_value - look up or make the element of an array that belongs to a key
 * @keys: table of the array alone
 * @key: key
 * @array: the elements, by the numbers of their keys
 * @room: elements that it has room for
 * @size: bytes of an element
 * @added: set to whether the key is new; may be NULL
 *
 * Return: the element, zeroed if it is new.
 */
void *gpumon_keys_value(struct gpumon_keys *keys, const struct gpumon_key *key, void **array,
			uint32_t *room, size_t size, bool *added) __attribute__((returns_nonnull));
#define GPUMON_KEYS_VALUE(keys, key, array, room, added) \
	gpumon_keys_value(keys, key, (void **)&(array), &(room), sizeof(*(array)), added)
void gpumon_keys_clear(struct gpumon_keys *keys);

#endif /* GPUMON_LIB_POOL_H */
