// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "gpuprog/object/opcode.h"
#include "memory.h"
#include "stack.h"

/* "@%gp3 " or nothing. */
static const char *guard_text(char *text, size_t size, int guard)
{
	text[0] = '\0';
	if (guard >= 0)
		snprintf(text, size, "@%%gp%d ", guard);
	return text;
}

uint32_t text_map_address(struct text *text, uint32_t map)
{
	return text_table(text, GPUMON_PROBE_TABLE_ENTRY(map));
}

struct text_place text_place_global(uint32_t reg, int32_t displacement)
{
	struct text_place place = {
		.space = ".global",
		.align = 8,
		.displacement = displacement,
		.guard = -1,
	};

	snprintf(place.address, sizeof(place.address), "%%gd%" PRIu32, reg);
	return place;
}

/* A predicate that @distance from the memory's start is inside of a map's values. */
static int check_map(struct text *text, const struct gpumon_probe_map *map, uint32_t distance,
		     uint32_t size)
{
	struct gpumon_probe_hash hash;
	uint32_t inside = text_predicate(text), in_slot, rest;
	uint64_t bytes = map->kind == GPUMON_PROBE_MAP_DATA ?
				 map->value_size :
				 gpumon_probe_map_bytes(map, text->target->shards);

	text_emit(text, "setp.le.u64 $p, $d, $x", inside, distance, bytes - size);
	if (map->kind != GPUMON_PROBE_MAP_HASH)
		return inside;
	hash = gpumon_probe_hash_layout(map);
	in_slot = text_predicate(text);
	rest = text_wide(text);
	text_emit(text, "rem.u64 $d, $d, $u", rest, distance, hash.slot_bytes);
	text_emit(text, "sub.s64 $d, $d, $u", rest, rest, hash.value);
	text_emit(text, "setp.le.u64 $p, $d, $u", in_slot, rest, map->value_size - size);
	text_emit(text, "and.pred $p, $p, $p", inside, inside, in_slot);
	return inside;
}

/* Check the address at run time, and count it if it is outside. Return: the predicate. */
static int check_address(struct text *text, const struct gpumon_probe_operand *operand,
			 uint32_t reg, int32_t displacement, uint32_t size)
{
	const struct gpumon_probe_map *map = &text->program->maps[operand->map];
	uint32_t distance = text_wide(text), outside = text_predicate(text), bytes;
	int inside;

	if (operand->kind == GPUMON_PROBE_VALUE) {
		if (map->value_size < size)
			text_refuse(text,
				    "a value of map %s has fewer than %u bytes: make it larger",
				    map->name, size);
		text_emit(text, "sub.s64 $d, $d, $d", distance, reg,
			  text_map_address(text, operand->map));
	} else {
		text_emit(text, "mov.u64 $d, gframe$u", distance, operand->depth);
		text_emit(text, "sub.s64 $d, $d, $d", distance, reg, distance);
	}
	if (displacement)
		text_emit(text, "add.s64 $d, $d, $i", distance, distance, displacement);
	if (operand->kind == GPUMON_PROBE_VALUE) {
		inside = check_map(text, map, distance, size);
	} else {
		bytes = text_stack_memory_bytes(text, operand->depth);
		inside = text_predicate(text);
		text_emit(text, "setp.le.u64 $p, $d, $u", inside, distance, bytes - size);
	}
	text_emit(text, "not.pred $p, $p", outside, inside);
	text_lose(text, GPUMON_PROBE_LOST_OUTSIDE, outside);
	return inside;
}

struct text_place text_place_open(struct text *text, const struct gpumon_probe_operand *operand,
				  uint32_t reg, int32_t displacement, uint32_t size)
{
	struct text_place place = text_place_global(reg, displacement);

	place.align = operand->align ? operand->align : 1;
	place.depth = operand->depth;
	place.offset = operand->offset;
	if (operand->kind == GPUMON_PROBE_STACK) {
		place.space = ".local";
		if (operand->constant) {
			if (!text_stack_in_memory(text, operand->depth, operand->offset)) {
				place.space = NULL;
				return place;
			}
			snprintf(place.address, sizeof(place.address), "gframe%u", operand->depth);
			place.displacement =
				operand->offset - text_stack_memory_low(text, operand->depth);
		}
	} else if (operand->kind != GPUMON_PROBE_VALUE) {
		text_refuse(text, "the address is neither of the stack nor of a map's value");
	}
	if (operand->check)
		place.guard = check_address(text, operand, reg, displacement, size);
	return place;
}

