/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is known of all registers and of the stack before a step. */
#ifndef GPUMON_GPUPROG_VERIFY_STATE_H
#define GPUMON_GPUPROG_VERIFY_STATE_H

#include "cell.h"

#define GPUMON_STATE_SLOTS     (GPUMON_PROBE_MAX_STACK / 8)
#define GPUMON_STATE_SHARED    6 /* R0 to R5 */
#define GPUMON_STATE_KEPT      4 /* R6 to R9, for each frame */
#define GPUMON_STATE_REGISTERS (GPUMON_STATE_SHARED + GPUMON_STATE_KEPT * GPUMON_PROBE_MAX_DEPTH)
#define GPUMON_STATE_CELLS     (GPUMON_STATE_REGISTERS + GPUMON_STATE_SLOTS * GPUMON_PROBE_MAX_DEPTH)

/**
 * struct gpumon_frame_has - which places of a stack have something, a bit each, by rising address
 * @set: bytes that have part of a number
 * @tracked: slots of which the frame says what they have. An address has no bytes in @set.
 * @known: bytes of which the frame has the only value: a text's
 */
struct gpumon_frame_has {
	uint64_t set[GPUMON_PROBE_MAX_STACK / 64];
	uint64_t tracked;
	uint64_t known[GPUMON_PROBE_MAX_STACK / 64];
};

/**
 * struct gpumon_frame - the stack of one function
 * @has: which of the others are there
 * @slots: 8 bytes each, by rising address
 * @bytes: by rising address
 */
struct gpumon_frame {
	struct gpumon_frame_has has;
	struct gpumon_cell slots[GPUMON_STATE_SLOTS];
	uint8_t bytes[GPUMON_PROBE_MAX_STACK];
};

/**
 * struct gpumon_state - what is known
 * @frames_n: frames that the program has
 * @registers: R0 to R5, then R6 to R9 of each frame
 * @frames: their stacks
 */
struct gpumon_state {
	unsigned int frames_n;
	struct gpumon_cell registers[GPUMON_STATE_REGISTERS];
	struct gpumon_frame frames[GPUMON_PROBE_MAX_DEPTH];
};

/* At the first step of a program. */
void gpumon_state_begin(struct gpumon_state *state, const struct gpumon_probe_program *program);
void gpumon_state_copy(struct gpumon_state *to, const struct gpumon_state *from);

/* R0 to R9 of a frame. */
struct gpumon_cell *gpumon_state_register(struct gpumon_state *state, unsigned int depth,
					  unsigned int number);

/* A step of depth @from leads to one of depth @to: functions begin or return. */
void gpumon_state_change_depth(struct gpumon_state *state, unsigned int from, unsigned int to);

/**
 * gpumon_state_next - go through all cells that have something
 * @state: state
 * @cursor: 0 at first, then the number of the cell + 1, the same for the same register or slot
 *
 * Return: a cell, or NULL after the last.
 */
struct gpumon_cell *gpumon_state_next(struct gpumon_state *state, unsigned int *cursor);

/* Copy a cell, and remember under @id, which is new here, that both are equal. */
struct gpumon_cell gpumon_state_share(struct gpumon_state *state, struct gpumon_cell *cell,
				      uint32_t id);
/* Cells that had this id are no longer known to be equal. */
void gpumon_state_forget(struct gpumon_state *state, uint32_t id);
/* All cells with this id, which is not 0, become @cell. */
void gpumon_state_refine(struct gpumon_state *state, uint32_t id, const struct gpumon_cell *cell);

#endif /* GPUMON_GPUPROG_VERIFY_STATE_H */
