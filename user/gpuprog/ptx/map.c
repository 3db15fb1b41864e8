// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "map.h"
#include "warp.h"

/* Errors that helpers return, the kernel's numbers. */
#define TEXT_ENOENT 2
#define TEXT_E2BIG  7
#define TEXT_EEXIST 17
#define TEXT_EINVAL 22

/*
 * Part of a key or a value that a helper takes into registers: words of 8 bytes, the last one
 * shorter.
 */
#define TEXT_MAX_WORDS (GPUMON_GPUPROG_MAX_RECORD_SIZE / 8)

struct text_words {
	uint32_t reg[TEXT_MAX_WORDS];
	uint32_t n;
	uint32_t size;
};

/* Load what argument @argument, from 0, of the present call points to. */
static void text_words_load(struct text *text, unsigned int argument, uint32_t size,
			    struct text_words *words)
{
	const struct gpumon_gpuprog_operand *operand = &text->facts[text->step].arguments[argument];
	struct text_place place;
	uint32_t i;

	words->size = size;
	words->n = (size + 7) / 8;
	if (words->n > TEXT_MAX_WORDS) {
		words->n = 0;
		text_refuse(text,
			    "a value of %u bytes is copied, of at most %u: write it through "
			    "the pointer that bpf_map_lookup_elem returns",
			    size, GPUMON_GPUPROG_MAX_RECORD_SIZE);
		return;
	}
	place = text_place_open(text, operand, argument + 1, 0, size);
	for (i = 0; i < words->n; i++)
		words->reg[i] =
			text_place_load(text, &place, 8 * i, size - 8 * i < 8 ? size - 8 * i : 8);
}

/* A whole word is stored: the bytes behind the last one belong to the same multiple of 8 bytes. */
static void text_words_store(struct text *text, const struct text_words *words,
			     const struct text_place *place)
{
	uint32_t i;

	for (i = 0; i < words->n; i++)
		text_place_store(text, place, 8 * i, 8, words->reg[i]);
}

/*
 * Hashes. A thread claims an empty slot by compare-and-swap, writes key and value, and marks it
 * ready; others wait for that, a limited time. The slot's writer is in the same turn of the loop as
 * the claim, so that it comes to its end also where the lanes of a warp run in lock-step.
 */

#define MAX_WAITS 65536 /* turns of waiting for a slot that another thread writes */

/* A way through the slots of a key. */
struct way {
	struct gpumon_gpuprog_hash layout;
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
			  GPUMON_GPUPROG_HASH_FACTOR);
		text_emit(text, "shr.u64 $d, $d, 32", shifted, way->hash);
		text_emit(text, "xor.b64 $d, $d, $d", way->hash, way->hash, shifted);
	}
	text_emit(text, "mul.lo.s64 $d, $d, $x", way->hash, way->hash, GPUMON_GPUPROG_HASH_FACTOR);
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
			   enum gpumon_gpuprog_slot_state state)
{
	uint32_t word = text_wide(text);

	text_emit(text, "or.b64 $d, $d, $i", word, way->hash, state);
	return word;
}

/* The slot is ready, after all that this thread wrote to it. */
static void publish(struct text *text, const struct way *way)
{
	uint32_t word = state_word(text, way, GPUMON_GPUPROG_SLOT_READY);

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
	const struct gpumon_gpuprog_map *map = &text->program->maps[text->map];
	uint32_t base;

	way->layout = gpumon_gpuprog_hash_layout(map);
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
static void if_state(struct text *text, const struct way *way, enum gpumon_gpuprog_slot_state state,
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
	/* A slot that is being written is not there yet. */
	if_state(text, way, GPUMON_GPUPROG_SLOT_BUSY, way->none);
	compare_key(text, way);
	if_state(text, way, GPUMON_GPUPROG_SLOT_DELETED, way->none);
}

/* Look up a key of a hash. */
static void text_hash_lookup(struct text *text)
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
	text_lose(text, GPUMON_GPUPROG_LOST_HASH_BUSY, -1);
	finish(text, way, -TEXT_EAGAIN);
}

/*
 * The slot is empty, or has the key, which was deleted: claim it, write the value and, if it was empty, the
 * key, and show it to the others.
 */
