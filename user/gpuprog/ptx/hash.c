// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Hashes. A thread claims an empty slot by compare-and-swap, writes key and value, and marks it
 * ready; others wait for that, a limited time. The slot's writer is in the same turn of the loop as
 * the claim, so that it comes to its end also where the lanes of a warp run in lock-step.
 */
#include "map.h"
#include "stack.h"

#define MAX_WAITS 65536 /* turns of waiting for a slot that another thread writes */

/* A way through the slots of a key. */
struct way {
	struct gpumon_probe_hash layout;
	struct text_words key;
	uint32_t hash;	  /* %gd, its lower two bits are 0 */
	uint32_t slot;	  /* %gw, number */
	uint32_t turn;	  /* %gw, slots that were tried */
	uint32_t address; /* %gd of the slot */
	uint32_t state;	  /* %gd */
	uint32_t begin;	  /* label: look at the present slot */
	uint32_t next;	  /* label: it is another key's */
	uint32_t none;	  /* label: there are no more */
	uint32_t end;	  /* label: R0 is set */
};

static void hash_key(struct text *text, struct way *way)
{
	uint32_t shifted = text_wide(text), i;

	way->hash = text_wide(text);
	for (i = 0; i < way->key.n; i++) {
		if (i)
			text_emit(text, "xor.b64 $d, $d, $d", way->hash, way->hash,
				  way->key.reg[i]);
		text_emit(text, "mul.lo.s64 $d, $d, $x", way->hash, i ? way->hash : way->key.reg[i],
			  GPUMON_PROBE_HASH_FACTOR);
		text_emit(text, "shr.u64 $d, $d, 32", shifted, way->hash);
		text_emit(text, "xor.b64 $d, $d, $d", way->hash, way->hash, shifted);
	}
	text_emit(text, "mul.lo.s64 $d, $d, $x", way->hash, way->hash, GPUMON_PROBE_HASH_FACTOR);
	text_emit(text, "shr.u64 $d, $d, 32", shifted, way->hash);
	text_emit(text, "cvt.u32.u64 $w, $d", way->slot, shifted);
	text_emit(text, "and.b64 $d, $d, -4", way->hash, way->hash);
}

static void load_state(struct text *text, const struct way *way)
{
	if (text_has_volta(text)) {
		text_emit(text, "ld.acquire.gpu.global.u64 $d, [$d]", way->state, way->address);
		return;
	}
	text_emit(text, "ld.volatile.global.u64 $d, [$d]", way->state, way->address);
	text_emit(text, "membar.gl");
}

static uint32_t state_word(struct text *text, const struct way *way,
			   enum gpumon_probe_slot_state state)
{
	uint32_t word = text_wide(text);

	text_emit(text, "or.b64 $d, $d, $i", word, way->hash, state);
	return word;
}

/* The slot is ready, after all that this thread wrote to it. */
static void publish(struct text *text, const struct way *way)
{
	uint32_t word = state_word(text, way, GPUMON_PROBE_SLOT_READY);

	if (text_has_volta(text)) {
		text_emit(text, "st.release.gpu.global.u64 [$d], $d", way->address, word);
		return;
	}
	text_emit(text, "membar.gl");
	text_emit(text, "st.volatile.global.u64 [$d], $d", way->address, word);
}

/* Replace the state. Return: a predicate, whether it was still @from. */
static uint32_t exchange(struct text *text, const struct way *way, uint32_t from, uint32_t to)
{
	uint32_t old = text_wide(text), done = text_predicate(text);

	text_emit(text, "atom.global.cas.b64 $d, [$d], $d, $d", old, way->address, from, to);
	text_emit(text, "setp.eq.u64 $p, $d, $d", done, old, from);
	return done;
}

