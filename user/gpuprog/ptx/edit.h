/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Puts blocks of PTX into the kernels of a PTX text: at their entry, before their exits, and before
 * accesses of memory, atomic operations and barriers. What is not asked for stays byte for byte. A
 * block is what gpumon_gpuprog_translate() writes; an empty text is a block, too.
 *
 * The text is not trusted: whatever it is, the result is an error with a line, or a text that has
 * the instructions of the original in their order.
 */
#ifndef GPUMON_GPUPROG_PTX_EDIT_H
#define GPUMON_GPUPROG_PTX_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/error.h"
#include "gpuprog/object/program.h"

/* Why an access, a call or an exit has no block before it. */
#define GPUMON_EDIT_CAUSES(X)                                              \
	X(TEXTURE, "texture or surface")                                   \
	X(TENSOR, "bulk copy of a tensor")                                 \
	X(DESCRIPTOR, "matrix product through descriptors")                \
	X(MATRIX, "matrix load or store of a warp")                        \
	X(BULK, "bulk copy, in machine code")                              \
	X(CLUSTER, "asynchronous store within a cluster, in machine code") \
	X(INDIRECT, "call through a pointer")                              \
	X(EXTERNAL, "call of a function outside of this text")             \
	X(KEPT, "point within a function, of a program that keeps values") \
	X(FORM, "unknown form of an address")                              \
	X(FUNCTION, "point within a function: the module would not load with it, or grow too large")

enum gpumon_edit_cause {
#define GPUMON_EDIT_CAUSE(name, text) GPUMON_EDIT_##name,
	GPUMON_EDIT_CAUSES(GPUMON_EDIT_CAUSE)
#undef GPUMON_EDIT_CAUSE
	GPUMON_EDIT_CAUSES_N
};

/* Name of a reason for people: "texture or surface". */
const char *gpumon_edit_cause_text(enum gpumon_edit_cause cause);

/**
 * struct gpumon_edit_function - a kernel or device function that has a body
 * @name: as in the text, not NUL-terminated
 * @size: bytes of @name
 * @kernel: it is a kernel
 */
struct gpumon_edit_function {
	const char *name;
	size_t size;
	bool kernel;
};

/**
 * struct gpumon_edit_module - what is in a text
 * @isa: version of PTX, major * 10 + minor
 * @sm: its target: 90
 * @specific: 'a' or 'f' for a target like sm_90a, else 0
 * @probed: it has blocks already: gpumon_edit_write() refuses it
 * @constants: bytes of its .const variables, with the gaps between them
 * @functions: by their place
 * @functions_n: how many
 * @inner: the editor's own
 */
struct gpumon_edit_module {
	uint32_t isa;
	uint32_t sm;
	char specific;
	bool probed;
	uint64_t constants;
	const struct gpumon_edit_function *functions;
	size_t functions_n;
	struct gpumon_edit_inner *inner;
};

/**
 * struct gpumon_edit_counts - what was done in a function, its copies of others included
 * @points: places that got a block, by kind; in a copy they count again
 * @left: what got none, by cause
 * @waits: of a kernel: its blocks may wait for each other, as after a cooperative launch
 */
struct gpumon_edit_counts {
	uint64_t points[GPUMON_GPUPROG_POINTS];
	uint64_t left[GPUMON_EDIT_CAUSES_N];
	bool waits;
};

/**
 * struct gpumon_edit_plan - what is to be put into a kernel or a device function
 * @number: number of the kernel (of the function, at its own points), which the blocks see
 * @keeps: a block uses kept values: they begin with 0
 * @counts: what was done is added to it
 * @blocks: text for each point, or NULL. FUNCTION_ENTRY and FUNCTION_EXIT only count for a device
 *          function, all others only for a kernel.
 *
 * The points of a kernel include those in device functions that it calls, as far as they are in
 * the text: it then calls copies of them, so that other kernels stay as they are. Kernels with the
 * same blocks (the same pointers) share their copies in a compact text.
 */
struct gpumon_edit_plan {
	uint32_t number;
	bool keeps;
	struct gpumon_edit_counts *counts;
	const char *blocks[GPUMON_GPUPROG_POINTS];
};

/**
 * struct gpumon_edit_line - a source line with a point MEMORY, ATOMIC or BARRIER
 * @kernel: number of its kernel
 * @line: number, from 1
 * @file: as in the text, without quotes and not NUL-terminated
 * @file_size: bytes of @file
 */
struct gpumon_edit_line {
	uint32_t kernel;
	uint32_t line;
	const char *file;
	size_t file_size;
};

/**
 * struct gpumon_edit_request - what to change
 * @table: declaration of GPUMON_GPUPROG_TABLE for the module, or NULL
 * @plan: called once for each function of the module; NULL leaves it alone. The plan stays until
 *        gpumon_edit_write() returns.
 * @line: gives a source line the number that blocks see, at least 1; 0: no memory. It may be asked again for
 *        a line of a kernel. Blocks at points without a source line see 0.
 * @data: for both
 * @room: bytes that blocks may take in all, unless the text is compact; 0: any number
 * @compact: the text stays small, and its compiler quick, and programs take longer: each block is a function
 *           that is called at its points, but for those of plans that keep values and of kernels with setmaxnreg. A device function is
 *           copied once for all kernels with the same blocks; a table of each kernel has its numbers.
 * @no_functions: points of kernels in device functions are left out, and counted
 */
struct gpumon_edit_request {
	const char *table;
	const struct gpumon_edit_plan *(*plan)(void *data,
					       const struct gpumon_edit_function *function);
	uint64_t (*line)(void *data, const struct gpumon_edit_line *line);
	void *data;
	size_t room;
	bool compact;
	bool no_functions;
};

/**
 * gpumon_edit_open - find out what is in a text
 * @text: PTX; it stays until gpumon_edit_close()
 * @size: bytes at most: a NUL ends the text, too
 * @module: out, to be closed if it is returned
 * @err: what is wrong with it, with its line
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_edit_open(const char *text, size_t size, struct gpumon_edit_module *module,
		     struct gpumon_error *err);
void gpumon_edit_close(struct gpumon_edit_module *module);

/**
 * gpumon_edit_write - write the text with its changes
 * @module: an open text
 * @request: what to change
 * @out: stream for the new text
 * @err: why it cannot be changed
 *
 * Return: 0; or what was written is to be thrown away: 1: there is not enough @room; -1 with @err.
 */
int gpumon_edit_write(const struct gpumon_edit_module *module,
		      const struct gpumon_edit_request *request, FILE *out,
		      struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_PTX_EDIT_H */
