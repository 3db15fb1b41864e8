// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "gpuprog/object/instruction.h"
#include "memory.h"

#define STACK	      GPUMON_GPUPROG_MAX_STACK
#define PLACE(offset) ((offset) + STACK) /* 0 is the frame's lowest byte */

/* How the bytes of a frame are used. */
struct usage {
	bool used[STACK];
	bool memory[STACK];
	bool cut[STACK + 1]; /* a cell begins here */
};

/* Passes over the accesses of the stack. */
enum pass {
	PASS_MEMORY, /* which bytes are memory */
	PASS_CELLS,  /* where cells begin */
};

/* Bytes that a helper reads or writes through this argument. */
static uint32_t argument_size(const struct text *text, uint32_t step, unsigned int argument)
{
	const struct gpumon_gpuprog_helper *helper =
		gpumon_gpuprog_helper_find(text->program->steps[step].imm);
	const struct gpumon_gpuprog_fact *fact = &text->facts[step];
	const struct gpumon_gpuprog_map *map = NULL;
	unsigned int i;

	for (i = 0; i < 5; i++)
		if (helper->arguments[i] == GPUMON_GPUPROG_ARG_MAP)
			map = &text->program->maps[fact->arguments[i].map];
	switch (helper->arguments[argument]) {
	case GPUMON_GPUPROG_ARG_KEY:
		return map->key_size;
	case GPUMON_GPUPROG_ARG_VALUE:
		return map->value_size;
	case GPUMON_GPUPROG_ARG_MEMORY:
		return fact->arguments[argument + 1].value;
	case GPUMON_GPUPROG_ARG_OUT_U64:
		return 8;
	default:
		return 0;
	}
}

/* Return: whether more bytes have become memory. */
static bool add_memory(struct usage *usage, int32_t first, int32_t end)
{
	bool more = false;

	for (; first < end; first++) {
		more |= !usage->memory[first];
		usage->memory[first] = true;
	}
	return more;
}

static bool note_access(struct usage *usages, const struct gpumon_gpuprog_operand *operand,
			uint32_t size, enum pass pass)
{
	struct usage *usage = &usages[operand->depth];
	int32_t first = PLACE(operand->offset), end = first + (int32_t)size, i;
	bool whole = false;

	if (operand->kind != GPUMON_GPUPROG_STACK || !size)
		return false;
	if (!operand->constant) {
		if (!operand->last)
			return add_memory(usage, 0, STACK);
		end = PLACE(operand->last) + (int32_t)size;
	}
	first = first < 0 ? 0 : first;
	end = end > STACK ? STACK : end;
	for (i = first; i < end; i++)
		whole |= usage->memory[i];
	if (pass == PASS_MEMORY)
		return (whole || !operand->constant) && add_memory(usage, first, end);
	if (!whole) {
		usage->cut[first] = usage->cut[end] = true;
		memset(usage->used + first, 1, end - first);
	}
	return false;
}

static bool note_step(const struct text *text, struct usage *usages, uint32_t step, enum pass pass)
{
	const struct gpumon_gpuprog_fact *fact = &text->facts[step];
	const struct gpumon_gpuprog_step *code = &text->program->steps[step];
	unsigned int i;
	bool more = false;

	if (!fact->reached)
		return false;
	switch (BPF_CLASS(code->code)) {
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return note_access(usages, &fact->address, gpumon_gpuprog_access_size(code->code),
				   pass);
	case BPF_JMP:
		if (BPF_OP(code->code) != BPF_CALL || !gpumon_gpuprog_helper_find(code->imm))
			return false;
		for (i = 0; i < 5; i++)
			more |= note_access(usages, &fact->arguments[i],
					    argument_size(text, step, i), pass);
		return more;
	default:
		return false;
	}
}

/* The memory of a frame is one piece. */
static bool close_memory(struct usage *usage, struct text_frame *frame)
{
	int32_t first = 0, end = STACK;

	while (first < STACK && !usage->memory[first])
		first++;
	while (end > first && !usage->memory[end - 1])
		end--;
	frame->low = first - STACK;
	frame->high = end - STACK;
	return first < end && add_memory(usage, first, end);
}