/* Begin at the key's first slot. What follows is run for each slot, with its state. */
static void begin_way(struct text *text, struct way *way)
{
	const struct gpumon_probe_map *map = &text->program->maps[text->map];
	uint32_t base;

	way->layout = gpumon_probe_hash_layout(map);
	if (way->layout.slots > UINT32_MAX)
		text_refuse(text, "map %s has %u entries: a hash has at most %u", map->name,
			    map->max_entries, UINT32_MAX / 4 + 1);
	text_words_load(text, 1, map->key_size, &way->key);
	way->slot = text_word(text);
	way->turn = text_word(text);
	way->address = text_wide(text);
	way->state = text_wide(text);
	way->begin = text_new_label(text);
	way->next = text_new_label(text);
	way->none = text_new_label(text);
	way->end = text_new_label(text);
	hash_key(text, way);
	base = text_map_address(text, text->map);
	text_emit(text, "mov.b32 $w, 0", way->turn);
	text_label(text, way->begin);
	text_emit(text, "and.b32 $w, $w, $u", way->slot, way->slot,
		  (uint32_t)(way->layout.slots - 1));
	text_emit(text, "mad.wide.u32 $d, $w, $u, $d", way->address, way->slot,
		  way->layout.slot_bytes, base);
	load_state(text, way);
}

/* Jump to @label if the slot is empty. */
static void if_empty(struct text *text, const struct way *way, uint32_t label)
{
	uint32_t empty = text_predicate(text);

	text_emit(text, "setp.eq.u64 $p, $d, 0", empty, way->state);
	text_emit(text, "@$p bra $l", empty, label);
}

/* Go to the next slot if this one has another key's hash. */
static void compare_hash(struct text *text, const struct way *way)
{
	uint32_t differs = text_wide(text), other = text_predicate(text);

	text_emit(text, "xor.b64 $d, $d, $d", differs, way->state, way->hash);
	text_emit(text, "setp.gt.u64 $p, $d, 3", other, differs);
	text_emit(text, "@$p bra $l", other, way->next);
}

/* Jump to @label if the slot, of this hash, is in a state. */
static void if_state(struct text *text, const struct way *way, enum gpumon_probe_slot_state state,
		     uint32_t label)
{
	uint32_t is = text_predicate(text), word = state_word(text, way, state);

	text_emit(text, "setp.eq.u64 $p, $d, $d", is, way->state, word);
	text_emit(text, "@$p bra $l", is, label);
}

/* Go to the next slot if this one has another key, which is very unlikely. */
static void compare_key(struct text *text, const struct way *way)
{
	struct text_place place = text_place_global(way->address, way->layout.key);
	uint32_t differs = text_wide(text), other = text_predicate(text), i, word;

	for (i = 0; i < way->key.n; i++) {
		word = text_place_load(text, &place, 8 * i, 8);
		text_emit(text, "xor.b64 $d, $d, $d", word, word, way->key.reg[i]);
		if (i)
			text_emit(text, "or.b64 $d, $d, $d", differs, differs, word);
		else
			text_emit(text, "mov.b64 $d, $d", differs, word);
	}
	text_emit(text, "setp.ne.u64 $p, $d, 0", other, differs);
	text_emit(text, "@$p bra $l", other, way->next);
}

/* The jump to the next slot. Falls through to label "none" when there are no more. */
static void end_way(struct text *text, const struct way *way)
{
	uint32_t more = text_predicate(text);

	text_label(text, way->next);
	text_emit(text, "add.u32 $w, $w, 1", way->turn, way->turn);
	text_emit(text, "add.u32 $w, $w, $w", way->slot, way->slot, way->turn);
	text_emit(text, "setp.lt.u32 $p, $w, $u", more, way->turn, way->layout.probes);
	text_emit(text, "@$p bra $l", more, way->begin);
	text_label(text, way->none);
}

static void finish(struct text *text, const struct way *way, int result)
{
	text_emit(text, "mov.b64 $d, $i", 0, result);
	text_emit(text, "bra $l", way->end);
}

/* Go to the slot with a value of the key, or to label "none". */
static void find_slot(struct text *text, struct way *way)
{
	begin_way(text, way);
	if_empty(text, way, way->none);
	compare_hash(text, way);
	/* What is being written is not there yet. */
	if_state(text, way, GPUMON_PROBE_SLOT_BUSY, way->none);
	compare_key(text, way);
	if_state(text, way, GPUMON_PROBE_SLOT_DELETED, way->none);
}

