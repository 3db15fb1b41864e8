// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "state.h"

struct gpumon_cell gpumon_cell_nothing(enum gpumon_cell_why why)
{
	return (struct gpumon_cell){ .kind = GPUMON_PROBE_NOTHING, .why = (uint8_t)why };
}

struct gpumon_cell gpumon_cell_number(struct gpumon_number number)
{
	return (struct gpumon_cell){ .kind = GPUMON_PROBE_NUMBER, .number = number };
}

struct gpumon_cell gpumon_cell_any_number(void)
{
	return gpumon_cell_number(gpumon_number_any());
}

bool gpumon_cell_is_address(const struct gpumon_cell *cell)
{
	return cell->kind != GPUMON_PROBE_NOTHING && cell->kind != GPUMON_PROBE_NUMBER;
}

uint32_t gpumon_cell_map(const struct gpumon_cell *cell)
{
	return cell->maps ? (uint32_t)__builtin_ctzll(cell->maps) : 0;
}

bool gpumon_cell_has_maps(const struct gpumon_cell *cell)
{
	return cell->maps & (cell->maps - 1);
}
/* Is it a number of which nothing is known? */
static bool cell_is_any(const struct gpumon_cell *cell)
{
	struct gpumon_number any = gpumon_number_any();

	return cell->kind == GPUMON_PROBE_NUMBER && !memcmp(&cell->number, &any, sizeof(any));
}

bool gpumon_cell_is_constant(const struct gpumon_cell *cell, uint64_t value)
{
	return cell->kind == GPUMON_PROBE_NUMBER && gpumon_number_is_constant(&cell->number) &&
	       cell->number.bits == value;
}

static struct gpumon_cell join_kinds(const struct gpumon_cell *a, const struct gpumon_cell *b)
{
	struct gpumon_cell joined;

	if (a->kind == GPUMON_PROBE_VALUE && gpumon_cell_is_constant(b, 0))
		joined = *a;
	else if (b->kind == GPUMON_PROBE_VALUE && gpumon_cell_is_constant(a, 0))
		joined = *b;
	else if (a->kind == GPUMON_PROBE_NOTHING)
		return gpumon_cell_nothing(a->why);
	else
		return gpumon_cell_nothing(b->kind == GPUMON_PROBE_NOTHING ? b->why :
									     GPUMON_CELL_MIXED);
	joined.maybe_null = true;
	joined.id = 0;
	return joined;
}
/* What is known where both are possible. @id is left to the caller: 0. */
static struct gpumon_cell cell_join(const struct gpumon_cell *a, const struct gpumon_cell *b,
				    const struct gpumon_widening *widening)
{
	struct gpumon_cell joined = *a;

	if (a->kind != b->kind)
		return join_kinds(a, b);
	joined.id = 0;
	if (a->kind == GPUMON_PROBE_NOTHING)
		return joined;
	if (a->depth != b->depth)
		return gpumon_cell_nothing(GPUMON_CELL_MIXED);
	joined.maps |= b->maps;
	joined.maybe_null = a->maybe_null || b->maybe_null;
	joined.number = gpumon_number_join(&a->number, &b->number);
	if (widening->on)
		joined.number = gpumon_number_widen(&a->number, &joined.number, widening->marks);
	return joined;
}
/* Is the same known? Reasons do not count. */
static bool cell_equal(const struct gpumon_cell *a, const struct gpumon_cell *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == GPUMON_PROBE_NOTHING ||
	       (a->depth == b->depth && a->maybe_null == b->maybe_null && a->maps == b->maps &&
		a->id == b->id && !memcmp(&a->number, &b->number, sizeof(a->number)));
}

/* Whether a byte is among those of @set or @known of a frame. */
static bool is_in(const uint64_t *bytes, unsigned int byte)
{
	return bytes[byte / 64] >> byte % 64 & 1;
}

static bool is_tracked(const struct gpumon_frame *frame, unsigned int byte)
{
	return frame->has.tracked >> byte / 8 & 1;
}

static unsigned int place_end(const struct gpumon_place *place)
{
	return place->last + place->size;
}

