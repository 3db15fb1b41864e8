/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which functions of CUDA, HIP and Level Zero are probed, and what they do. */
#ifndef GPUMON_UPROBE_FUNCTION_H
#define GPUMON_UPROBE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUMON_FUNCTION_LAUNCH	 (1u << 0) /* gives the GPU something to do */
#define GPUMON_FUNCTION_BLOCKING (1u << 1) /* returns when the GPU has done it */

/**
 * gpumon_function_kind - is it a function to be probed?
 * @name: of a symbol, with suffixes as _ptsz, _v2
 *
 * Return: GPUMON_FUNCTION_*, 0 if it is none.
 */
unsigned int gpumon_function_kind(const char *name);

/* Is it the API's own code by its name: a runtime that was linked into a program has its symbols. */
bool gpumon_function_of_runtime(const char *name);

/* Is a library one of the API, or a tool's that sits in it, by its DT_SONAME or file name? */
bool gpumon_library_of_api(const char *name);

/**
 * gpumon_function_jump - where a function goes that only jumps on
 * @code: its first bytes
 * @size: how many
 * @machine: EM_X86_64 or EM_AARCH64
 * @target: set to the distance from the function's begin
 *
 * Return: true if it does nothing else.
 */
bool gpumon_function_jump(const uint8_t *code, size_t size, unsigned int machine, int64_t *target);

#endif /* GPUMON_UPROBE_FUNCTION_H */