/* What can be accessed at once there. */
static uint32_t piece_size(const struct text_place *place, uint32_t offset, uint32_t size)
{
	uint32_t piece = place->align;

	while (offset % piece || piece > size)
		piece /= 2;
	return piece;
}

static uint32_t load_piece(struct text *text, const struct text_place *place, uint32_t offset,
			   uint32_t size)
{
	uint32_t result = text_wide(text);
	char guard[16];

	if (place->guard >= 0)
		text_emit(text, "mov.b64 $d, 0", result);
	text_emit(text, "$sld$s.u$u $d, [$s+$i]", guard_text(guard, sizeof(guard), place->guard),
		  place->space, 8 * size, result, place->address,
		  place->displacement + (int32_t)offset);
	return result;
}

uint32_t text_place_load(struct text *text, const struct text_place *place, uint32_t offset,
			 uint32_t size)
{
	uint32_t result = 0, piece, done = 0, loaded;

	if (!place->space)
		return text_stack_load(text, place->depth, place->offset + (int32_t)offset, size);
	while (done < size) {
		piece = piece_size(place, offset + done, size - done);
		loaded = load_piece(text, place, offset + done, piece);
		if (done) {
			text_emit(text, "shl.b64 $d, $d, $u", loaded, loaded, 8 * done);
			text_emit(text, "or.b64 $d, $d, $d", result, result, loaded);
		} else {
			result = loaded;
		}
		done += piece;
	}
	return result;
}

void text_place_store(struct text *text, const struct text_place *place, uint32_t offset,
		      uint32_t size, uint32_t value)
{
	uint32_t done = 0, piece, rest = value;
	char guard[16];

	if (!place->space) {
		text_stack_store(text, place->depth, place->offset + (int32_t)offset, size, value);
		return;
	}
	while (done < size) {
		piece = piece_size(place, offset + done, size - done);
		if (done) {
			rest = text_wide(text);
			text_emit(text, "shr.u64 $d, $d, $u", rest, value, 8 * done);
		}
		text_emit(text, "$sst$s.u$u [$s+$i], $d",
			  guard_text(guard, sizeof(guard), place->guard), place->space, 8 * piece,
			  place->address, place->displacement + (int32_t)(offset + done), rest);
		done += piece;
	}
}

static void load_context(struct text *text, const struct gpumon_probe_step *step,
			 const struct gpumon_probe_operand *operand, uint32_t size)
{
	static const struct {
		const char *name;
		uint32_t offset, size;
	} fields[] = {
		{ "address", offsetof(struct gpumon_probe_context, address), 8 },
		{ "line", offsetof(struct gpumon_probe_context, line), 8 },
		{ "size", offsetof(struct gpumon_probe_context, size), 4 },
		{ "flags", offsetof(struct gpumon_probe_context, flags), 4 },
	};
	uint32_t dst = text_register(step, step->dst), offset = operand->offset, i;

	for (i = 0; i < 4; i++) {
		if (offset < fields[i].offset || offset + size > fields[i].offset + fields[i].size)
			continue;
		offset -= fields[i].offset;
		text_emit(text,
			  fields[i].size == 8 ? "mov.b64 $d, %gpumon_$s" :
						"cvt.u64.u32 $d, %gpumon_$s",
			  dst, fields[i].name);
		if (offset)
			text_emit(text, "shr.u64 $d, $d, $u", dst, dst, 8 * offset);
		if (offset + size < fields[i].size)
			text_emit(text, "and.b64 $d, $d, $x", dst, dst,
				  (UINT64_C(1) << 8 * size) - 1);
		return;
	}
	text_refuse(text, "the context has no field at bytes %u to %u", offset, offset + size - 1);
}

static void load(struct text *text, const struct gpumon_probe_step *step,
		 const struct gpumon_probe_operand *operand)
{
	uint32_t size = gpumon_probe_access_size(step->code), loaded;
	uint32_t dst = text_register(step, step->dst);
	struct text_place place;

	if (operand->kind == GPUMON_PROBE_CONTEXT) {
		load_context(text, step, operand, size);
		loaded = dst;
	} else {
		place = text_place_open(text, operand, text_register(step, step->src), step->off,
					size);
		loaded = text_place_load(text, &place, 0, size);
	}
	if (BPF_MODE(step->code) == BPF_MEMSX)
		text_emit(text, "cvt.s64.s$u $d, $d", 8 * size, dst, loaded);
	else if (loaded != dst)
		text_emit(text, "mov.b64 $d, $d", dst, loaded);
}