static void cut_cells(struct text *text, const struct usage *usage, struct text_frame *frame)
{
	struct text_cell *cell = NULL;
	int32_t i;

	frame->cells = gpumon_calloc(STACK, sizeof(*frame->cells));
	for (i = 0; i < STACK; i++) {
		if (!usage->used[i] || usage->memory[i]) {
			cell = NULL;
			continue;
		}
		if (!cell || usage->cut[i] || i % 8 == 0) {
			cell = &frame->cells[frame->cells_n++];
			cell->offset = i - STACK;
		}
		cell->size++;
	}
	for (cell = frame->cells; cell < frame->cells + frame->cells_n; cell++)
		cell->reg = cell->size > 4 ? text_wide(text) : text_word(text);
}

void text_stack_plan(struct text *text)
{
	struct usage *usages = gpumon_calloc(GPUMON_GPUPROG_MAX_DEPTH, sizeof(*usages));
	bool more = true;
	uint32_t i;

	while (more) {
		more = false;
		for (i = 0; i < text->program->steps_n; i++)
			more |= note_step(text, usages, i, PASS_MEMORY);
		for (i = 0; i < GPUMON_GPUPROG_MAX_DEPTH; i++)
			more |= close_memory(&usages[i], &text->frames[i]);
	}
	for (i = 0; i < text->program->steps_n; i++)
		note_step(text, usages, i, PASS_CELLS);
	for (i = 0; i < GPUMON_GPUPROG_MAX_DEPTH; i++)
		cut_cells(text, &usages[i], &text->frames[i]);
	free(usages);
}

void text_stack_clear(struct text *text)
{
	uint32_t i;

	for (i = 0; i < GPUMON_GPUPROG_MAX_DEPTH; i++)
		free(text->frames[i].cells);
}

/* Whether this offset of a frame is in memory. */
static bool text_stack_in_memory(const struct text *text, uint8_t depth, int32_t offset)
{
	const struct text_frame *frame = &text->frames[depth];

	return offset >= frame->low && offset < frame->high;
}

/* First offset of the frame's memory, a multiple of 8. */
static int32_t text_stack_memory_low(const struct text *text, uint8_t depth)
{
	return text->frames[depth].low & ~7;
}

/* Bytes of the frame's memory. */
static uint32_t text_stack_memory_bytes(const struct text *text, uint8_t depth)
{
	const struct text_frame *frame = &text->frames[depth];

	return frame->low < frame->high ? frame->high - text_stack_memory_low(text, depth) : 0;
}

/* Whether any instruction of a frame names R10. */
static bool uses_frame(const struct text *text, uint32_t depth)
{
	const struct gpumon_gpuprog_step *step;
	uint32_t i;

	for (i = 0; i < text->program->steps_n; i++) {
		step = &text->program->steps[i];
		if (text->facts[i].reached && step->depth == depth &&
		    (step->src == 10 || step->dst == 10))
			return true;
	}
	return false;
}

void text_stack_begin(struct text *text, FILE *declarations)
{
	uint32_t depth, bytes, reg;

	for (depth = 0; depth < GPUMON_GPUPROG_MAX_DEPTH; depth++) {
		bytes = text_stack_memory_bytes(text, depth);
		if (!bytes && !uses_frame(text, depth))
			continue;
		reg = 10 + depth * TEXT_FRAME_REGS;
		if (!bytes) {
			/* Never an address, but a number by which pointers differ. */
			fprintf(declarations, "\tmov.b64 %%gd%" PRIu32 ", %" PRIu32 ";\n", reg,
				(depth + 1) * 2 * STACK);
			continue;
		}
		fprintf(declarations, "\t.local .align 8 .b8 gframe%" PRIu32 "[%" PRIu32 "];\n",
			depth, bytes);
		fprintf(declarations, "\tmov.u64 %%gd%" PRIu32 ", gframe%" PRIu32 ";\n", reg,
			depth);
		fprintf(declarations, "\tadd.s64 %%gd%" PRIu32 ", %%gd%" PRIu32 ", %" PRId32 ";\n",
			reg, reg, -text_stack_memory_low(text, depth));
	}
}

/* A cell as a new %gd. */
static uint32_t take_cell(struct text *text, const struct text_cell *cell)
{
	uint32_t wide = text_wide(text);

	text_emit(text, cell->size > 4 ? "mov.b64 $d, $d" : "cvt.u64.u32 $d, $w", wide, cell->reg);
	return wide;
}