static void claim_slot(struct text *text, const struct way *way, const struct text_words *value,
		       bool empty)
{
	struct text_place place = text_place_global(way->address, way->layout.key);
	uint32_t from = empty ? text_wide(text) : way->state, won;

	refuse_flags(text, way, "eq", BPF_EXIST, -TEXT_ENOENT);
	if (empty)
		text_emit(text, "mov.b64 $d, 0", from);
	won = exchange(text, way, from, state_word(text, way, GPUMON_GPUPROG_SLOT_BUSY));
	text_emit(text, "@!$p bra $l", won, way->begin);
	if (empty)
		text_words_store(text, &way->key, &place);
	place.displacement = way->layout.value;
	text_words_store(text, value, &place);
	publish(text, way);
	finish(text, way, 0);
}
static void text_hash_update(struct text *text)
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
	if_state(text, &way, GPUMON_GPUPROG_SLOT_READY, settled);
	if_state(text, &way, GPUMON_GPUPROG_SLOT_DELETED, settled);
	wait(text, &way, waits);
	text_label(text, settled);
	compare_key(text, &way);
	if_state(text, &way, GPUMON_GPUPROG_SLOT_READY, ready);
	claim_slot(text, &way, &value, false);
	text_label(text, empty);
	claim_slot(text, &way, &value, true);
	text_label(text, ready);
	refuse_flags(text, &way, "eq", BPF_NOEXIST, -TEXT_EEXIST);
	place = text_place_global(way.address, way.layout.value);
	text_words_store(text, &value, &place);
	finish(text, &way, 0);
	end_way(text, &way);
	text_lose(text, GPUMON_GPUPROG_LOST_HASH_FULL, -1);
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_E2BIG);
	text_label(text, way.end);
}

void text_hash_delete(struct text *text)
{
	uint32_t deleted, won;
	struct way way;

	find_slot(text, &way);
	deleted = state_word(text, &way, GPUMON_GPUPROG_SLOT_DELETED);
	won = exchange(text, &way, way.state, deleted);
	text_emit(text, "@!$p bra $l", won, way.none);
	finish(text, &way, 0);
	end_way(text, &way);
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_ENOENT);
	text_label(text, way.end);
}

/* Rings: where the records of a warp go, and their writing. */

/* Reserves room for the records of a warp at once, and finds this lane's part. */
struct append {
	struct gpumon_gpuprog_ring layout;
	uint32_t part;	/* %gd, address of the part */
	uint32_t count; /* %gw, lanes that append */
	uint32_t slot;	/* %gw, this lane's */
	uint32_t dropped;
};

/* Add the place of this SM's part to the ring's address. */
static void choose_part(struct text *text, struct append *append)
{
	uint32_t part;

	if (append->layout.parts == 1)
		return;
	part = text_special(text, "%smid");
	text_emit(text, "and.b32 $w, $w, $u", part, part, append->layout.parts - 1);
	/* The ring has at most 2^32 bytes, so a part has fewer. */
	text_emit(text, "mad.wide.u32 $d, $w, $x, $d", append->part, part,
		  append->layout.part_bytes, append->part);
}

/* Set @bits in the word of a group. Return: those that were set before. */
static uint32_t claim_records(struct text *text, const struct append *append, uint32_t group,
			      uint32_t bits, int guard)
{
	uint32_t address = text_wide(text), old = text_word(text);

	text_emit(text, "mad.wide.u32 $d, $w, 4, $d", address, group, append->part);
	if (guard >= 0) {
		text_emit(text, "mov.b32 $w, 0", old);
		text_emit(text, "@$p atom.global.or.b32 $w, [$d+$i], $w", guard, old, address,
			  GPUMON_GPUPROG_RING_WORDS, bits);
	} else {
		text_emit(text, "atom.global.or.b32 $w, [$d+$i], $w", old, address,
			  GPUMON_GPUPROG_RING_WORDS, bits);
	}
	return old;
}

/* Reserves room for each lane by itself, on targets without shfl.sync. */
static void take_alone(struct text *text, struct append *append)
{
	uint32_t group = text_word(text), bit = text_word(text), one = text_word(text), old;

	text_emit(text, "atom.global.add.u32 $w, [$d], 1", append->slot, append->part);
	text_emit(text, "rem.u32 $w, $w, $u", append->slot, append->slot, append->layout.slots);
	text_emit(text, "shr.u32 $w, $w, 5", group, append->slot);
	text_emit(text, "and.b32 $w, $w, 31", bit, append->slot);
	text_emit(text, "mov.b32 $w, 1", one);
	text_emit(text, "shl.b32 $w, $w, $w", one, one, bit);
	old = claim_records(text, append, group, one, -1);
	text_emit(text, "and.b32 $w, $w, $w", old, old, one);
	text_emit(text, "setp.ne.u32 $p, $w, 0", append->dropped, old);
}

