// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "join.h"

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
	struct gpumon_cell joined = gpumon_cell_join(cell, other, widening);
	bool changed;

	if (joined.kind == GPUMON_PROBE_NUMBER || joined.maybe_null)
		joined.id = join_ids(pairs, cell->id, other->id, number);
	changed = !gpumon_cell_equal(cell, &joined);
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
		if (cell->kind == GPUMON_PROBE_NOTHING || (gpumon_cell_is_any(cell) && !cell->id))
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

	while (gpumon_state_next(state, &cursor))
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
		cells[i] = *gpumon_state_next(state, &cursor);
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