enum gpumon_stack_content gpumon_stack_content(const struct gpumon_frame *frame,
					       const struct gpumon_place *place)
{
	enum gpumon_stack_content content = GPUMON_STACK_NUMBERS;

	for (unsigned int byte = place->first; byte < place_end(place); byte++) {
		if (is_in(frame->has.set, byte))
			continue;
		if (!is_tracked(frame, byte))
			return GPUMON_STACK_UNSET;
		content = GPUMON_STACK_ADDRESS;
	}
	return content;
}

struct gpumon_cell *gpumon_stack_slot(struct gpumon_frame *frame, const struct gpumon_place *place)
{
	if (place->first != place->last || place->size != 8 || place->first % 8 ||
	    !is_tracked(frame, place->first))
		return NULL;
	return &frame->slots[place->first / 8];
}

void gpumon_stack_forget(struct gpumon_frame *frame, const struct gpumon_place *place)
{
	for (unsigned int byte = place->first; byte < place_end(place); byte++) {
		frame->has.tracked &= ~(1ull << byte / 8);
		frame->has.known[byte / 64] &= ~(1ull << byte % 64);
	}
}

static void write_bytes(struct gpumon_frame *frame, const struct gpumon_place *place,
			uint64_t number)
{
	for (unsigned int i = 0; i < place->size; i++, number >>= 8) {
		unsigned int byte = place->first + i;

		frame->has.known[byte / 64] |= 1ull << byte % 64;
		frame->bytes[byte] = (uint8_t)number;
	}
}

void gpumon_stack_write(struct gpumon_frame *frame, const struct gpumon_place *place,
			const struct gpumon_cell *cell)
{
	bool address = gpumon_cell_is_address(cell);

	gpumon_stack_forget(frame, place);
	for (unsigned int byte = place->first; byte < place_end(place); byte++) {
		if (address)
			frame->has.set[byte / 64] &= ~(1ull << byte % 64);
		else
			frame->has.set[byte / 64] |= 1ull << byte % 64;
	}
	if (place->size == 8 && place->first % 8 == 0 && (cell->id || !cell_is_any(cell))) {
		frame->has.tracked |= 1ull << place->first / 8;
		frame->slots[place->first / 8] = *cell;
	}
	if (cell->kind == GPUMON_PROBE_NUMBER && gpumon_number_is_constant(&cell->number))
		write_bytes(frame, place, cell->number.bits);
}

unsigned int gpumon_stack_known(const struct gpumon_frame *frame, unsigned int first)
{
	unsigned int end = first;

	while (end < GPUMON_PROBE_MAX_STACK && is_in(frame->has.known, end))
		end++;
	return end - first;
}
/**
 * state_next - go through all cells that have something
 * @state: state
 * @cursor: 0 at first, then the number of the cell + 1, the same for the same register or slot
 *
 * Return: a cell, or NULL after the last.
 */
static struct gpumon_cell *state_next(struct gpumon_state *state, unsigned int *cursor)
{
	unsigned int at = *cursor;
	unsigned int registers = GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * state->frames_n;

	for (; at < registers; at++) {
		if (state->registers[at].kind != GPUMON_PROBE_NOTHING) {
			*cursor = at + 1;
			return &state->registers[at];
		}
	}
	if (at < GPUMON_STATE_REGISTERS)
		at = GPUMON_STATE_REGISTERS;
	at -= GPUMON_STATE_REGISTERS;
	while (at / GPUMON_STATE_SLOTS < state->frames_n) {
		struct gpumon_frame *frame = &state->frames[at / GPUMON_STATE_SLOTS];
		unsigned int slot = at % GPUMON_STATE_SLOTS;
		uint64_t left = frame->has.tracked >> slot;

		if (left) {
			slot += (unsigned int)__builtin_ctzll(left);
			at = at / GPUMON_STATE_SLOTS * GPUMON_STATE_SLOTS + slot;
			*cursor = GPUMON_STATE_REGISTERS + at + 1;
			return &frame->slots[slot];
		}
		at = (at / GPUMON_STATE_SLOTS + 1) * GPUMON_STATE_SLOTS;
	}
	return NULL;
}

