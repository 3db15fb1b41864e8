// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "state.h"

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

	while ((cell = gpumon_state_next(state, &cursor))) {
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

struct gpumon_cell *gpumon_state_next(struct gpumon_state *state, unsigned int *cursor)
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

void gpumon_state_forget(struct gpumon_state *state, uint32_t id)
{
	unsigned int cursor = 0;
	struct gpumon_cell *cell;

	while ((cell = gpumon_state_next(state, &cursor))) {
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

	while ((same = gpumon_state_next(state, &cursor))) {
		if (same->id == id)
			*same = *cell;
	}
}