void text_hash_lookup(struct text *text)
{
	struct way way;

	find_slot(text, &way);
	text_emit(text, "add.s64 $d, $d, $u", 0, way.address, way.layout.value);
	text_emit(text, "bra $l", way.end);
	end_way(text, &way);
	text_emit(text, "mov.b64 $d, 0", 0);
	text_label(text, way.end);
}

/* Finish with an error if R4 has these flags. */
static void refuse_flags(struct text *text, const struct way *way, const char *compare, int flags,
			 int error)
{
	uint32_t has = text_predicate(text), label = text_new_label(text);

	text_emit(text, "setp.$s.u64 $p, $d, $i", compare, has, 4, flags);
	text_emit(text, "@!$p bra $l", has, label);
	finish(text, way, error);
	text_label(text, label);
}

/* Wait for another thread, for a limited time. */
static void wait(struct text *text, const struct way *way, uint32_t waits)
{
	uint32_t over = text_predicate(text);

	text_emit(text, "sub.u32 $w, $w, 1", waits, waits);
	text_emit(text, "setp.ne.u32 $p, $w, 0", over, waits);
	text_emit(text, "@$p bra $l", over, way->begin);
	text_lose(text, GPUMON_PROBE_LOST_HASH_BUSY, -1);
	finish(text, way, -TEXT_EAGAIN);
}

/*
 * The slot is empty, or has the key, which was deleted: claim it, write the value and, if it was empty, the
 * key, and show it to the others.
 */
static void claim(struct text *text, const struct way *way, const struct text_words *value,
		  bool empty)
{
	struct text_place place = text_place_global(way->address, way->layout.key);
	uint32_t from = empty ? text_wide(text) : way->state, won;

	refuse_flags(text, way, "eq", BPF_EXIST, -TEXT_ENOENT);
	if (empty)
		text_emit(text, "mov.b64 $d, 0", from);
	won = exchange(text, way, from, state_word(text, way, GPUMON_PROBE_SLOT_BUSY));
	text_emit(text, "@!$p bra $l", won, way->begin);
	if (empty)
		text_words_store(text, &way->key, &place);
	place.displacement = way->layout.value;
	text_words_store(text, value, &place);
	publish(text, way);
	finish(text, way, 0);
}

void text_hash_update(struct text *text)
{
	uint32_t waits = text_word(text), empty = text_new_label(text);
	uint32_t settled = text_new_label(text), ready = text_new_label(text);
	struct text_words value;
	struct text_place place;
	struct way way;

	text_words_load(text, 2, text->program->maps[text->map].value_size, &value);
	text_emit(text, "mov.b32 $w, $i", waits, MAX_WAITS);
	begin_way(text, &way);
	refuse_flags(text, &way, "gt", BPF_EXIST, -TEXT_EINVAL);
	if_empty(text, &way, empty);
	compare_hash(text, &way);
	if_state(text, &way, GPUMON_PROBE_SLOT_READY, settled);
	if_state(text, &way, GPUMON_PROBE_SLOT_DELETED, settled);
	wait(text, &way, waits);
	text_label(text, settled);
	compare_key(text, &way);
	if_state(text, &way, GPUMON_PROBE_SLOT_READY, ready);
	claim(text, &way, &value, false);
	text_label(text, empty);
	claim(text, &way, &value, true);
	text_label(text, ready);
	refuse_flags(text, &way, "eq", BPF_NOEXIST, -TEXT_EEXIST);
	place = text_place_global(way.address, way.layout.value);
	text_words_store(text, &value, &place);
	finish(text, &way, 0);
	end_way(text, &way);
	text_lose(text, GPUMON_PROBE_LOST_HASH_FULL, -1);
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_E2BIG);
	text_label(text, way.end);
}

void text_hash_delete(struct text *text)
{
	uint32_t deleted, won;
	struct way way;

	find_slot(text, &way);
	deleted = state_word(text, &way, GPUMON_PROBE_SLOT_DELETED);
	won = exchange(text, &way, way.state, deleted);
	text_emit(text, "@!$p bra $l", won, way.none);
	finish(text, &way, 0);
	end_way(text, &way);
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_ENOENT);
	text_label(text, way.end);
}