void gpumon_state_begin(struct gpumon_state *state, const struct gpumon_probe_program *program)
{
	struct gpumon_cell *argument = &state->registers[1];

	state->frames_n = 1;
	for (uint32_t i = 0; i < program->steps_n; i++)
		if (state->frames_n < program->steps[i].depth + 1u)
			state->frames_n = program->steps[i].depth + 1u;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		state->registers[i] = gpumon_cell_nothing(GPUMON_CELL_UNSET);
	for (unsigned int i = 0; i < state->frames_n; i++)
		state->frames[i].has = (struct gpumon_frame_has){ 0 };
	*argument = gpumon_cell_number(gpumon_number_constant(0));
	if (gpumon_probe_has_context(program->point))
		argument->kind = GPUMON_PROBE_CONTEXT;
}

void gpumon_state_copy(struct gpumon_state *to, const struct gpumon_state *from)
{
	unsigned int registers = GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * from->frames_n;

	to->frames_n = from->frames_n;
	memcpy(to->registers, from->registers, registers * sizeof(to->registers[0]));
	for (unsigned int i = 0; i < from->frames_n; i++) {
		struct gpumon_frame *frame = &to->frames[i];

		frame->has = from->frames[i].has;
		memcpy(frame->bytes, from->frames[i].bytes, sizeof(frame->bytes));
		for (uint64_t left = frame->has.tracked; left; left &= left - 1) {
			int slot = __builtin_ctzll(left);

			frame->slots[slot] = from->frames[i].slots[slot];
		}
	}
}

struct gpumon_cell *gpumon_state_register(struct gpumon_state *state, unsigned int depth,
					  unsigned int number)
{
	if (number >= GPUMON_STATE_SHARED)
		number += GPUMON_STATE_KEPT * depth;
	return &state->registers[number];
}

static void clear_frame(struct gpumon_state *state, unsigned int depth)
{
	struct gpumon_cell *kept = gpumon_state_register(state, depth, GPUMON_STATE_SHARED);

	for (unsigned int i = 0; i < GPUMON_STATE_KEPT; i++)
		kept[i] = gpumon_cell_nothing(GPUMON_CELL_UNSET);
	state->frames[depth].has = (struct gpumon_frame_has){ 0 };
}

/* Nothing may point into the frames above @depth. */
static void drop_dead_addresses(struct gpumon_state *state, unsigned int depth)
{
	unsigned int cursor = 0;
	struct gpumon_cell *cell;

	while ((cell = state_next(state, &cursor))) {
		if (cell->kind == GPUMON_PROBE_STACK && cell->depth > depth)
			*cell = gpumon_cell_nothing(GPUMON_CELL_RETURNED);
	}
	for (unsigned int i = 0; i <= depth; i++) {
		struct gpumon_frame *frame = &state->frames[i];

		for (uint64_t left = frame->has.tracked; left; left &= left - 1) {
			int slot = __builtin_ctzll(left);

			if (frame->slots[slot].kind == GPUMON_PROBE_NOTHING)
				frame->has.tracked &= ~(1ull << slot);
		}
	}
}

void gpumon_state_change_depth(struct gpumon_state *state, unsigned int from, unsigned int to)
{
	unsigned int shared = from < to ? from : to;

	if (from == to)
		return;
	for (unsigned int depth = shared + 1; depth < state->frames_n; depth++)
		clear_frame(state, depth);
	if (from < to) {
		state->registers[0] = gpumon_cell_nothing(GPUMON_CELL_UNSET);
		return;
	}
	for (unsigned int i = 1; i < GPUMON_STATE_SHARED; i++)
		state->registers[i] = gpumon_cell_nothing(GPUMON_CELL_CALLED);
	drop_dead_addresses(state, to);
}

void gpumon_state_forget(struct gpumon_state *state, uint32_t id)
{
	unsigned int cursor = 0;
	struct gpumon_cell *cell;

	while ((cell = state_next(state, &cursor))) {
		if (cell->id == id)
			cell->id = 0;
	}
}

