// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "map.h"
#include "stack.h"
#include "warp.h"

/* An element of an array: its address, and whether it exists. */
struct element {
	uint32_t address;
	uint32_t exists;
};

static const struct gpumon_probe_map *the_map(const struct text *text)
{
	return &text->program->maps[text->map];
}

void text_words_load(struct text *text, unsigned int argument, uint32_t size,
		     struct text_words *words)
{
	const struct gpumon_probe_operand *operand = &text->facts[text->step].arguments[argument];
	struct text_place place;
	uint32_t i;

	words->size = size;
	words->n = (size + 7) / 8;
	if (words->n > TEXT_MAX_WORDS) {
		words->n = 0;
		text_refuse(text,
			    "a value of %u bytes is copied, of at most %u: write it through "
			    "the pointer that bpf_map_lookup_elem returns",
			    size, GPUMON_PROBE_MAX_RECORD_SIZE);
		return;
	}
	place = text_place_open(text, operand, argument + 1, 0, size);
	for (i = 0; i < words->n; i++)
		words->reg[i] =
			text_place_load(text, &place, 8 * i, size - 8 * i < 8 ? size - 8 * i : 8);
}

/* What lies behind the last byte belongs to the same multiple of 8 bytes: a whole word is stored. */
void text_words_store(struct text *text, const struct text_words *words,
		      const struct text_place *place)
{
	uint32_t i;

	for (i = 0; i < words->n; i++)
		text_place_store(text, place, 8 * i, 8, words->reg[i]);
}

/* Add the place of this SM's shard to an address. */
static void add_shard(struct text *text, const struct gpumon_probe_map *map, uint32_t address)
{
	uint64_t bytes = gpumon_probe_shard_bytes(map);
	uint32_t shard, wide;

	if (text->target->shards == 1)
		return;
	shard = text_special(text, "%smid");
	text_emit(text, "and.b32 $w, $w, $u", shard, shard, text->target->shards - 1);
	if (bytes <= INT32_MAX) {
		text_emit(text, "mad.wide.u32 $d, $w, $x, $d", address, shard, bytes, address);
		return;
	}
	wide = text_wide(text);
	text_emit(text, "cvt.u64.u32 $d, $w", wide, shard);
	text_emit(text, "mad.lo.s64 $d, $d, $x, $d", address, wide, bytes, address);
}

/* The value of this thread. */
static struct element thread_element(struct text *text, const struct gpumon_probe_map *map)
{
	struct element element = { .exists = text_predicate(text) };
	uint32_t thread = text_thread(text), beyond = text_predicate(text);

	text_emit(text, "setp.ge.u64 $p, $d, $u", beyond, thread, map->max_entries);
	text_lose(text, GPUMON_PROBE_LOST_THREADS, beyond);
	text_emit(text, "not.pred $p, $p", element.exists, beyond);
	element.address = text_map_address(text, map - text->program->maps);
	text_emit(text, "mad.lo.s64 $d, $d, $x, $d", element.address, thread,
		  gpumon_probe_value_bytes(map), element.address);
	return element;
}

/* @index: %gd */
static struct element find_element(struct text *text, const struct gpumon_probe_map *map,
				   uint32_t index)
{
	struct element element;
	uint32_t low;

	if (map->kind == GPUMON_PROBE_MAP_THREAD_ARRAY)
		return thread_element(text, map);
	element.exists = text_predicate(text);
	low = text_word(text);
	text_emit(text, "setp.lt.u64 $p, $d, $u", element.exists, index, map->max_entries);
	text_emit(text, "cvt.u32.u64 $w, $d", low, index);
	element.address = text_map_address(text, map - text->program->maps);
	if (map->kind != GPUMON_PROBE_MAP_ARRAY)
		add_shard(text, map, element.address);
	text_emit(text, "mad.wide.u32 $d, $w, $x, $d", element.address, low,
		  gpumon_probe_value_bytes(map), element.address);
	return element;
}

