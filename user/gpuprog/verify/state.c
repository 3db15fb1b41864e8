// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "state.h"

struct gpumon_reg_state gpumon_reg_not_init(enum gpumon_not_init why)
{
	return (struct gpumon_reg_state){ .kind = GPUMON_GPUPROG_NOT_INIT, .why = (uint8_t)why };
}

struct gpumon_reg_state gpumon_reg_scalar(struct gpumon_bounds number)
{
	return (struct gpumon_reg_state){ .kind = GPUMON_GPUPROG_SCALAR, .bounds = number };
}

struct gpumon_reg_state gpumon_reg_any_scalar(void)
{
	return gpumon_reg_scalar(gpumon_bounds_any());
}

bool gpumon_reg_is_address(const struct gpumon_reg_state *reg)
{
	return reg->kind != GPUMON_GPUPROG_NOT_INIT && reg->kind != GPUMON_GPUPROG_SCALAR;
}

uint32_t gpumon_reg_map(const struct gpumon_reg_state *reg)
{
	return reg->maps ? (uint32_t)__builtin_ctzll(reg->maps) : 0;
}

bool gpumon_reg_has_maps(const struct gpumon_reg_state *reg)
{
	return reg->maps & (reg->maps - 1);
}

/* Is it a number of which nothing is known? */
static bool reg_is_any(const struct gpumon_reg_state *reg)
{
	struct gpumon_bounds any = gpumon_bounds_any();

	return reg->kind == GPUMON_GPUPROG_SCALAR && !memcmp(&reg->bounds, &any, sizeof(any));
}

bool gpumon_reg_is_constant(const struct gpumon_reg_state *reg, uint64_t value)
{
	return reg->kind == GPUMON_GPUPROG_SCALAR && gpumon_bounds_is_constant(&reg->bounds) &&
	       reg->bounds.tnum.value == value;
}

static struct gpumon_reg_state join_kinds(const struct gpumon_reg_state *a,
					  const struct gpumon_reg_state *b)
{
	struct gpumon_reg_state joined;

	if (a->kind == GPUMON_GPUPROG_VALUE && gpumon_reg_is_constant(b, 0))
		joined = *a;
	else if (b->kind == GPUMON_GPUPROG_VALUE && gpumon_reg_is_constant(a, 0))
		joined = *b;
	else if (a->kind == GPUMON_GPUPROG_NOT_INIT)
		return gpumon_reg_not_init(a->why);
	else
		return gpumon_reg_not_init(
			b->kind == GPUMON_GPUPROG_NOT_INIT ? b->why : GPUMON_NOT_INIT_MIXED);
	joined.maybe_null = true;
	joined.id = 0;
	return joined;
}

/* State that holds for either of two registers. @id is 0: the caller sets it. */
static struct gpumon_reg_state reg_join(const struct gpumon_reg_state *a,
					const struct gpumon_reg_state *b,
					const struct gpumon_widening *widening)
{
	struct gpumon_reg_state joined = *a;

	if (a->kind != b->kind)
		return join_kinds(a, b);
	joined.id = 0;
	if (a->kind == GPUMON_GPUPROG_NOT_INIT)
		return joined;
	if (a->depth != b->depth)
		return gpumon_reg_not_init(GPUMON_NOT_INIT_MIXED);
	joined.maps |= b->maps;
	joined.maybe_null = a->maybe_null || b->maybe_null;
	joined.bounds = gpumon_bounds_join(&a->bounds, &b->bounds);
	if (widening->on)
		joined.bounds =
			gpumon_bounds_widen(&a->bounds, &joined.bounds, widening->thresholds);
	return joined;
}

/* Is the same known? Reasons do not count. */
static bool reg_equal(const struct gpumon_reg_state *a, const struct gpumon_reg_state *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == GPUMON_GPUPROG_NOT_INIT ||
	       (a->depth == b->depth && a->maybe_null == b->maybe_null && a->maps == b->maps &&
		a->id == b->id && !memcmp(&a->bounds, &b->bounds, sizeof(a->bounds)));
}

