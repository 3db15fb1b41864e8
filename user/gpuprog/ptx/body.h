/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes one function with its blocks. */
#ifndef GPUMON_GPUPROG_PTX_BODY_H
#define GPUMON_GPUPROG_PTX_BODY_H

#include "calls.h"
#include "registers.h"

/* A source line in a copy of a device function that several kernels share. */
struct gpumon_ptx_shared_line {
	size_t function;
	uint64_t source; /* file << 32 | line */
};

/**
 * struct gpumon_ptx_writer - what is being written
 * @inner: scanned text
 * @request: what is wanted
 * @calls: calls
 * @out: stream
 * @err: error
 * @kernel: index of the kernel that is written
 * @copies: the kernel whose copies it calls: this one, or the first of those that share them
 * @kernel_plan: its plan, or NULL
 * @points: calls of functions with one of these become calls of copies
 * @has_copies: there are some; in a compact text %gpumon_of is passed to them
 * @put: bytes of blocks so far
 * @full: there was not enough room
 * @copied: offset of what is not written yet
 * @line_numbers: of file << 32 | line: number, for this kernel; or place in the table, for this copy
 * @called: of a block in a compact text: 1 + number of its function
 * @lines: of the copies that kernels share: places in their tables, from 1
 * @lines_n: how many
 * @lines_max: lines behind that have no number
 */
struct gpumon_ptx_writer {
	const struct gpumon_edit_inner *inner;
	const struct gpumon_edit_request *request;
	struct gpumon_ptx_calls *calls;
	FILE *out;
	struct gpumon_error *err;
	size_t kernel;
	size_t copies;
	const struct gpumon_edit_plan *kernel_plan;
	uint32_t points;
	bool has_copies;
	size_t put;
	bool full;
	size_t copied;
	struct gpumon_map line_numbers;
	struct gpumon_map called;
	struct gpumon_ptx_shared_line *lines;
	size_t lines_n;
	size_t lines_max;
};

/* The key of a block in @called: with a context its parameters differ. */
static inline uint64_t gpumon_ptx_called_key(const char *block, bool context)
{
	return (uint64_t)(uintptr_t)block << 1 | context;
}

/**
 * gpumon_ptx_number_source - the number of a source line of a kernel
 * @writer: writer
 * @kernel: number of the kernel
 * @source: file << 32 | line
 *
 * Return: the number, or 0 without memory.
 */
uint64_t gpumon_ptx_number_source(struct gpumon_ptx_writer *writer, uint32_t kernel,
				  uint64_t source);

/**
 * gpumon_ptx_write_body - write a body, from "{" to "}"
 * @writer: writer
 * @function: index of the kernel or of a device function
 * @own: plan of the device function itself, or NULL
 *
 * Calls of functions that the kernel reaches become calls of its copies.
 *
 * Return: 0, or -1 with an error, or if @writer is full.
 */
int gpumon_ptx_write_body(struct gpumon_ptx_writer *writer, size_t function,
			  const struct gpumon_edit_plan *own);

/* The name of a kernel's copy of a device function. */
void gpumon_ptx_write_name(struct gpumon_ptx_writer *writer, size_t function);

/* The name of the table with a kernel's numbers. */
#define GPUMON_PTX_TABLE "gpumon_of_%zu"

/* A part of the text, from one offset to another. */
void gpumon_ptx_write_text(struct gpumon_ptx_writer *writer, size_t from, size_t to);

/* The text up to here. */
void gpumon_ptx_copy_to(struct gpumon_ptx_writer *writer, size_t offset);

#endif /* GPUMON_GPUPROG_PTX_BODY_H */