/* The key of an array, from memory. */
static uint32_t load_index(struct text *text)
{
	struct text_words key;

	text_words_load(text, 1, 4, &key);
	return key.reg[0];
}

void text_map_lookup(struct text *text)
{
	const struct gpumon_probe_map *map = the_map(text);
	struct element element;

	if (map->kind == GPUMON_PROBE_MAP_HASH) {
		text_hash_lookup(text);
		return;
	}
	element = find_element(text, map, load_index(text));
	text_emit(text, "selp.b64 $d, $d, 0, $p", 0, element.address, element.exists);
	text->looked_up = 1;
	text->exists = element.exists;
}

void text_map_update(struct text *text)
{
	const struct gpumon_probe_map *map = the_map(text);
	uint32_t error = text_predicate(text), end = text_new_label(text);
	struct text_place place;
	struct text_words value;
	struct element element;

	if (map->kind == GPUMON_PROBE_MAP_HASH) {
		text_hash_update(text);
		return;
	}
	text_words_load(text, 2, map->value_size, &value);
	element = find_element(text, map, load_index(text));
	/* The kernel's order: flags, index, flags that do not fit an array. */
	text_emit(text, "setp.eq.u64 $p, $d, $i", error, 4, BPF_NOEXIST);
	text_emit(text, "selp.b64 $d, $i, 0, $p", 0, -TEXT_EEXIST, error);
	text_emit(text, "selp.b64 $d, $d, $i, $p", 0, 0, -TEXT_E2BIG, element.exists);
	text_emit(text, "setp.gt.u64 $p, $d, $i", error, 4, BPF_EXIST);
	text_emit(text, "selp.b64 $d, $i, $d, $p", 0, -TEXT_EINVAL, 0, error);
	text_emit(text, "setp.ne.u64 $p, $d, 0", error, 0);
	text_emit(text, "@$p bra $l", error, end);
	place = text_place_global(element.address, 0);
	text_words_store(text, &value, &place);
	text_label(text, end);
}

/* R0 of helpers that add to an element, and the loss if it does not exist. */
static void finish_add(struct text *text, const struct gpumon_probe_map *map,
		       const struct element *element)
{
	uint32_t missing;

	text_emit(text, "selp.b64 $d, 0, -1, $p", 0, element->exists);
	if (map->kind == GPUMON_PROBE_MAP_THREAD_ARRAY)
		return;
	missing = text_predicate(text);
	text_emit(text, "not.pred $p, $p", missing, element->exists);
	text_lose(text, GPUMON_PROBE_LOST_OUTSIDE, missing);
}

void text_map_count(struct text *text)
{
	const struct gpumon_probe_map *map = the_map(text);
	struct element element;
	uint32_t low;

	if (map->value_size < 4) {
		text_refuse(text, "values of map %s have %u bytes: to count it takes 4 or 8",
			    map->name, map->value_size);
		return;
	}
	element = find_element(text, map, 2);
	if (map->value_size >= 8) {
		text_emit(text, "@$p red.global.add.u64 [$d], $d", element.exists, element.address,
			  3);
	} else {
		low = text_word(text);
		text_emit(text, "cvt.u32.u64 $w, $d", low, 3);
		text_emit(text, "@$p red.global.add.u32 [$d], $w", element.exists, element.address,
			  low);
	}
	finish_add(text, map, &element);
}

void text_map_histogram(struct text *text)
{
	const struct gpumon_probe_map *map = the_map(text);
	struct element element = find_element(text, map, 2);
	uint32_t bucket = text_word(text);

	text_emit(text, "bfind.u64 $w, $d", bucket, 3);
	/* It is -1 for 0. */
	text_emit(text, "max.s32 $w, $w, 0", bucket, bucket);
	text_emit(text, "mad.wide.u32 $d, $w, 8, $d", element.address, bucket, element.address);
	text_emit(text, "@$p red.global.add.u64 [$d], 1", element.exists, element.address);
	finish_add(text, map, &element);
}