static void store(struct text *text, const struct gpumon_probe_step *step,
		  const struct gpumon_probe_operand *operand)
{
	struct text_place place = text_place_open(text, operand, text_register(step, step->dst),
						  step->off, gpumon_probe_access_size(step->code));
	uint32_t value;

	if (BPF_CLASS(step->code) == BPF_STX) {
		value = text_register(step, step->src);
	} else {
		value = text_wide(text);
		text_emit(text, "mov.b64 $d, $i", value, step->imm);
	}
	text_place_store(text, &place, 0, gpumon_probe_access_size(step->code), value);
}

/* The operation's name and type, or NULL. */
static const char *atomic_name(int32_t operation, bool wide)
{
	switch (operation & ~BPF_FETCH) {
	case BPF_ADD:
		return wide ? "add.u64" : "add.u32";
	case BPF_AND:
		return wide ? "and.b64" : "and.b32";
	case BPF_OR:
		return wide ? "or.b64" : "or.b32";
	case BPF_XOR:
		return wide ? "xor.b64" : "xor.b32";
	case BPF_XCHG & ~BPF_FETCH:
		return wide ? "exch.b64" : "exch.b32";
	case BPF_CMPXCHG & ~BPF_FETCH:
		return wide ? "cas.b64" : "cas.b32";
	default:
		return NULL;
	}
}

/* A program's register in the width of the operation. */
static uint32_t atomic_value(struct text *text, uint32_t reg, bool wide)
{
	uint32_t word;

	if (wide)
		return reg;
	word = text_word(text);
	text_emit(text, "cvt.u32.u64 $w, $d", word, reg);
	return word;
}

static void atomic(struct text *text, const struct gpumon_probe_step *step,
		   const struct gpumon_probe_operand *operand)
{
	bool wide = BPF_SIZE(step->code) == BPF_DW, compare = step->imm == BPF_CMPXCHG;
	const char *name = atomic_name(step->imm, wide);
	uint32_t src = text_register(step, step->src), value, old, dst = compare ? 0 : src;
	struct text_place place;
	char guard[16];

	if (!name || operand->kind != GPUMON_PROBE_VALUE) {
		text_refuse(text, "%s: use a map's value",
			    name ? "an atomic operation on the stack" :
				   "an atomic operation that is not known");
		return;
	}
	place = text_place_open(text, operand, text_register(step, step->dst), step->off,
				gpumon_probe_access_size(step->code));
	guard_text(guard, sizeof(guard), place.guard);
	value = atomic_value(text, src, wide);
	if (!(step->imm & BPF_FETCH)) {
		text_emit(text,
			  wide ? "$sred.global.$s [$s+$i], $d" : "$sred.global.$s [$s+$i], $w",
			  guard, name, place.address, place.displacement, value);
		return;
	}
	old = wide ? text_wide(text) : text_word(text);
	if (place.guard >= 0)
		text_emit(text, wide ? "mov.b64 $d, 0" : "mov.b32 $w, 0", old);
	if (compare)
		text_emit(text,
			  wide ? "$satom.global.$s $d, [$s+$i], $d, $d" :
				 "$satom.global.$s $w, [$s+$i], $w, $w",
			  guard, name, old, place.address, place.displacement,
			  atomic_value(text, 0, wide), value);
	else
		text_emit(text,
			  wide ? "$satom.global.$s $d, [$s+$i], $d" :
				 "$satom.global.$s $w, [$s+$i], $w",
			  guard, name, old, place.address, place.displacement, value);
	text_emit(text, wide ? "mov.b64 $d, $d" : "cvt.u64.u32 $d, $w", dst, old);
}

void text_memory(struct text *text, const struct gpumon_probe_step *step)
{
	const struct gpumon_probe_operand *operand = &text->facts[text->step].address;

	if (BPF_CLASS(step->code) == BPF_LDX)
		load(text, step, operand);
	else if (BPF_CLASS(step->code) == BPF_STX && BPF_MODE(step->code) == BPF_ATOMIC)
		atomic(text, step, operand);
	else
		store(text, step, operand);
}
