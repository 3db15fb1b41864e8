/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writes programs as functions that NVIDIA's sanitizer calls from patched machine code (SASS): a module
 * of PTX, to be assembled with ptxas --compile-as-tools-patch. Pure: no CUDA, no files.
 *
 * Each function gets the data that was set for the kernel: 0 (nothing runs), or the address of
 * struct gpumon_wire_patch_data in the GPU's memory, which has the table of addresses behind it.
 */
#ifndef GPUMON_GPUPROG_IMAGE_PATCH_H
#define GPUMON_GPUPROG_IMAGE_PATCH_H

#include <stdio.h>

#include "lib/error.h"
#include "gpuprog/object/program.h"
#include "gpuprog/object/object.h"
#include "gpuprog/ptx/translate.h"

/*
 * X(name, number of the sanitizer's instruction, function, further parameters)
 * What the sanitizer calls a block's begin and end comes in each thread.
 */
#define GPUMON_GPUPROG_PATCH_PLACES(X)              \
	X(BLOCK_ENTER, 1, "gpumon_at_enter", "")    \
	X(BLOCK_EXIT, 2, "gpumon_at_exit", "")      \
	X(GLOBAL, 3, "gpumon_at_global", MEMORY)    \
	X(SHARED, 4, "gpumon_at_shared", MEMORY)    \
	X(LOCAL, 5, "gpumon_at_local", MEMORY)      \
	X(BARRIER, 6, "gpumon_at_barrier", BARRIER) \
	X(ASYNC, 14, "gpumon_at_async", ASYNC)      \
	X(REMOTE, 17, "gpumon_at_remote", MEMORY)

enum gpumon_gpuprog_patch_place {
#define GPUMON_GPUPROG_PATCH_PLACE(name, number, function, more) GPUMON_GPUPROG_PATCH_##name,
	GPUMON_GPUPROG_PATCH_PLACES(GPUMON_GPUPROG_PATCH_PLACE)
#undef GPUMON_GPUPROG_PATCH_PLACE
	GPUMON_GPUPROG_PATCH_PLACES_N
};

/**
 * struct gpumon_gpuprog_patch - what is written
 * @object: programs
 * @facts: for each program what was proved, or NULL: it is left out
 * @target: architecture and version of PTX; @patch is taken as set
 * @sample: 1 of so many blocks runs them; 0 and 1: all
 */
struct gpumon_gpuprog_patch {
	const struct gpumon_gpuprog_object *object;
	const struct gpumon_gpuprog_fact *const *facts;
	struct gpumon_gpuprog_target target;
	uint32_t sample;
};

/**
 * gpumon_gpuprog_patch_write - write the module
 * @patch: what to write
 * @out: stream
 * @places: out, 1 << GPUMON_GPUPROG_PATCH_* of each function that there is
 * @err: a program that cannot run in patches: which, why, and what to do
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_patch_write(const struct gpumon_gpuprog_patch *patch, FILE *out,
			       uint32_t *places, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_PATCH_H */
