/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is known of the bytes of a frame. */
#ifndef GPUMON_GPUPROG_VERIFY_STACK_H
#define GPUMON_GPUPROG_VERIFY_STACK_H

#include "state.h"

/* A place in a frame: bytes from its lowest address on, @first to @last + @size - 1. */
struct gpumon_place {
	unsigned int first; /* lowest byte at which the access may begin */
	unsigned int last;  /* highest */
	unsigned int size;
};

enum gpumon_stack_content {
	GPUMON_STACK_NUMBERS,
	GPUMON_STACK_ADDRESS, /* or a part of one */
	GPUMON_STACK_UNSET,
};

/* What all bytes of a place have in common: numbers, or the worst that is there. */
enum gpumon_stack_content gpumon_stack_content(const struct gpumon_frame *frame,
					       const struct gpumon_place *place);

/* The whole slot that a place is, if @frame->slots says what it has. Otherwise NULL. */
struct gpumon_cell *gpumon_stack_slot(struct gpumon_frame *frame, const struct gpumon_place *place);

/*
 * Something may be written to a place that is not known: numbers stay numbers, and of addresses
 * nothing is left.
 */
void gpumon_stack_forget(struct gpumon_frame *frame, const struct gpumon_place *place);

/* Write a number to a known place, or an address into a whole slot. */
void gpumon_stack_write(struct gpumon_frame *frame, const struct gpumon_place *place,
			const struct gpumon_cell *cell);

/* How many bytes from @first on have a value that is known, without a gap. */
unsigned int gpumon_stack_known(const struct gpumon_frame *frame, unsigned int first);

#endif /* GPUMON_GPUPROG_VERIFY_STACK_H */