struct gpumon_cell gpumon_state_share(struct gpumon_state *state, struct gpumon_cell *cell,
				      uint32_t id)
{
	bool narrows = cell->maybe_null || (cell->kind == GPUMON_PROBE_NUMBER &&
					    !gpumon_number_is_constant(&cell->number));

	/* Of the others nothing more can be learnt. */
	if (narrows && !cell->id) {
		gpumon_state_forget(state, id);
		cell->id = id;
	}
	return *cell;
}

void gpumon_state_refine(struct gpumon_state *state, uint32_t id, const struct gpumon_cell *cell)
{
	unsigned int cursor = 0;
	struct gpumon_cell *same;

	while ((same = state_next(state, &cursor))) {
		if (same->id == id)
			*same = *cell;
	}
}

#define MAX_PAIRS 32

/*
 * Cells are equal after the join if they are on both paths: so each pair of ids gives one id. That of
 * the first cell with the pair is taken, so that joining the same again gives the same.
 */
struct pairs {
	unsigned int n;
	uint32_t ids; /* those of this step begin here */
	struct {
		uint32_t a, b, joined;
	} pairs[MAX_PAIRS];
};

static uint32_t join_ids(struct pairs *pairs, uint32_t a, uint32_t b, unsigned int cell)
{
	uint32_t joined = pairs->ids + cell;

	if (!a || !b)
		return 0;
	for (unsigned int i = 0; i < pairs->n; i++)
		if (pairs->pairs[i].a == a && pairs->pairs[i].b == b)
			return pairs->pairs[i].joined;
	if (pairs->n == MAX_PAIRS)
		return 0;
	/* An id of this step stands for another pair now. */
	if (a == b && a - pairs->ids >= GPUMON_STATE_CELLS)
		joined = a;
	pairs->pairs[pairs->n].a = a;
	pairs->pairs[pairs->n].b = b;
	pairs->pairs[pairs->n].joined = joined;
	pairs->n++;
	return joined;
}

static bool join_cells(struct gpumon_cell *cell, const struct gpumon_cell *other,
		       const struct gpumon_widening *widening, struct pairs *pairs,
		       unsigned int number)
{
	struct gpumon_cell joined = cell_join(cell, other, widening);
	bool changed;

	if (joined.kind == GPUMON_PROBE_NUMBER || joined.maybe_null)
		joined.id = join_ids(pairs, cell->id, other->id, number);
	changed = !cell_equal(cell, &joined);
	*cell = joined;
	return changed;
}

/* Bytes that are the same on both paths stay known. */
static bool join_known(struct gpumon_frame *frame, const struct gpumon_frame *other,
		       unsigned int word)
{
	uint64_t before = frame->has.known[word], both = before & other->has.known[word];

	for (uint64_t left = both; left; left &= left - 1) {
		unsigned int byte = word * 64 + (unsigned int)__builtin_ctzll(left);

		if (frame->bytes[byte] != other->bytes[byte])
			both &= ~(left & -left);
	}
	frame->has.known[word] = both;
	return both != before;
}

static bool join_frames(struct gpumon_frame *frame, const struct gpumon_frame *other,
			const struct gpumon_widening *widening, struct pairs *pairs,
			unsigned int number)
{
	uint64_t both = frame->has.tracked & other->has.tracked;
	bool changed = both != frame->has.tracked;

	frame->has.tracked = both;
	for (unsigned int i = 0; i < GPUMON_PROBE_MAX_STACK / 64; i++) {
		changed |= frame->has.set[i] & ~other->has.set[i];
		frame->has.set[i] &= other->has.set[i];
		changed |= join_known(frame, other, i);
	}
	for (uint64_t left = both; left; left &= left - 1) {
		unsigned int slot = (unsigned int)__builtin_ctzll(left);
		struct gpumon_cell *cell = &frame->slots[slot];

		changed |= join_cells(cell, &other->slots[slot], widening, pairs, number + slot);
		if (cell->kind == GPUMON_PROBE_NOTHING || (cell_is_any(cell) && !cell->id))
			frame->has.tracked &= ~(1ull << slot);
	}
	return changed;
}

