// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Rings: where the records of a warp go, and their writing. */
#include "map.h"
#include "warp.h"

/* What the records of a warp have in common, and what of it is this lane's. */
struct append {
	struct gpumon_probe_ring layout;
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
static uint32_t claim(struct text *text, const struct append *append, uint32_t group, uint32_t bits,
		      int guard)
{
	uint32_t address = text_wide(text), old = text_word(text);

	text_emit(text, "mad.wide.u32 $d, $w, 4, $d", address, group, append->part);
	if (guard >= 0) {
		text_emit(text, "mov.b32 $w, 0", old);
		text_emit(text, "@$p atom.global.or.b32 $w, [$d+$i], $w", guard, old, address,
			  GPUMON_PROBE_RING_WORDS, bits);
	} else {
		text_emit(text, "atom.global.or.b32 $w, [$d+$i], $w", old, address,
			  GPUMON_PROBE_RING_WORDS, bits);
	}
	return old;
}

/* Each lane for itself, on targets without shfl.sync. */
static void take_alone(struct text *text, struct append *append)
{
	uint32_t group = text_word(text), bit = text_word(text), one = text_word(text), old;

	text_emit(text, "atom.global.add.u32 $w, [$d], 1", append->slot, append->part);
	text_emit(text, "rem.u32 $w, $w, $u", append->slot, append->slot, append->layout.slots);
	text_emit(text, "shr.u32 $w, $w, 5", group, append->slot);
	text_emit(text, "and.b32 $w, $w, 31", bit, append->slot);
	text_emit(text, "mov.b32 $w, 1", one);
	text_emit(text, "shl.b32 $w, $w, $w", one, one, bit);
	old = claim(text, append, group, one, -1);
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
	text_emit(text, "mov.b32 $w, $w", old[0], claim(text, append, group, bits, -1));
	text_emit(text, "setp.ne.u32 $p, $w, 0", more, there);
	wraps = text_predicate(text);
	text_emit(text, "add.u32 $w, $w, 1", group, group);
	text_emit(text, "setp.eq.u32 $p, $w, $u", wraps, group, append->layout.groups);
	text_emit(text, "selp.b32 $w, 0, $w, $p", group, group, wraps);
	bits = bit_run(text, there, 0);
	text_emit(text, "mov.b32 $w, $w", old[1], claim(text, append, group, bits, (int)more));
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
	text_emit(text, "mov.b64 $d, $x", header, GPUMON_PROBE_RING_COMMITTED | record->size);
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
static void append_record(struct text *text, const struct gpumon_probe_map *map, uint32_t address,
			  const struct text_words *record, int result)
{
	struct append append = {
		.layout = gpumon_probe_ring_layout(map, text->target->shards),
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
	text_lose(text, GPUMON_PROBE_LOST_RING_FULL, -1);
	text_emit(text, "mov.b64 $d, $i", 0, result);
	text_label(text, end);
}

void text_ring_output(struct text *text, unsigned int memory, int result)
{
	const struct gpumon_probe_fact *fact = &text->facts[text->step];
	const struct gpumon_probe_map *ring = &text->program->maps[text->map];
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

/* Where the text is, for struct gpumon_probe_print: map and offset. */
static uint32_t text_reference(struct text *text, const struct gpumon_probe_operand *operand)
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
	const struct gpumon_probe_step *step = &text->program->steps[text->step];
	const struct gpumon_probe_fact *fact = &text->facts[text->step];
	struct text_words record = { .n = 4, .size = sizeof(struct gpumon_probe_print) };
	uint32_t address = text_table(text, 0), there = text_predicate(text), i;
	uint32_t skip = text_new_label(text);
	bool takes = step->imm == BPF_FUNC_trace_printk;

	text_emit(text, "ld.global.u64 $d, [$d+$u]", address, address,
		  (uint32_t)offsetof(struct gpumon_probe_control, print));
	text_emit(text, "setp.ne.u64 $p, $d, 0", there, address);
	record.reg[0] = text_reference(text, &fact->arguments[0]);
	for (i = 0; i < 3; i++) {
		record.reg[i + 1] = text_wide(text);
		/* Not an address, and not what was never set. */
		if (takes && fact->arguments[2 + i].kind == GPUMON_PROBE_NUMBER)
			text_emit(text, "mov.b64 $d, $d", record.reg[i + 1], 3 + i);
		else
			text_emit(text, "mov.b64 $d, 0", record.reg[i + 1]);
	}
	text_emit(text, "mov.b64 $d, $i", 0, -TEXT_ENOSPC);
	text_emit(text, "@!$p bra $l", there, skip);
	append_record(text, &gpumon_probe_print_map, address, &record, -TEXT_ENOSPC);
	text_label(text, skip);
}
