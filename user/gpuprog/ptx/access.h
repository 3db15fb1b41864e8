/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What an instruction does to memory, and where its address stands. */
#ifndef GPUMON_GPUPROG_PTX_ACCESS_H
#define GPUMON_GPUPROG_PTX_ACCESS_H

#include "edit.h"
#include "statement.h"

enum gpumon_ptx_effect {
	GPUMON_PTX_NO_EFFECT, /* of interest */
	GPUMON_PTX_ACCESS,
	GPUMON_PTX_BARRIER,
	GPUMON_PTX_RET,
	GPUMON_PTX_EXIT,
	GPUMON_PTX_CALL,
	GPUMON_PTX_GOES, /* elsewhere, always: what follows is only reached by a label */
	GPUMON_PTX_LEFT, /* cannot be probed */
};

/**
 * struct gpumon_ptx_access - what an instruction does
 * @effect: what it is
 * @cause: of LEFT
 * @flags: of ACCESS, GPUMON_PROBE_READ and so on
 * @size: of ACCESS: bytes, unless @size_operand says them
 * @address: of ACCESS: operand with the address; of BARRIER: with its number, or empty: 0
 * @size_operand: of ACCESS: operand with the bytes, or empty; of BARRIER: with the number of threads
 * @ignores: of ACCESS: register that makes @size 0, if it is a predicate, or says it
 * @ignores_not: it does so where it is false
 */
struct gpumon_ptx_access {
	enum gpumon_ptx_effect effect;
	enum gpumon_edit_cause cause;
	uint32_t flags;
	uint32_t size;
	struct gpumon_ptx_slice address;
	struct gpumon_ptx_slice size_operand;
	struct gpumon_ptx_slice ignores;
	bool ignores_not;
};

/* The bytes of a type, without its dot; 0 if it is none. */
uint32_t gpumon_ptx_type_size(struct gpumon_ptx_slice type);

/* Never fails: an instruction that it does not know has no effect. */
void gpumon_ptx_access_of(const struct gpumon_ptx_statement *statement,
			  struct gpumon_ptx_access *access);

#endif /* GPUMON_GPUPROG_PTX_ACCESS_H */
