// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "perf_map.h"
#include "symbol.h"
#include "symbol_mappings.h"
#include "symbol_image.h"
#include "symbol_table.h"

#define UNKNOWN "[unknown]"
#define JIT	"[jit]"

#define RESULT_MAX     64	  /* functions at one address */
#define PLACES_MAX     (1u << 20) /* 60 MiB */
#define NAMELESS_BYTES ((size_t)256 << 20)

/* Functions that were found. */
struct place {
	uint32_t first; /* index in results */
	uint32_t count;
};

struct gpumon_symbols {
	struct gpumon_symbol_strings *strings;
	struct gpumon_symbol_objects *objects;
	struct gpumon_symbol_mappings mappings;
	struct gpumon_perf_map *perf_map;
	struct gpumon_keys
		keys; /* an object, or 0 for an address without one, and the offset in its file */
	struct place *places; /* by number of the key */
	uint32_t places_room;
	struct gpumon_symbol *results;
	size_t n_results;
	size_t room;
};

struct gpumon_symbols *gpumon_symbols_new(const char *root, const char *perf_map)
{
	struct gpumon_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->strings = gpumon_symbol_strings_new();
	if (!symbols->strings)
		goto fail;
	symbols->objects = gpumon_symbol_objects_new(root, symbols->strings);
	if (!symbols->objects)
		goto fail;
	if (perf_map) {
		symbols->perf_map = gpumon_perf_map_new(perf_map);
		if (!symbols->perf_map)
			goto fail;
	}
	return symbols;
fail:
	gpumon_symbols_free(symbols);
	return NULL;
}

int gpumon_symbols_map(struct gpumon_symbols *symbols, const struct gpumon_record_mapping *mapping,
		       const char *path)
{
	struct gpumon_symbol_mapping mapped = {
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.time_ns = mapping->time_ns,
	};

	mapped.object = gpumon_symbol_objects_get(symbols->objects, mapping, path ? path : "");
	if (!mapped.object)
		return -1;
	return gpumon_symbol_mappings_add(&symbols->mappings, &mapped);
}

void gpumon_symbols_unmap(struct gpumon_symbols *symbols,
			  const struct gpumon_record_unmapping *unmapping)
{
	gpumon_symbol_mappings_remove(&symbols->mappings, unmapping->start, unmapping->end,
				      unmapping->time_ns);
}

static void forget_results(struct gpumon_symbols *symbols)
{
	gpumon_keys_clear(&symbols->keys);
	symbols->n_results = 0;
}

/* Without memory the address is looked up again the next time. */
static void remember_place(struct gpumon_symbols *symbols, const struct gpumon_key *key,
			   const struct gpumon_symbol *found, unsigned int count)
{
	struct place *place;

	if (symbols->keys.used == PLACES_MAX)
		forget_results(symbols);
	if (symbols->n_results + count > symbols->room) {
		size_t room = symbols->room ? symbols->room * 2 : 4096;
		void *p = realloc(symbols->results, room * sizeof(*found));

		if (!p)
			return;
		symbols->results = p;
		symbols->room = room;
	}
	place = GPUMON_KEYS_VALUE(&symbols->keys, key, symbols->places, symbols->places_room, NULL);
	if (!place)
		return;
	memcpy(symbols->results + symbols->n_results, found, count * sizeof(*found));
	*place = (struct place){ (uint32_t)symbols->n_results, count };
	symbols->n_results += count;
}

/* "module+0x123". The number of such names is bounded for hostile captures. */
static const char *name_by_offset(struct gpumon_symbols *symbols, const char *module,
				  uint64_t address)
{
	const char *name = NULL;
	char *text;

	if (gpumon_symbol_strings_bytes(symbols->strings) > NAMELESS_BYTES)
		return module;
	if (asprintf(&text, "%s+0x%llx", module, (unsigned long long)address) >= 0) {
		name = gpumon_symbol_strings_add(symbols->strings, text, strlen(text));
		free(text);
	}
	return name ? name : module;
}

static unsigned int find_jit(struct gpumon_symbols *symbols, uint64_t address,
			     struct gpumon_symbol *found)
{
	const char *name = NULL, *kept = NULL;
	size_t length;

	if (symbols->perf_map)
		name = gpumon_perf_map_find(symbols->perf_map, address, &length);
	if (name)
		kept = gpumon_symbol_strings_add(symbols->strings, name, length);
	if (kept)
		kept = gpumon_symbol_strings_demangled(symbols->strings, kept);
	if (!kept)
		return 0;
	*found = (struct gpumon_symbol){ .function = kept, .module = JIT, .file = "" };
	return 1;
}

unsigned int gpumon_symbols_find(struct gpumon_symbols *symbols, uint64_t address, uint64_t time_ns,
				 struct gpumon_symbol *found, unsigned int room)
{
	const struct gpumon_symbol_mapping *mapping =
		gpumon_symbol_mappings_find(&symbols->mappings, address, time_ns);
	struct gpumon_symbol_object *object = mapping ? mapping->object : NULL;
	uint64_t offset = mapping ? address - mapping->start + mapping->offset : address;
	struct gpumon_symbol result[RESULT_MAX];
	struct gpumon_key key;
	unsigned int count = 0;
	uint32_t number;

	/*
	 * In anonymous memory an offset says nothing. An address at least tells two places apart.
	 */
	if (object && gpumon_symbol_object_is_memory(object) &&
	    !strcmp(gpumon_symbol_object_module(object), UNKNOWN)) {
		object = NULL;
		offset = address;
	}
	if (!object || gpumon_symbol_object_is_memory(object)) {
		count = find_jit(symbols, address, found);
		if (count)
			return count;
	}
	key = (struct gpumon_key){ { (uintptr_t)object, offset } };
	number = gpumon_keys_number(&symbols->keys, &key, NULL);
	if (number != GPUMON_KEY_NONE) {
		const struct place *place = &symbols->places[number];

		count = place->count < room ? place->count : room;
		memcpy(found, symbols->results + place->first, count * sizeof(*found));
		return count;
	}

	if (object)
		count = gpumon_symbol_object_find(symbols->objects, object, offset, result,
						  RESULT_MAX, &offset);
	if (!count) {
		result[0] = (struct gpumon_symbol){ .file = "" };
		result[0].module = object ? gpumon_symbol_object_module(object) : UNKNOWN;
		count = 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (!result[i].function)
			result[i].function = name_by_offset(symbols, result[i].module, offset);
	}
	remember_place(symbols, &key, result, count);
	count = count < room ? count : room;
	memcpy(found, result, count * sizeof(*found));
	return count;
}

void gpumon_symbols_free(struct gpumon_symbols *symbols)
{
	if (!symbols)
		return;
	gpumon_symbol_mappings_free(&symbols->mappings);
	gpumon_symbol_objects_free(symbols->objects);
	gpumon_symbol_strings_free(symbols->strings);
	gpumon_perf_map_free(symbols->perf_map);
	gpumon_keys_clear(&symbols->keys);
	free(symbols->places);
	free(symbols->results);
	free(symbols);
}
