/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writes a verified program as PTX: one block "{ ... }" that can stand at any place of a kernel. It
 * changes no register of the kernel, and leaves at its end, never by ret or exit (but for
 * cuda_exit). It is a pure function: equal input gives equal text, so the driver's cache of compiled
 * code stays valid.
 */
#ifndef GPUMON_GPUPROG_PTX_TRANSLATE_H
#define GPUMON_GPUPROG_PTX_TRANSLATE_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/error.h"
#include "gpuprog/object/program.h"

/*
 * Names that the block uses and its surroundings define. edit.h writes them.
 *
 * In the module: table of addresses, see object/map_memory.h.
 * In the kernel:	.reg .b64 %gpumon_kept<4>, zeroed at its entry, if the program keeps something
 *			.reg .b32 %gpumon_kernel, number of the kernel
 * Around the block, at MEMORY, ATOMIC and BARRIER:
 *			.reg .b64 %gpumon_address, %gpumon_line; .reg .b32 %gpumon_size, %gpumon_flags
 */
#define GPUMON_GPUPROG_TABLE "gpumon_probe_table"
/*
 * Register (.reg .b64) with the address of the table in global memory, which a patch has instead of
 * the table.
 */
#define GPUMON_GPUPROG_TABLE_REG  "%gpumon_table"
#define GPUMON_GPUPROG_KEPT_REG	  "%gpumon_kept"
#define GPUMON_GPUPROG_KERNEL_REG "%gpumon_kernel"

/**
 * struct gpumon_gpuprog_target - what the text is written for
 * @isa: PTX ISA of the module, major * 10 + minor
 * @sm: its target: 50, 90
 * @shards: copies of what aggregates by SM, a power of two
 * @fuel: backward jumps that one run of the program may take
 * @patch: for a function that patches of machine code call (image/patch.h): nothing lasts in it
 * @global_table: the table of addresses is in .global, as there is no room for it in .const
 * @memory: what a thread keeps is in memory, as with @patch, and not in registers: also functions that
 *          the kernel calls have it. The thread takes its place first: gpumon_gpuprog_take_place()
 */
struct gpumon_gpuprog_target {
	uint32_t isa;
	uint32_t sm;
	uint32_t shards;
	uint32_t fuel;
	bool patch;
	bool global_table;
	bool memory;
};

/**
 * gpumon_gpuprog_translate - write the block
 * @program: program
 * @facts: what gpumon_gpuprog_verify() proved of it
 * @target: see there
 * @out: stream for the text
 * @err: why it cannot be translated: an instruction or helper that the target lacks
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_translate(const struct gpumon_gpuprog *program,
			     const struct gpumon_gpuprog_fact *facts,
			     const struct gpumon_gpuprog_target *target, FILE *out,
			     struct gpumon_error *err);

/**
 * gpumon_gpuprog_take_place - write the block by which a thread takes its place for what it keeps
 * @target: see there, with @patch or @memory
 * @out: stream for the text
 *
 * It runs at the begin of each thread of a kernel with a program that keeps something in memory.
 */
void gpumon_gpuprog_take_place(const struct gpumon_gpuprog_target *target, FILE *out);

/*
 * The version of PTX with which an architecture came, as struct gpumon_gpuprog_target's @isa: an assembler
 * or a driver that knows the architecture takes it.
 */
uint32_t gpumon_gpuprog_isa(uint32_t sm);

/* Whether the program uses gpumon_keep() or gpumon_kept(). */
bool gpumon_gpuprog_keeps(const struct gpumon_gpuprog *program);
/* Whether it prints: then the print ring has to be there, see struct gpumon_gpuprog_control. */
bool gpumon_gpuprog_prints(const struct gpumon_gpuprog *program);

#endif /* GPUMON_GPUPROG_PTX_TRANSLATE_H */
