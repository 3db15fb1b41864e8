/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes one function with its blocks. */
#ifndef GPUMON_PROBE_EDIT_BODY_H
#define GPUMON_PROBE_EDIT_BODY_H

#include "calls.h"
#include "registers.h"

/**
 * struct gpumon_ptx_writer - what is being written
 * @inner: scanned text
 * @request: what is wanted
 * @calls: calls, after gpumon_ptx_calls_reach() for the kernel
 * @out: stream
 * @err: error
 * @kernel: kernel that is written, or 1 + all functions' indices
 * @kernel_plan: its plan, or NULL
 * @copied: offset of what is not written yet
 * @line_numbers: of file << 32 | line: number, for this kernel
 */
struct gpumon_ptx_writer {
	const struct gpumon_edit_inner *inner;
	const struct gpumon_edit_request *request;
	struct gpumon_ptx_calls *calls;
	FILE *out;
	struct gpumon_error *err;
	size_t kernel;
	const struct gpumon_edit_plan *kernel_plan;
	size_t copied;
	struct gpumon_map line_numbers;
};

/**
 * gpumon_ptx_write_body - write a body, from "{" to "}"
 * @writer: writer
 * @function: index of the kernel or of a device function
 * @own: plan of the device function itself, or NULL
 *
 * Calls of functions that the kernel reaches become calls of its copies.
 *
 * Return: 0, or -1 with an error.
 */
int gpumon_ptx_write_body(struct gpumon_ptx_writer *writer, size_t function,
			  const struct gpumon_edit_plan *own);

/* The name of a kernel's copy of a device function. */
void gpumon_ptx_write_name(struct gpumon_ptx_writer *writer, size_t function);

/* A part of the text, from one offset to another. */
void gpumon_ptx_write_text(struct gpumon_ptx_writer *writer, size_t from, size_t to);

/* The text up to here. */
void gpumon_ptx_copy_to(struct gpumon_ptx_writer *writer, size_t offset);

#endif /* GPUMON_PROBE_EDIT_BODY_H */
