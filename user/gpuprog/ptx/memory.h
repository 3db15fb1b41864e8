/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Loads, stores and atomic operations, and where the stack lies. */
#ifndef GPUMON_GPUPROG_PTX_MEMORY_H
#define GPUMON_GPUPROG_PTX_MEMORY_H

#include "text.h"

/* Decide it for all frames. */
void text_stack_plan(struct text *text);
void text_stack_clear(struct text *text);
/* Declare what stays memory, and set R10 of each frame. */
void text_stack_begin(struct text *text, FILE *declarations);

/**
 * struct text_place - some bytes that are accessed
 * @space: ".global" or ".local"; NULL: cells of the stack
 * @align: of the first byte
 * @depth: of the stack
 * @offset: of the stack, for cells
 * @address: operand without brackets, up to the displacement: "%gd3", "gframe0"
 * @displacement: added to it
 * @guard: predicate that it is inside, or -1 if that is known
 */
struct text_place {
	const char *space;
	uint32_t align;
	uint8_t depth;
	int32_t offset;
	char address[24];
	int32_t displacement;
	int guard;
};

/* A place of a map's memory that is known to be inside, at a multiple of 8. */
struct text_place text_place_global(uint32_t reg, int32_t displacement);

/**
 * text_place_open - where an operand points to
 * @text: block
 * @operand: what is known of it
 * @reg: the register with the address
 * @displacement: of the instruction
 * @size: how many bytes are accessed
 *
 * If a check is needed, it is written now, and a failure is counted.
 */
struct text_place text_place_open(struct text *text, const struct gpumon_gpuprog_operand *operand,
				  uint32_t reg, int32_t displacement, uint32_t size);

/* Load up to 8 bytes at @offset of the place as a new %gd. Outside: 0. */
uint32_t text_place_load(struct text *text, const struct text_place *place, uint32_t offset,
			 uint32_t size);
/* Store up to 8 bytes of a %gd. Outside: nothing. */
void text_place_store(struct text *text, const struct text_place *place, uint32_t offset,
		      uint32_t size, uint32_t value);

/* The address of a map, as a new %gd. */
uint32_t text_map_address(struct text *text, uint32_t map);

/* BPF_LDX, BPF_ST and BPF_STX. */
void text_memory(struct text *text, const struct gpumon_gpuprog_step *step);

#endif /* GPUMON_GPUPROG_PTX_MEMORY_H */
