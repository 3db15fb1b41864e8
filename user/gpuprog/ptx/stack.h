/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where the stack lies. The assembler does not move memory into registers, not even if all offsets are
 * constant, so it is done here: what is accessed at constant offsets is cut into cells, a register
 * each, of which every access uses whole ones. What is also accessed at other offsets stays memory
 * (.local), with all that overlaps it.
 */
#ifndef GPUMON_GPUPROG_PTX_STACK_H
#define GPUMON_GPUPROG_PTX_STACK_H

#include "text.h"

/* Decide it for all frames. Return: 0, or -1 without memory. */
int text_stack_plan(struct text *text);
void text_stack_clear(struct text *text);
/* Declare what stays memory, and set R10 of each frame. */
void text_stack_begin(struct text *text, FILE *declarations);

/* Whether this offset of a frame is in memory. */
bool text_stack_in_memory(const struct text *text, uint8_t depth, int32_t offset);
/* First offset of the frame's memory, a multiple of 8. */
int32_t text_stack_memory_low(const struct text *text, uint8_t depth);
/* Bytes of the frame's memory. */
uint32_t text_stack_memory_bytes(const struct text *text, uint8_t depth);

/* Load up to 8 bytes from cells as a new %gd. */
uint32_t text_stack_load(struct text *text, uint8_t depth, int32_t offset, uint32_t size);
/* Store up to 8 bytes of a %gd. */
void text_stack_store(struct text *text, uint8_t depth, int32_t offset, uint32_t size,
		      uint32_t value);

#endif /* GPUMON_GPUPROG_PTX_STACK_H */
