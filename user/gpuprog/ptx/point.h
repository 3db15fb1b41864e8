/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The text around a block. */
#ifndef GPUMON_GPUPROG_PTX_POINT_H
#define GPUMON_GPUPROG_PTX_POINT_H

#include <stdio.h>

#include "access.h"
#include "registers.h"

/**
 * struct gpumon_ptx_point - what comes before an instruction
 * @out: stream
 * @kernel: number of the kernel
 * @by_table: the numbers of kernel and line are in the table at %gpumon_of: its first word, and that at @line
 * @blocks: texts
 * @called: instead of a text: 1 + number of the function that is to be called, or 0
 * @blocks_n: 1 or 2
 * @statement: instruction that the blocks stand before: they run if it does. NULL: always
 * @access: what it does, for points with a context. NULL: no context
 * @line: number of the source line for the context, or its place in the table; 0: there is none
 */
struct gpumon_ptx_point {
	FILE *out;
	uint32_t kernel;
	bool by_table;
	const char *blocks[2];
	uint32_t called[2];
	uint32_t blocks_n;
	const struct gpumon_ptx_statement *statement;
	const struct gpumon_ptx_access *access;
	uint64_t line;
};

/**
 * gpumon_ptx_write_point - write blocks with what they need
 * @point: what to write
 * @registers: registers that are declared there
 *
 * Return: false if nothing was written, as the address has an unknown form.
 */
bool gpumon_ptx_write_point(const struct gpumon_ptx_point *point,
			    const struct gpumon_ptx_registers *registers);

/**
 * gpumon_ptx_write_called - write a block as the function that points call
 * @out: stream
 * @number: of the function
 * @context: it is for points with a context
 * @block: text
 */
void gpumon_ptx_write_called(FILE *out, uint32_t number, bool context, const char *block);

/* Registers for values that the blocks of a body keep. */
void gpumon_ptx_write_kept(FILE *out);

#endif /* GPUMON_GPUPROG_PTX_POINT_H */
