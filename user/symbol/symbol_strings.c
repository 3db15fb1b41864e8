// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "symbol.h"
#include "symbol_strings.h"

#define CHUNK_BYTES (256u << 10)
#define FIRST_SLOTS 1024

struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	char text[];
};

struct slot {
	const char *text;
	const char *demangled; /* NULL: not needed yet */
	uint32_t hash;
	uint32_t length;
};

struct gpumon_symbol_strings {
	struct chunk *chunks;
	struct slot *slots; /* a power of two, at most half full */
	size_t n_slots;
	size_t n_used;
	size_t bytes;
};

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void)
{
	struct gpumon_symbol_strings *strings = calloc(1, sizeof(*strings));

	if (!strings)
		return NULL;
	strings->slots = calloc(FIRST_SLOTS, sizeof(*strings->slots));
	if (!strings->slots) {
		free(strings);
		return NULL;
	}
	strings->n_slots = FIRST_SLOTS;
	return strings;
}

static int grow_strings(struct gpumon_symbol_strings *strings)
{
	size_t n = strings->n_slots * 2;
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < strings->n_slots; i++) {
		size_t at = strings->slots[i].hash & (n - 1);

		if (!strings->slots[i].text)
			continue;
		while (slots[at].text)
			at = (at + 1) & (n - 1);
		slots[at] = strings->slots[i];
	}
	free(strings->slots);
	strings->slots = slots;
	strings->n_slots = n;
	return 0;
}

static char *room_for(struct gpumon_symbol_strings *strings, size_t size)
{
	struct chunk *chunk = strings->chunks;
	char *room;

	if (!chunk || chunk->size - chunk->used < size) {
		size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + bytes);
		if (!chunk)
			return NULL;
		chunk->next = strings->chunks;
		chunk->used = 0;
		chunk->size = bytes;
		strings->chunks = chunk;
	}
	room = chunk->text + chunk->used;
	chunk->used += size;
	return room;
}

static struct slot *find_slot(struct gpumon_symbol_strings *strings, const char *text,
			      size_t length)
{
	uint32_t hash = (uint32_t)gpumon_hash_bytes(text, length);
	size_t at = hash & (strings->n_slots - 1);
	char *copy;

	for (; strings->slots[at].text; at = (at + 1) & (strings->n_slots - 1)) {
		struct slot *slot = &strings->slots[at];

		if (slot->hash == hash && slot->length == length &&
		    !memcmp(slot->text, text, length))
			return slot;
	}
	if (length > UINT32_MAX - 1)
		return NULL;
	if (strings->n_used * 2 >= strings->n_slots) {
		if (grow_strings(strings))
			return NULL;
		at = hash & (strings->n_slots - 1);
		while (strings->slots[at].text)
			at = (at + 1) & (strings->n_slots - 1);
	}
	copy = room_for(strings, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	strings->slots[at] = (struct slot){ copy, NULL, hash, (uint32_t)length };
	strings->n_used++;
	strings->bytes += length + 1;
	return &strings->slots[at];
}

const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length)
{
	const struct slot *slot = find_slot(strings, text, length);

	return slot ? slot->text : NULL;
}

const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings, const char *name)
{
	struct slot *slot = find_slot(strings, name, strnlen(name, GPUMON_SYMBOL_NAME_MAX));
	const char *kept;
	char *demangled;

	if (!slot)
		return NULL;
	if (slot->demangled)
		return slot->demangled;
	name = slot->text;
	demangled = gpumon_demangle(name);
	if (!demangled)
		return NULL;
	kept = gpumon_symbol_strings_add(strings, demangled, strlen(demangled));
	free(demangled);
	/* The slots may have moved. */
	slot = find_slot(strings, name, strlen(name));
	if (slot)
		slot->demangled = kept;
	return kept;
}

size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings)
{
	return strings->bytes;
}

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings)
{
	struct chunk *next;

	if (!strings)
		return;
	for (struct chunk *chunk = strings->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(strings->slots);
	free(strings);
}
