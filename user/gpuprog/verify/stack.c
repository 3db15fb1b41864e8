// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "stack.h"

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
	if (place->size == 8 && place->first % 8 == 0 && (cell->id || !gpumon_cell_is_any(cell))) {
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
