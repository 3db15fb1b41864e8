// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"
#include "text_intern.h"

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
		at += sprintf(at, "%zu:", strlen(parts[i]));
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
