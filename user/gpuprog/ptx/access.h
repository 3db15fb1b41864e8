/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Accesses of memory by an instruction, the operand with its address, and the widths of registers.
 */
#ifndef GPUMON_GPUPROG_PTX_ACCESS_H
#define GPUMON_GPUPROG_PTX_ACCESS_H

#include "lib/map.h"
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
 * @flags: of ACCESS, GPUMON_GPUPROG_READ and so on
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

#define GPUMON_PTX_PREDICATE 1 /* instead of a width */

/* A zeroed one has no register. */
struct gpumon_ptx_registers {
	struct gpumon_map widths; /* of a hash of a name: 1 + width, or 1: no longer declared */
	struct gpumon_map_slot *before; /* what inner scopes have changed */
	size_t before_n;
	size_t *scopes; /* sizes of @before at their beginnings */
	size_t scopes_n;
};

/**
 * gpumon_ptx_registers_see - take note of a statement: a declaration, "{" or "}"
 * @registers: registers
 * @statement: the statement
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_ptx_registers_see(struct gpumon_ptx_registers *registers,
			     const struct gpumon_ptx_statement *statement,
			     struct gpumon_error *err);

/* The width of a register in bits, or GPUMON_PTX_PREDICATE, or 0 if no register has this name. */
uint32_t gpumon_ptx_register_width(const struct gpumon_ptx_registers *registers,
				   struct gpumon_ptx_slice name);
void gpumon_ptx_registers_clear(struct gpumon_ptx_registers *registers);

#endif /* GPUMON_GPUPROG_PTX_ACCESS_H */