/* Whether a byte is among those of @set or @known of a frame. */
static bool is_in(const uint64_t *bytes, unsigned int byte)
{
	return bytes[byte / 64] >> byte % 64 & 1;
}

static bool is_tracked(const struct gpumon_func_state *frame, unsigned int byte)
{
	return frame->has.tracked >> byte / 8 & 1;
}

static unsigned int place_end(const struct gpumon_stack_range *range)
{
	return range->last + range->size;
}

enum gpumon_stack_content gpumon_stack_content(const struct gpumon_func_state *frame,
					       const struct gpumon_stack_range *range)
{
	enum gpumon_stack_content content = GPUMON_STACK_NUMBERS;

	for (unsigned int byte = range->first; byte < place_end(range); byte++) {
		if (is_in(frame->has.set, byte))
			continue;
		if (!is_tracked(frame, byte))
			return GPUMON_STACK_UNSET;
		content = GPUMON_STACK_ADDRESS;
	}
	return content;
}

struct gpumon_reg_state *gpumon_stack_slot(struct gpumon_func_state *frame,
					   const struct gpumon_stack_range *range)
{
	if (range->first != range->last || range->size != 8 || range->first % 8 ||
	    !is_tracked(frame, range->first))
		return NULL;
	return &frame->slots[range->first / 8];
}

void gpumon_stack_forget(struct gpumon_func_state *frame, const struct gpumon_stack_range *range)
{
	for (unsigned int byte = range->first; byte < place_end(range); byte++) {
		frame->has.tracked &= ~(1ull << byte / 8);
		frame->has.known[byte / 64] &= ~(1ull << byte % 64);
	}
}

static void write_bytes(struct gpumon_func_state *frame, const struct gpumon_stack_range *range,
			uint64_t number)
{
	for (unsigned int i = 0; i < range->size; i++, number >>= 8) {
		unsigned int byte = range->first + i;

		frame->has.known[byte / 64] |= 1ull << byte % 64;
		frame->bytes[byte] = (uint8_t)number;
	}
}

void gpumon_stack_write(struct gpumon_func_state *frame, const struct gpumon_stack_range *range,
			const struct gpumon_reg_state *reg)
{
	bool address = gpumon_reg_is_address(reg);

	gpumon_stack_forget(frame, range);
	for (unsigned int byte = range->first; byte < place_end(range); byte++) {
		if (address)
			frame->has.set[byte / 64] &= ~(1ull << byte % 64);
		else
			frame->has.set[byte / 64] |= 1ull << byte % 64;
	}
	if (range->size == 8 && range->first % 8 == 0 && (reg->id || !reg_is_any(reg))) {
		frame->has.tracked |= 1ull << range->first / 8;
		frame->slots[range->first / 8] = *reg;
	}
	if (reg->kind == GPUMON_GPUPROG_SCALAR && gpumon_bounds_is_constant(&reg->bounds))
		write_bytes(frame, range, reg->bounds.tnum.value);
}

unsigned int gpumon_stack_known(const struct gpumon_func_state *frame, unsigned int first)
{
	unsigned int end = first;

	while (end < GPUMON_GPUPROG_MAX_STACK && is_in(frame->has.known, end))
		end++;
	return end - first;
}

/**
 * state_next - go through all registers and slots that have something
 * @state: state
 * @cursor: 0 at first, then its number + 1, the same for the same register or slot
 *
 * Return: a register or slot, or NULL after the last.
 */
static struct gpumon_reg_state *state_next(struct gpumon_state *state, unsigned int *cursor)
{
	unsigned int at = *cursor;
	unsigned int registers = GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * state->frames_n;