/* The mask of @count bits from bit @first on. PTX makes 0 of 1 << 32, so 32 bits are right, too. */
static uint32_t bit_run(struct text *text, uint32_t count, uint32_t first)
{
	uint32_t bits = text_word(text);

	text_emit(text, "mov.b32 $w, 1", bits);
	text_emit(text, "shl.b32 $w, $w, $w", bits, bits, count);
	text_emit(text, "sub.u32 $w, $w, 1", bits, bits);
	if (first)
		text_emit(text, "shl.b32 $w, $w, $w", bits, bits, first);
	return bits;
}

/*
 * The first lane takes slots for all, in one group or in two. @first: its first slot. @old: bits that
 * were set in the first group, and in the next one.
 */
static void take_slots(struct text *text, struct append *append, uint32_t first, uint32_t *old)
{
	uint32_t group = text_word(text), place = text_word(text), here = text_word(text);
	uint32_t there = text_word(text), more = text_predicate(text), wraps, bits;

	text_emit(text, "atom.global.add.u32 $w, [$d], $w", first, append->part, append->count);
	text_emit(text, "rem.u32 $w, $w, $u", first, first, append->layout.slots);
	text_emit(text, "shr.u32 $w, $w, 5", group, first);
	text_emit(text, "and.b32 $w, $w, 31", place, first);
	text_emit(text, "sub.u32 $w, 32, $w", here, place);
	text_emit(text, "min.u32 $w, $w, $w", here, here, append->count);
	text_emit(text, "sub.u32 $w, $w, $w", there, append->count, here);
	bits = bit_run(text, here, place);
	text_emit(text, "mov.b32 $w, $w", old[0], claim_records(text, append, group, bits, -1));
	text_emit(text, "setp.ne.u32 $p, $w, 0", more, there);
	wraps = text_predicate(text);
	text_emit(text, "add.u32 $w, $w, 1", group, group);
	text_emit(text, "setp.eq.u32 $p, $w, $u", wraps, group, append->layout.groups);
	text_emit(text, "selp.b32 $w, 0, $w, $p", group, group, wraps);
	bits = bit_run(text, there, 0);
	text_emit(text, "mov.b32 $w, $w", old[1],
		  claim_records(text, append, group, bits, (int)more));
}

/* The warp together. */
static void take_together(struct text *text, struct append *append)
{
	uint32_t first = text_word(text), old[2] = { text_word(text), text_word(text) };
	uint32_t lane = text_word(text), leads = text_predicate(text), skip = text_new_label(text);
	uint32_t here = text_word(text), bit = text_word(text), beyond = text_predicate(text);
	uint32_t next = text_predicate(text), mask = text_active_mask(text);
	uint32_t rank = text_lanes_before(text, mask);

	append->count = text_word(text);
	text_emit(text, "popc.b32 $w, $w", append->count, mask);
	text_emit(text, "setp.eq.u32 $p, $w, 0", leads, rank);
	/* The first lane: the lowest bit, negated and together with itself. */
	text_emit(text, "neg.s32 $w, $w", lane, mask);
	text_emit(text, "and.b32 $w, $w, $w", lane, lane, mask);
	text_emit(text, "bfind.u32 $w, $w", lane, lane);
	text_emit(text, "@!$p bra $l", leads, skip);
	take_slots(text, append, first, old);
	text_label(text, skip);
	first = text_shuffle(text, mask, first, lane);
	old[0] = text_shuffle(text, mask, old[0], lane);
	old[1] = text_shuffle(text, mask, old[1], lane);
	text_emit(text, "add.u32 $w, $w, $w", append->slot, first, rank);
	text_emit(text, "setp.ge.u32 $p, $w, $u", beyond, append->slot, append->layout.slots);
	text_emit(text, "@$p sub.u32 $w, $w, $u", beyond, append->slot, append->slot,
		  append->layout.slots);
	/* Below the lane's place in the first group is that in the next one. */
	text_emit(text, "and.b32 $w, $w, 31", here, first);
	text_emit(text, "add.u32 $w, $w, $w", here, here, rank);
	text_emit(text, "setp.gt.u32 $p, $w, 31", next, here);
	text_emit(text, "and.b32 $w, $w, 31", here, here);
	text_emit(text, "selp.b32 $w, $w, $w, $p", bit, old[1], old[0], next);
	text_emit(text, "shr.u32 $w, $w, $w", bit, bit, here);
	text_emit(text, "and.b32 $w, $w, 1", bit, bit);
	text_emit(text, "setp.ne.u32 $p, $w, 0", append->dropped, bit);
}

