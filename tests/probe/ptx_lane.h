/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Registers and memory of one lane, for ptx_ops.c, ptx_warp.c and ptx_run.c. */
#ifndef PROBE_PTX_LANE_H
#define PROBE_PTX_LANE_H

#include "ptx.h"

/* Set the machine's error. Return: -1. */
int ptx_fail(struct ptx_machine *machine, const struct ptx_instruction *instruction,
	     const char *why);

/* What an operand is worth: registers, numbers, special registers, addresses of variables. */
struct ptx_value ptx_read(const struct ptx_machine *machine, const struct ptx_lane *lane,
			  const struct ptx_operand *operand);
/* Write a register. Return: -1 if it is none of @size bytes or more. */
int ptx_write(struct ptx_machine *machine, struct ptx_lane *lane,
	      const struct ptx_instruction *instruction, const struct ptx_operand *operand,
	      struct ptx_value value);

/* The memory that an operand names. NULL with an error. @set: of local memory, else NULL. */
uint8_t *ptx_memory(struct ptx_machine *machine, struct ptx_lane *lane,
		    const struct ptx_instruction *instruction, const struct ptx_operand *operand,
		    bool local, bool write, bool **set);

/* What an instruction does in the lanes of @group. */
#define PTX_ARGUMENTS                                                       \
	struct ptx_machine *machine, struct ptx_warp *warp, uint32_t group, \
		const struct ptx_instruction *instruction
#define PTX_EACH_LANE(i)                \
	for (i = 0; i < PTX_LANES; i++) \
		if (group & 1u << i)

/* --- ptx_warp.c */

int ptx_run_bra(PTX_ARGUMENTS);
int ptx_run_exit(PTX_ARGUMENTS);
int ptx_run_nothing(PTX_ARGUMENTS);
int ptx_run_activemask(PTX_ARGUMENTS);
int ptx_run_ballot(PTX_ARGUMENTS);
int ptx_run_shfl(PTX_ARGUMENTS);
int ptx_run_match(PTX_ARGUMENTS);
int ptx_run_match_all(PTX_ARGUMENTS);

#endif /* PROBE_PTX_LANE_H */