/* Load up to 8 bytes from cells as a new %gd. */
static uint32_t text_stack_load(struct text *text, uint8_t depth, int32_t offset, uint32_t size)
{
	const struct text_frame *frame = &text->frames[depth];
	int32_t end = offset + (int32_t)size, first, last;
	uint32_t result = 0, piece, i;
	bool any = false;

	for (i = 0; i < frame->cells_n; i++) {
		const struct text_cell *cell = &frame->cells[i];
		int32_t cell_end = cell->offset + cell->size;

		first = cell->offset > offset ? cell->offset : offset;
		last = cell_end < end ? cell_end : end;
		if (first >= last)
			continue;
		piece = take_cell(text, cell);
		if (first > cell->offset)
			text_emit(text, "shr.u64 $d, $d, $i", piece, piece,
				  8 * (first - cell->offset));
		if (last < cell_end)
			text_emit(text, "and.b64 $d, $d, $x", piece, piece,
				  (UINT64_C(1) << 8 * (last - first)) - 1);
		if (first > offset)
			text_emit(text, "shl.b64 $d, $d, $i", piece, piece, 8 * (first - offset));
		if (any)
			text_emit(text, "or.b64 $d, $d, $d", result, result, piece);
		else
			result = piece;
		any = true;
	}
	if (!any)
		text_refuse(text,
			    "offset %d of the stack has no register: this is a mistake in gpumon",
			    offset);
	return result;
}

/* Store up to 8 bytes of a %gd. */
static void text_stack_store(struct text *text, uint8_t depth, int32_t offset, uint32_t size,
			     uint32_t value)
{
	const struct text_frame *frame = &text->frames[depth];
	uint32_t piece, i;

	for (i = 0; i < frame->cells_n; i++) {
		const struct text_cell *cell = &frame->cells[i];

		if (cell->offset < offset || cell->offset >= offset + (int32_t)size)
			continue;
		piece = value;
		if (cell->offset > offset) {
			piece = text_wide(text);
			text_emit(text, "shr.u64 $d, $d, $i", piece, value,
				  8 * (cell->offset - offset));
		}
		if (cell->size == 8)
			text_emit(text, "mov.b64 $d, $d", cell->reg, piece);
		else if (cell->size > 4)
			text_emit(text, "and.b64 $d, $d, $x", cell->reg, piece,
				  (UINT64_C(1) << 8 * cell->size) - 1);
		else
			text_emit(text, "cvt.u32.u64 $w, $d", cell->reg, piece);
		if (cell->size < 4)
			text_emit(text, "and.b32 $w, $w, $i", cell->reg, cell->reg,
				  (1 << 8 * cell->size) - 1);
	}
}

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
	return text_table(text, GPUMON_GPUPROG_TABLE_ENTRY(map));
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
static int check_map(struct text *text, const struct gpumon_gpuprog_map *map, uint32_t distance,
		     uint32_t size)
{
	struct gpumon_gpuprog_hash hash;
	uint32_t inside = text_predicate(text), in_slot, rest;
	uint64_t bytes = map->kind == GPUMON_GPUPROG_MAP_DATA ?
				 map->value_size :
				 gpumon_gpuprog_map_bytes(map, text->target->shards);

	text_emit(text, "setp.le.u64 $p, $d, $x", inside, distance, bytes - size);
	if (map->kind != GPUMON_GPUPROG_MAP_HASH)
		return inside;
	hash = gpumon_gpuprog_hash_layout(map);
	in_slot = text_predicate(text);
	rest = text_wide(text);
	text_emit(text, "rem.u64 $d, $d, $u", rest, distance, hash.slot_bytes);
	text_emit(text, "sub.s64 $d, $d, $u", rest, rest, hash.value);
	text_emit(text, "setp.le.u64 $p, $d, $u", in_slot, rest, map->value_size - size);
	text_emit(text, "and.pred $p, $p, $p", inside, inside, in_slot);
	return inside;
}