bool gpumon_state_join(struct gpumon_state *state, struct gpumon_state *other,
		       const struct gpumon_widening *widening, uint32_t ids)
{
	struct pairs pairs = { .ids = ids };
	unsigned int registers = GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * state->frames_n;
	bool changed = false;

	for (unsigned int i = 0; i < registers; i++)
		if (state->registers[i].kind != GPUMON_PROBE_NOTHING)
			changed |= join_cells(&state->registers[i], &other->registers[i], widening,
					      &pairs, i);
	for (unsigned int i = 0; i < state->frames_n; i++)
		changed |= join_frames(&state->frames[i], &other->frames[i], widening, &pairs,
				       GPUMON_STATE_REGISTERS + i * GPUMON_STATE_SLOTS);
	return changed;
}

/**
 * struct gpumon_packed_state - a state
 * @frames_n: frames, which follow
 * @why: of the registers that have nothing; PRESENT: its cell follows, behind the frames
 *
 * After the cells of the registers come those of the frames, then the known bytes of the frames.
 */
struct gpumon_packed_state {
	unsigned int frames_n;
	uint8_t why[GPUMON_STATE_REGISTERS];
	struct gpumon_frame_has frames[];
};

#define PRESENT 0xff

static size_t count_known(const struct gpumon_state *state)
{
	size_t n = 0;

	for (unsigned int i = 0; i < state->frames_n; i++)
		for (unsigned int word = 0; word < GPUMON_PROBE_MAX_STACK / 64; word++)
			n += (size_t)__builtin_popcountll(state->frames[i].has.known[word]);
	return n;
}

/* Copy the known bytes of all frames to @packed, or back. */
static void copy_known(struct gpumon_state *state, uint8_t *packed, bool back)
{
	for (unsigned int i = 0; i < state->frames_n; i++) {
		struct gpumon_frame *frame = &state->frames[i];

		for (unsigned int word = 0; word < GPUMON_PROBE_MAX_STACK / 64; word++)
			for (uint64_t left = frame->has.known[word]; left; left &= left - 1) {
				uint8_t *byte = &frame->bytes[word * 64 +
							      (unsigned int)__builtin_ctzll(left)];

				if (back)
					*byte = *packed++;
				else
					*packed++ = *byte;
			}
	}
}

int gpumon_state_pack(struct gpumon_state *state, struct gpumon_packed_state **packed, size_t *size)
{
	struct gpumon_packed_state *to;
	struct gpumon_cell *cells;
	unsigned int cursor = 0;
	size_t n = 0, needed;

	while (state_next(state, &cursor))
		n++;
	needed = sizeof(*to) + state->frames_n * sizeof(to->frames[0]) + n * sizeof(*cells) +
		 count_known(state);
	to = realloc(*packed, needed);
	if (!to)
		return -1;
	*packed = to;
	*size = needed;
	to->frames_n = state->frames_n;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		to->why[i] = state->registers[i].kind == GPUMON_PROBE_NOTHING ?
				     state->registers[i].why :
				     PRESENT;
	for (unsigned int i = 0; i < state->frames_n; i++)
		to->frames[i] = state->frames[i].has;
	cells = (struct gpumon_cell *)&to->frames[state->frames_n];
	cursor = 0;
	for (size_t i = 0; i < n; i++)
		cells[i] = *state_next(state, &cursor);
	copy_known(state, (uint8_t *)&cells[n], false);
	return 0;
}

void gpumon_state_unpack(const struct gpumon_packed_state *packed, struct gpumon_state *state)
{
	const struct gpumon_cell *cell =
		(const struct gpumon_cell *)&packed->frames[packed->frames_n];

	state->frames_n = packed->frames_n;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		state->registers[i] =
			packed->why[i] == PRESENT ? *cell++ : gpumon_cell_nothing(packed->why[i]);
	for (unsigned int i = 0; i < packed->frames_n; i++) {
		struct gpumon_frame *frame = &state->frames[i];

		frame->has = packed->frames[i];
		for (uint64_t left = frame->has.tracked; left; left &= left - 1)
			frame->slots[__builtin_ctzll(left)] = *cell++;
	}
	/* Behind the cells; copied back only. */
	copy_known(state, (uint8_t *)cell, true);
}