	for (; at < registers; at++) {
		if (state->registers[at].kind != GPUMON_GPUPROG_NOT_INIT) {
			*cursor = at + 1;
			return &state->registers[at];
		}
	}
	if (at < GPUMON_STATE_REGISTERS)
		at = GPUMON_STATE_REGISTERS;
	at -= GPUMON_STATE_REGISTERS;
	while (at / GPUMON_STATE_SLOTS < state->frames_n) {
		struct gpumon_func_state *frame = &state->frames[at / GPUMON_STATE_SLOTS];
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

void gpumon_state_begin(struct gpumon_state *state, const struct gpumon_gpuprog *program)
{
	struct gpumon_reg_state *argument = &state->registers[1];

	state->frames_n = 1;
	for (uint32_t i = 0; i < program->steps_n; i++)
		if (state->frames_n < program->steps[i].depth + 1u)
			state->frames_n = program->steps[i].depth + 1u;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		state->registers[i] = gpumon_reg_not_init(GPUMON_NOT_INIT_UNSET);
	for (unsigned int i = 0; i < state->frames_n; i++)
		state->frames[i].has = (struct gpumon_func_state_has){ 0 };
	*argument = gpumon_reg_scalar(gpumon_bounds_constant(0));
	if (gpumon_gpuprog_has_context(program->point))
		argument->kind = GPUMON_GPUPROG_CONTEXT;
}

void gpumon_state_copy(struct gpumon_state *to, const struct gpumon_state *from)
{
	unsigned int registers = GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * from->frames_n;

	to->frames_n = from->frames_n;
	memcpy(to->registers, from->registers, registers * sizeof(to->registers[0]));
	for (unsigned int i = 0; i < from->frames_n; i++) {
		struct gpumon_func_state *frame = &to->frames[i];

		frame->has = from->frames[i].has;
		memcpy(frame->bytes, from->frames[i].bytes, sizeof(frame->bytes));
		for (uint64_t left = frame->has.tracked; left; left &= left - 1) {
			int slot = __builtin_ctzll(left);

			frame->slots[slot] = from->frames[i].slots[slot];
		}
	}
}

struct gpumon_reg_state *gpumon_state_register(struct gpumon_state *state, unsigned int depth,
					       unsigned int number)
{
	if (number >= GPUMON_STATE_SHARED)
		number += GPUMON_STATE_KEPT * depth;
	return &state->registers[number];
}

static void clear_frame(struct gpumon_state *state, unsigned int depth)
{
	struct gpumon_reg_state *kept = gpumon_state_register(state, depth, GPUMON_STATE_SHARED);

	for (unsigned int i = 0; i < GPUMON_STATE_KEPT; i++)
		kept[i] = gpumon_reg_not_init(GPUMON_NOT_INIT_UNSET);
	state->frames[depth].has = (struct gpumon_func_state_has){ 0 };
}

/* Nothing may point into the frames above @depth. */
static void drop_dead_addresses(struct gpumon_state *state, unsigned int depth)
{
	unsigned int cursor = 0;
	struct gpumon_reg_state *reg;

	while ((reg = state_next(state, &cursor))) {
		if (reg->kind == GPUMON_GPUPROG_STACK && reg->depth > depth)
			*reg = gpumon_reg_not_init(GPUMON_NOT_INIT_RETURNED);
	}
	for (unsigned int i = 0; i <= depth; i++) {
		struct gpumon_func_state *frame = &state->frames[i];

		for (uint64_t left = frame->has.tracked; left; left &= left - 1) {
			int slot = __builtin_ctzll(left);

			if (frame->slots[slot].kind == GPUMON_GPUPROG_NOT_INIT)
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
		state->registers[0] = gpumon_reg_not_init(GPUMON_NOT_INIT_UNSET);
		return;
	}
	for (unsigned int i = 1; i < GPUMON_STATE_SHARED; i++)
		state->registers[i] = gpumon_reg_not_init(GPUMON_NOT_INIT_CALLED);
	drop_dead_addresses(state, to);
}

void gpumon_state_forget(struct gpumon_state *state, uint32_t id)
{
	unsigned int cursor = 0;
	struct gpumon_reg_state *reg;

	while ((reg = state_next(state, &cursor))) {
		if (reg->id == id)
			reg->id = 0;
	}
}

struct gpumon_reg_state gpumon_state_share(struct gpumon_state *state, struct gpumon_reg_state *reg,
					   uint32_t id)
{
	bool narrows = reg->maybe_null || (reg->kind == GPUMON_GPUPROG_SCALAR &&
					   !gpumon_bounds_is_constant(&reg->bounds));

	/* More cannot be learnt of the others. */
	if (narrows && !reg->id) {
		gpumon_state_forget(state, id);
		reg->id = id;
	}
	return *reg;
}

void gpumon_state_refine(struct gpumon_state *state, uint32_t id,
			 const struct gpumon_reg_state *reg)
{
	unsigned int cursor = 0;
	struct gpumon_reg_state *same;

	while ((same = state_next(state, &cursor))) {
		if (same->id == id)
			*same = *reg;
	}
}

#define MAX_PAIRS 32

/*
 * Cells are equal after the join if they are on both paths: so each pair of ids gives one id. That of
 * the first register or slot with the pair is taken, so that joining the same again gives the same.
 */
struct pairs {
	unsigned int n;
	uint32_t ids; /* those of this step begin here */
	struct {
		uint32_t a, b, joined;
	} pairs[MAX_PAIRS];
};

static uint32_t join_ids(struct pairs *pairs, uint32_t a, uint32_t b, unsigned int reg)
{
	uint32_t joined = pairs->ids + reg;

	if (!a || !b)
		return 0;
	for (unsigned int i = 0; i < pairs->n; i++)
		if (pairs->pairs[i].a == a && pairs->pairs[i].b == b)
			return pairs->pairs[i].joined;
	if (pairs->n == MAX_PAIRS)
		return 0;
	/* An id of this step stands for another pair now. */
	if (a == b && a - pairs->ids >= GPUMON_STATE_REGISTERS_AND_SLOTS)
		joined = a;
	pairs->pairs[pairs->n].a = a;
	pairs->pairs[pairs->n].b = b;
	pairs->pairs[pairs->n].joined = joined;
	pairs->n++;
	return joined;
}

static bool join_regs(struct gpumon_reg_state *reg, const struct gpumon_reg_state *other,
		      const struct gpumon_widening *widening, struct pairs *pairs,
		      unsigned int number)
{
	struct gpumon_reg_state joined = reg_join(reg, other, widening);
	bool changed;

	if (joined.kind == GPUMON_GPUPROG_SCALAR || joined.maybe_null)
		joined.id = join_ids(pairs, reg->id, other->id, number);
	changed = !reg_equal(reg, &joined);
	*reg = joined;
	return changed;
}

/* Bytes that are the same on both paths stay known. */
static bool join_known(struct gpumon_func_state *frame, const struct gpumon_func_state *other,
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

static bool join_frames(struct gpumon_func_state *frame, const struct gpumon_func_state *other,
			const struct gpumon_widening *widening, struct pairs *pairs,
			unsigned int number)
{
	uint64_t both = frame->has.tracked & other->has.tracked;
	bool changed = both != frame->has.tracked;

	frame->has.tracked = both;
	for (unsigned int i = 0; i < GPUMON_GPUPROG_MAX_STACK / 64; i++) {
		changed |= frame->has.set[i] & ~other->has.set[i];
		frame->has.set[i] &= other->has.set[i];
		changed |= join_known(frame, other, i);
	}
	for (uint64_t left = both; left; left &= left - 1) {
		unsigned int slot = (unsigned int)__builtin_ctzll(left);
		struct gpumon_reg_state *reg = &frame->slots[slot];

		changed |= join_regs(reg, &other->slots[slot], widening, pairs, number + slot);
		if (reg->kind == GPUMON_GPUPROG_NOT_INIT || (reg_is_any(reg) && !reg->id))
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
		if (state->registers[i].kind != GPUMON_GPUPROG_NOT_INIT)
			changed |= join_regs(&state->registers[i], &other->registers[i], widening,
					     &pairs, i);
	for (unsigned int i = 0; i < state->frames_n; i++)
		changed |= join_frames(&state->frames[i], &other->frames[i], widening, &pairs,
				       GPUMON_STATE_REGISTERS + i * GPUMON_STATE_SLOTS);
	return changed;
}

/**
 * struct gpumon_packed_state - a state
 * @frames_n: frames, which follow
 * @why: of the registers that have nothing; PRESENT: its state follows, behind the frames
 *
 * After the contents of the registers come those of the frames, then the known bytes of the frames.
 */
struct gpumon_packed_state {
	unsigned int frames_n;
	uint8_t why[GPUMON_STATE_REGISTERS];
	struct gpumon_func_state_has frames[];
};

#define PRESENT 0xff

static size_t count_known(const struct gpumon_state *state)
{
	size_t n = 0;

	for (unsigned int i = 0; i < state->frames_n; i++)
		for (unsigned int word = 0; word < GPUMON_GPUPROG_MAX_STACK / 64; word++)
			n += (size_t)__builtin_popcountll(state->frames[i].has.known[word]);
	return n;
}

/* Copy the known bytes of all frames to @packed, or back. */
static void copy_known(struct gpumon_state *state, uint8_t *packed, bool back)
{
	for (unsigned int i = 0; i < state->frames_n; i++) {
		struct gpumon_func_state *frame = &state->frames[i];

		for (unsigned int word = 0; word < GPUMON_GPUPROG_MAX_STACK / 64; word++)
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

void gpumon_state_pack(struct gpumon_state *state, struct gpumon_packed_state **packed,
		       size_t *size)
{
	struct gpumon_packed_state *to;
	struct gpumon_reg_state *contents;
	unsigned int cursor = 0;
	size_t n = 0, needed;

	while (state_next(state, &cursor))
		n++;
	needed = sizeof(*to) + state->frames_n * sizeof(to->frames[0]) + n * sizeof(*contents) +
		 count_known(state);
	to = gpumon_realloc(*packed, needed);
	*packed = to;
	*size = needed;
	to->frames_n = state->frames_n;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		to->why[i] = state->registers[i].kind == GPUMON_GPUPROG_NOT_INIT ?
				     state->registers[i].why :
				     PRESENT;
	for (unsigned int i = 0; i < state->frames_n; i++)
		to->frames[i] = state->frames[i].has;
	contents = (struct gpumon_reg_state *)&to->frames[state->frames_n];
	cursor = 0;
	for (size_t i = 0; i < n; i++)
		contents[i] = *state_next(state, &cursor);
	copy_known(state, (uint8_t *)&contents[n], false);
}

void gpumon_state_unpack(const struct gpumon_packed_state *packed, struct gpumon_state *state)
{
	const struct gpumon_reg_state *reg =
		(const struct gpumon_reg_state *)&packed->frames[packed->frames_n];

	state->frames_n = packed->frames_n;
	for (unsigned int i = 0; i < GPUMON_STATE_REGISTERS; i++)
		state->registers[i] =
			packed->why[i] == PRESENT ? *reg++ : gpumon_reg_not_init(packed->why[i]);
	for (unsigned int i = 0; i < packed->frames_n; i++) {
		struct gpumon_func_state *frame = &state->frames[i];

		frame->has = packed->frames[i];
		for (uint64_t left = frame->has.tracked; left; left &= left - 1)
			frame->slots[__builtin_ctzll(left)] = *reg++;
	}
	/* Part of the state behind the registers and slots, which is only copied back. */
	copy_known(state, (uint8_t *)reg, true);
}
