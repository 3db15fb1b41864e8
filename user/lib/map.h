/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Hash maps: of 64-bit numbers, of composite keys, and of texts that are stored once. */
#ifndef GPUMON_LIB_MAP_H
#define GPUMON_LIB_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpumon_map_slot {
	uint64_t key;
	uint64_t value; /* 0: free */
};

/* A zeroed map is empty. */
struct gpumon_map {
	struct gpumon_map_slot *slots;
	size_t mask;
	size_t used;
};

/**
 * gpumon_map_set - set the value of a key, replacing an earlier one
 * @map: map
 * @key: any number
 * @value: not 0
 */
void gpumon_map_set(struct gpumon_map *map, uint64_t key, uint64_t value);

/* Returns 0 if the key is not in the map. */
uint64_t gpumon_map_get(const struct gpumon_map *map, uint64_t key);
size_t gpumon_map_bytes(const struct gpumon_map *map);
void gpumon_map_clear(struct gpumon_map *map);

/* Spreads keys whose low bits are equal. */
static inline uint64_t gpumon_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ (key >> 29);
}

/* Compares 64-bit numbers for qsort(). */
int gpumon_by_value(const void *a, const void *b);

uint64_t gpumon_hash_bytes(const void *data, size_t size);

/*
 * A pool of texts, each stored once, and consecutive numbers for composite keys. Without memory the
 * program ends: memory.h.
 */

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

/*
 * Numbers for texts, or other bytes, each once, for file formats with string tables. Without memory
 * the program ends: memory.h.
 */

struct gpumon_intern {
	char **texts; /* by number - 1, with a NUL behind each */
	uint32_t *sizes;
	uint64_t *hashes;
	uint32_t *slots; /* numbers, 0 of a free slot */
	uint32_t n;
	uint32_t room; /* number of slots, a power of 2; at most half of them are used */
};

/**
 * gpumon_intern - look up or assign the number of a text
 * @intern: table; a zeroed one is empty
 * @text: text
 * @added: set to whether the text is new; may be NULL
 *
 * Return: a number from 1 on.
 */
uint32_t gpumon_intern(struct gpumon_intern *intern, const char *text, bool *added);

/* The same for bytes, of which a text is one kind. */
uint32_t gpumon_intern_bytes(struct gpumon_intern *intern, const void *bytes, uint32_t size,
			     bool *added);

/* The number of a known text, or 0. */
uint32_t gpumon_intern_find(const struct gpumon_intern *intern, const char *text);

/* The same for several texts that form one key. */
uint32_t gpumon_intern_parts(struct gpumon_intern *intern, const char *const *parts,
			     unsigned int count, bool *added);

void gpumon_intern_clear(struct gpumon_intern *intern);

#endif /* GPUMON_LIB_MAP_H */