static void write_record(struct text *text, const struct append *append,
			 const struct text_words *record)
{
	uint32_t address = text_wide(text), header = text_wide(text);
	struct text_place place;

	text_emit(text, "mad.wide.u32 $d, $w, $u, $d", address, append->slot,
		  append->layout.slot_bytes, append->part);
	place = text_place_global(address, (int32_t)append->layout.place_slots + 8);
	text_words_store(text, record, &place);
	text_emit(text, "mov.b64 $d, $x", header, GPUMON_GPUPROG_RING_COMMITTED | record->size);
	if (text_has_volta(text)) {
		text_emit(text, "st.release.gpu.global.u64 [$d+$u], $d", address,
			  (uint32_t)append->layout.place_slots, header);
		return;
	}
	text_emit(text, "membar.gl");
	text_emit(text, "st.volatile.global.u64 [$d+$u], $d", address,
		  (uint32_t)append->layout.place_slots, header);
}

/* @address: %gd of the ring. R0 is 0 or @result. */
static void append_record(struct text *text, const struct gpumon_gpuprog_map *map, uint32_t address,
			  const struct text_words *record, int result)
{
	struct append append = {
		.layout = gpumon_gpuprog_ring_layout(map, text->target->shards),
		.part = address,
		.slot = text_word(text),
		.dropped = text_predicate(text),
	};
	uint32_t drop = text_new_label(text), end = text_new_label(text);

	choose_part(text, &append);
	if (text_has_sync(text))
		take_together(text, &append);
	else
		take_alone(text, &append);
	text_emit(text, "@$p bra $l", append.dropped, drop);
	write_record(text, &append, record);
	text_emit(text, "mov.b64 $d, 0", 0);
	text_emit(text, "bra $l", end);
	text_label(text, drop);
	text_lose(text, GPUMON_GPUPROG_LOST_RING_FULL, -1);
	text_emit(text, "mov.b64 $d, $i", 0, result);
	text_label(text, end);
}

void text_ring_output(struct text *text, unsigned int memory, int result)
{
	const struct gpumon_gpuprog_fact *fact = &text->facts[text->step];
	const struct gpumon_gpuprog_map *ring = &text->program->maps[text->map];
	uint32_t size = fact->arguments[memory + 1].value;
	struct text_words record;

	if (size > ring->value_size) {
		text_refuse(text, "a record of %u bytes, map %s takes at most %u", size, ring->name,
			    ring->value_size);
		return;
	}
	text_words_load(text, memory, size, &record);
	append_record(text, ring, text_map_address(text, text->map), &record, result);
}

/* Place of the text, map and offset, for struct gpumon_gpuprog_print. */
static uint32_t text_reference(struct text *text, const struct gpumon_gpuprog_operand *operand)
{
	uint32_t reference = text_wide(text), base;

	if (operand->constant) {
		text_emit(text, "mov.b64 $d, $x", reference,
			  (uint64_t)operand->offset << 32 | operand->map);
		return reference;
	}
	base = text_map_address(text, operand->map);
	text_emit(text, "sub.s64 $d, $d, $d", reference, 1, base);
	text_emit(text, "shl.b64 $d, $d, 32", reference, reference);
	text_emit(text, "or.b64 $d, $d, $u", reference, reference, operand->map);
	return reference;
}

void text_ring_print(struct text *text)
{
	const struct gpumon_gpuprog_step *step = &text->program->steps[text->step];
	const struct gpumon_gpuprog_fact *fact = &text->facts[text->step];
	struct text_words record = { .n = 4, .size = sizeof(struct gpumon_gpuprog_print) };
	uint32_t address = text_table(text, 0), there = text_predicate(text), i;
	uint32_t skip = text_new_label(text);
	bool takes = step->imm == BPF_FUNC_trace_printk;

	text_emit(text, "ld.global.u64 $d, [$d+$u]", address, address,
		  (uint32_t)offsetof(struct gpumon_gpuprog_control, print));
	text_emit(text, "setp.ne.u64 $p, $d, 0", there, address);
	record.reg[0] = text_reference(text, &fact->arguments[0]);
	for (i = 0; i < 3; i++) {
		record.reg[i + 1] = text_wide(text);
		/* An argument must be neither an address nor a register that was never set. */
		if (takes && fact->arguments[2 + i].kind == GPUMON_GPUPROG_SCALAR)
			text_emit(text, "mov.b64 $d, $d", record.reg[i + 1], 3 + i);
		else
			text_emit(text, "mov.b64 $d, 0", record.reg[i + 1]);
	}
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_ENOSPC);
	text_emit(text, "@!$p bra $l", there, skip);
	append_record(text, &gpumon_gpuprog_print_map, address, &record, -TEXT_ENOSPC);
	text_label(text, skip);
}