/* Check the address at run time, and count it if it is outside. Return: the predicate. */
static int check_address(struct text *text, const struct gpumon_gpuprog_operand *operand,
			 uint32_t reg, int32_t displacement, uint32_t size)
{
	const struct gpumon_gpuprog_map *map = &text->program->maps[operand->map];
	uint32_t distance = text_wide(text), outside = text_predicate(text), bytes;
	int inside;

	if (operand->kind == GPUMON_GPUPROG_VALUE) {
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
	if (operand->kind == GPUMON_GPUPROG_VALUE) {
		inside = check_map(text, map, distance, size);
	} else {
		bytes = text_stack_memory_bytes(text, operand->depth);
		inside = text_predicate(text);
		text_emit(text, "setp.le.u64 $p, $d, $u", inside, distance, bytes - size);
	}
	text_emit(text, "not.pred $p, $p", outside, inside);
	text_lose(text, GPUMON_GPUPROG_LOST_OUTSIDE, outside);
	return inside;
}

struct text_place text_place_open(struct text *text, const struct gpumon_gpuprog_operand *operand,
				  uint32_t reg, int32_t displacement, uint32_t size)
{
	struct text_place place = text_place_global(reg, displacement);

	place.align = operand->align ? operand->align : 1;
	place.depth = operand->depth;
	place.offset = operand->offset;
	if (operand->kind == GPUMON_GPUPROG_STACK) {
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
	} else if (operand->kind != GPUMON_GPUPROG_VALUE) {
		text_refuse(text, "the address is neither of the stack nor of a map's value");
	}
	if (operand->check)
		place.guard = check_address(text, operand, reg, displacement, size);
	return place;
}

/* Bytes that one instruction can access there. */
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

static void load_context(struct text *text, const struct gpumon_gpuprog_step *step,
			 const struct gpumon_gpuprog_operand *operand, uint32_t size)
{
	static const struct {
		const char *name;
		uint32_t offset, size;
	} fields[] = {
		{ "address", offsetof(struct gpumon_gpuprog_context, address), 8 },
		{ "line", offsetof(struct gpumon_gpuprog_context, line), 8 },
		{ "size", offsetof(struct gpumon_gpuprog_context, size), 4 },
		{ "flags", offsetof(struct gpumon_gpuprog_context, flags), 4 },
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

static void load(struct text *text, const struct gpumon_gpuprog_step *step,
		 const struct gpumon_gpuprog_operand *operand)
{
	uint32_t size = gpumon_gpuprog_access_size(step->code), loaded;
	uint32_t dst = text_register(step, step->dst);
	struct text_place place;

	if (operand->kind == GPUMON_GPUPROG_CONTEXT) {
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

static void store(struct text *text, const struct gpumon_gpuprog_step *step,
		  const struct gpumon_gpuprog_operand *operand)
{
	struct text_place place = text_place_open(text, operand, text_register(step, step->dst),
						  step->off,
						  gpumon_gpuprog_access_size(step->code));
	uint32_t value;

	if (BPF_CLASS(step->code) == BPF_STX) {
		value = text_register(step, step->src);
	} else {
		value = text_wide(text);
		text_emit(text, "mov.b64 $d, $i", value, step->imm);
	}
	text_place_store(text, &place, 0, gpumon_gpuprog_access_size(step->code), value);
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

static void atomic(struct text *text, const struct gpumon_gpuprog_step *step,
		   const struct gpumon_gpuprog_operand *operand)
{
	bool wide = BPF_SIZE(step->code) == BPF_DW, compare = step->imm == BPF_CMPXCHG;
	const char *name = atomic_name(step->imm, wide);
	uint32_t src = text_register(step, step->src), value, old, dst = compare ? 0 : src;
	struct text_place place;
	char guard[16];

	if (!name || operand->kind != GPUMON_GPUPROG_VALUE) {
		text_refuse(text, "%s: use a map's value",
			    name ? "an atomic operation on the stack" :
				   "an atomic operation that is not known");
		return;
	}
	place = text_place_open(text, operand, text_register(step, step->dst), step->off,
				gpumon_gpuprog_access_size(step->code));
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

void text_memory(struct text *text, const struct gpumon_gpuprog_step *step)
{
	const struct gpumon_gpuprog_operand *operand = &text->facts[text->step].address;

	if (BPF_CLASS(step->code) == BPF_LDX)
		load(text, step, operand);
	else if (BPF_CLASS(step->code) == BPF_STX && BPF_MODE(step->code) == BPF_ATOMIC)
		atomic(text, step, operand);
	else
		store(text, step, operand);
}
