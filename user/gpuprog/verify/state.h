/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * State of all registers and of the stack before a step, and the state that holds where paths join.
 */
#ifndef GPUMON_GPUPROG_VERIFY_STATE_H
#define GPUMON_GPUPROG_VERIFY_STATE_H

#include <stddef.h>

#include "gpuprog/object/program.h"
#include "bounds.h"

/* Why a register cannot be read. */
enum gpumon_not_init {
	GPUMON_NOT_INIT_UNSET,	  /* on some path, at least */
	GPUMON_NOT_INIT_CALLED,	  /* a call took it */
	GPUMON_NOT_INIT_RETURNED, /* points into the frame of a function that has returned */
	GPUMON_NOT_INIT_MIXED,	  /* a different kind on different paths */
};

/**
 * struct gpumon_reg_state - what is known of a register, or of 8 bytes of the stack
 * @kind: enum gpumon_gpuprog_reg_type
 * @why: of NOT_INIT: enum gpumon_not_init
 * @depth: of STACK: whose frame
 * @maybe_null: of VALUE: it may be the number 0 instead
 * @maps: of VALUE and MAP: those that it may be (of), a bit each, at least one
 * @id: registers and slots with the same one, if it is not 0, have equal contents
 * @bounds: of SCALAR: itself; of STACK, VALUE and CONTEXT: the offset from the frame's top, from the
 *          value's start, from the context's start
 */
struct gpumon_reg_state {
	uint8_t kind;
	uint8_t why;
	uint8_t depth;
	bool maybe_null;
	uint32_t id;
	uint64_t maps;
	struct gpumon_bounds bounds;
};

struct gpumon_reg_state gpumon_reg_not_init(enum gpumon_not_init why);
struct gpumon_reg_state gpumon_reg_scalar(struct gpumon_bounds number);
struct gpumon_reg_state gpumon_reg_any_scalar(void);

bool gpumon_reg_is_address(const struct gpumon_reg_state *reg);
/* The first map that it may be (of). */
uint32_t gpumon_reg_map(const struct gpumon_reg_state *reg);
/* Whether it may be (of) more than one. */
bool gpumon_reg_has_maps(const struct gpumon_reg_state *reg);
/* Is it the number @value, and no other? */
bool gpumon_reg_is_constant(const struct gpumon_reg_state *reg, uint64_t value);

/* How to join numbers. */
struct gpumon_widening {
	bool on;
	const struct gpumon_thresholds *thresholds; /* NULL: go as far as possible */
};

#define GPUMON_STATE_SLOTS     (GPUMON_GPUPROG_MAX_STACK / 8)
#define GPUMON_STATE_SHARED    6 /* R0 to R5 */
#define GPUMON_STATE_KEPT      4 /* R6 to R9, for each frame */
#define GPUMON_STATE_REGISTERS (GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * GPUMON_GPUPROG_MAX_DEPTH)
#define GPUMON_STATE_REGISTERS_AND_SLOTS \
	(GPUMON_STATE_REGISTERS + GPUMON_STATE_SLOTS * GPUMON_GPUPROG_MAX_DEPTH)

/**
 * struct gpumon_func_state_has - which places of a stack have something, a bit each, by rising address
 * @set: bytes that have part of a number
 * @tracked: slots of which the frame says what they have. An address has no bytes in @set.
 * @known: bytes of which the frame has the only value: a text's
 */
struct gpumon_func_state_has {
	uint64_t set[GPUMON_GPUPROG_MAX_STACK / 64];
	uint64_t tracked;
	uint64_t known[GPUMON_GPUPROG_MAX_STACK / 64];
};

/**
 * struct gpumon_func_state - the stack of one function
 * @has: which of the others are there
 * @slots: 8 bytes each, by rising address
 * @bytes: by rising address
 */
struct gpumon_func_state {
	struct gpumon_func_state_has has;
	struct gpumon_reg_state slots[GPUMON_STATE_SLOTS];
	uint8_t bytes[GPUMON_GPUPROG_MAX_STACK];
};

