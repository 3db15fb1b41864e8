/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Widths of the registers that are declared at a place of a body. */
#ifndef GPUMON_GPUPROG_PTX_REGISTERS_H
#define GPUMON_GPUPROG_PTX_REGISTERS_H

#include "lib/map.h"
#include "statement.h"

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

/* Its width in bits, or GPUMON_PTX_PREDICATE, or 0 if no register has this name. */
uint32_t gpumon_ptx_register_width(const struct gpumon_ptx_registers *registers,
				   struct gpumon_ptx_slice name);
void gpumon_ptx_registers_clear(struct gpumon_ptx_registers *registers);

#endif /* GPUMON_GPUPROG_PTX_REGISTERS_H */
