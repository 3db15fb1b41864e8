/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is known of the content of a register, or of 8 bytes of the stack. */
#ifndef GPUMON_GPUPROG_VERIFY_CELL_H
#define GPUMON_GPUPROG_VERIFY_CELL_H

#include "gpuprog/object/fact.h"
#include "number.h"

/* Why a register cannot be read. */
enum gpumon_cell_why {
	GPUMON_CELL_UNSET,    /* on some path, at least */
	GPUMON_CELL_CALLED,   /* a call took it */
	GPUMON_CELL_RETURNED, /* points into the frame of a function that has returned */
	GPUMON_CELL_MIXED,    /* a different kind on different paths */
};

/**
 * struct gpumon_cell - a content
 * @kind: enum gpumon_probe_kind
 * @why: of NOTHING: enum gpumon_cell_why
 * @depth: of STACK: whose frame
 * @maybe_null: of VALUE: it may be the number 0 instead
 * @maps: of VALUE and MAP: those that it may be (of), a bit each, at least one
 * @id: cells with the same one, if it is not 0, have equal contents
 * @number: of NUMBER: itself; of STACK, VALUE and CONTEXT: the offset from the frame's top, from the
 *          value's start, from the context's start
 */
struct gpumon_cell {
	uint8_t kind;
	uint8_t why;
	uint8_t depth;
	bool maybe_null;
	uint32_t id;
	uint64_t maps;
	struct gpumon_number number;
};

struct gpumon_cell gpumon_cell_nothing(enum gpumon_cell_why why);
struct gpumon_cell gpumon_cell_number(struct gpumon_number number);
struct gpumon_cell gpumon_cell_any_number(void);

bool gpumon_cell_is_address(const struct gpumon_cell *cell);
/* The first map that it may be (of). */
uint32_t gpumon_cell_map(const struct gpumon_cell *cell);
/* Whether it may be (of) more than one. */
bool gpumon_cell_has_maps(const struct gpumon_cell *cell);
/* Is it a number of which nothing is known? */
bool gpumon_cell_is_any(const struct gpumon_cell *cell);
/* Is it the number @value, and no other? */
bool gpumon_cell_is_constant(const struct gpumon_cell *cell, uint64_t value);

/* How to join numbers. */
struct gpumon_widening {
	bool on;
	const struct gpumon_number_marks *marks; /* NULL: go as far as possible */
};

/* What is known where both are possible. @id is left to the caller: 0. */
struct gpumon_cell gpumon_cell_join(const struct gpumon_cell *a, const struct gpumon_cell *b,
				    const struct gpumon_widening *widening);

/* Is the same known? Reasons do not count. */
bool gpumon_cell_equal(const struct gpumon_cell *a, const struct gpumon_cell *b);

#endif /* GPUMON_GPUPROG_VERIFY_CELL_H */