/**
 * struct gpumon_state - what is known
 * @frames_n: frames that the program has
 * @registers: R0 to R5, then R6 to R9 of each frame
 * @frames: their stacks
 */
struct gpumon_state {
	unsigned int frames_n;
	struct gpumon_reg_state registers[GPUMON_STATE_REGISTERS];
	struct gpumon_func_state frames[GPUMON_GPUPROG_MAX_DEPTH];
};

/* State at the first step of a program. */
void gpumon_state_begin(struct gpumon_state *state, const struct gpumon_gpuprog *program);
void gpumon_state_copy(struct gpumon_state *to, const struct gpumon_state *from);

/* R0 to R9 of a frame. */
struct gpumon_reg_state *gpumon_state_register(struct gpumon_state *state, unsigned int depth,
					       unsigned int number);

/* A step of depth @from leads to one of depth @to: functions begin or return. */
void gpumon_state_change_depth(struct gpumon_state *state, unsigned int from, unsigned int to);

/* Copy a register or slot, and remember under @id, which is new here, that both are equal. */
struct gpumon_reg_state gpumon_state_share(struct gpumon_state *state, struct gpumon_reg_state *reg,
					   uint32_t id);
/* Registers and slots that had this id are no longer known to be equal. */
void gpumon_state_forget(struct gpumon_state *state, uint32_t id);
/* Sets all registers and slots with this id, which is not 0, to @reg. */
void gpumon_state_refine(struct gpumon_state *state, uint32_t id,
			 const struct gpumon_reg_state *reg);

/* A range in a frame: bytes from its lowest address on, @first to @last + @size - 1. */
struct gpumon_stack_range {
	unsigned int first; /* lowest byte at which the access may begin */
	unsigned int last;  /* highest */
	unsigned int size;
};

enum gpumon_stack_content {
	GPUMON_STACK_NUMBERS,
	GPUMON_STACK_ADDRESS, /* or a part of one */
	GPUMON_STACK_UNSET,
};

/* Kind that all bytes of a range have: numbers, or else the worst kind among them. */
enum gpumon_stack_content gpumon_stack_content(const struct gpumon_func_state *frame,
					       const struct gpumon_stack_range *range);

/* The whole slot that a range is, if @frame->slots says what it has. Otherwise NULL. */
struct gpumon_reg_state *gpumon_stack_slot(struct gpumon_func_state *frame,
					   const struct gpumon_stack_range *range);

/*
 * Something may be written to a range that is not known: numbers stay numbers, and of addresses
 * nothing is left.
 */
void gpumon_stack_forget(struct gpumon_func_state *frame, const struct gpumon_stack_range *range);

/* Write a number to a known range, or an address into a whole slot. */
void gpumon_stack_write(struct gpumon_func_state *frame, const struct gpumon_stack_range *range,
			const struct gpumon_reg_state *reg);

/* How many bytes from @first on have a value that is known, without a gap. */
unsigned int gpumon_stack_known(const struct gpumon_func_state *frame, unsigned int first);

/**
 * gpumon_state_join - also allow another state
 * @state: what was known at the step
 * @other: what another path brings
 * @widening: for numbers
 * @ids: GPUMON_STATE_REGISTERS_AND_SLOTS ids that no other step gives, the first one
 *
 * Return: whether @state now allows more.
 */
bool gpumon_state_join(struct gpumon_state *state, struct gpumon_state *other,
		       const struct gpumon_widening *widening, uint32_t ids);

/* A state in little memory: what is not known has no bytes. */
struct gpumon_packed_state;

/**
 * gpumon_state_pack - keep a state
 * @state: state
 * @packed: where, replaced; NULL at first; to be freed with free()
 * @size: its size, changed; 0 at first
 */
void gpumon_state_pack(struct gpumon_state *state, struct gpumon_packed_state **packed,
		       size_t *size);
void gpumon_state_unpack(const struct gpumon_packed_state *packed, struct gpumon_state *state);

#endif /* GPUMON_GPUPROG_VERIFY_STATE_H */