/* An element of an array: its address, and whether it exists. */
struct element {
	uint32_t address;
	uint32_t exists;
};

static const struct gpumon_gpuprog_map *the_map(const struct text *text)
{
	return &text->program->maps[text->map];
}

/* Add the place of this SM's shard to an address. */
static void add_shard(struct text *text, const struct gpumon_gpuprog_map *map, uint32_t address)
{
	uint64_t bytes = gpumon_gpuprog_shard_bytes(map);
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
static struct element thread_element(struct text *text, const struct gpumon_gpuprog_map *map)
{
	struct element element = { .exists = text_predicate(text) };
	uint32_t thread = text_thread(text), beyond = text_predicate(text);

	text_emit(text, "setp.ge.u64 $p, $d, $u", beyond, thread, map->max_entries);
	text_lose(text, GPUMON_GPUPROG_LOST_THREADS, beyond);
	text_emit(text, "not.pred $p, $p", element.exists, beyond);
	element.address = text_map_address(text, map - text->program->maps);
	text_emit(text, "mad.lo.s64 $d, $d, $x, $d", element.address, thread,
		  gpumon_gpuprog_value_bytes(map), element.address);
	return element;
}

/* @index: %gd */
static struct element find_element(struct text *text, const struct gpumon_gpuprog_map *map,
				   uint32_t index)
{
	struct element element;
	uint32_t low;

	if (map->kind == GPUMON_GPUPROG_MAP_THREAD_ARRAY)
		return thread_element(text, map);
	element.exists = text_predicate(text);
	low = text_word(text);
	text_emit(text, "setp.lt.u64 $p, $d, $u", element.exists, index, map->max_entries);
	text_emit(text, "cvt.u32.u64 $w, $d", low, index);
	element.address = text_map_address(text, map - text->program->maps);
	if (map->kind != GPUMON_GPUPROG_MAP_ARRAY)
		add_shard(text, map, element.address);
	text_emit(text, "mad.wide.u32 $d, $w, $x, $d", element.address, low,
		  gpumon_gpuprog_value_bytes(map), element.address);
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
	const struct gpumon_gpuprog_map *map = the_map(text);
	struct element element;

	if (map->kind == GPUMON_GPUPROG_MAP_HASH) {
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
	const struct gpumon_gpuprog_map *map = the_map(text);
	uint32_t error = text_predicate(text), end = text_new_label(text);
	struct text_place place;
	struct text_words value;
	struct element element;

	if (map->kind == GPUMON_GPUPROG_MAP_HASH) {
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
static void finish_add(struct text *text, const struct gpumon_gpuprog_map *map,
		       const struct element *element)
{
	uint32_t missing;

	text_emit(text, "selp.b64 $d, 0, -1, $p", 0, element->exists);
	if (map->kind == GPUMON_GPUPROG_MAP_THREAD_ARRAY)
		return;
	missing = text_predicate(text);
	text_emit(text, "not.pred $p, $p", missing, element->exists);
	text_lose(text, GPUMON_GPUPROG_LOST_OUTSIDE, missing);
}

void text_map_count(struct text *text)
{
	const struct gpumon_gpuprog_map *map = the_map(text);
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
	const struct gpumon_gpuprog_map *map = the_map(text);
	struct element element = find_element(text, map, 2);
	uint32_t bucket = text_word(text);

	text_emit(text, "bfind.u64 $w, $d", bucket, 3);
	/* bfind gives -1 for 0. */
	text_emit(text, "max.s32 $w, $w, 0", bucket, bucket);
	text_emit(text, "mad.wide.u32 $d, $w, 8, $d", element.address, bucket, element.address);
	text_emit(text, "@$p red.global.add.u64 [$d], 1", element.exists, element.address);
	finish_add(text, map, &element);
}
