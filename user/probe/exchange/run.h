/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What is known of the kernels that programs were put into, over all images of a run: programs see
 * numbers, people see names.
 */
#ifndef GPUMON_PROBE_RUN_H
#define GPUMON_PROBE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "probe/edit/edit.h"

/* What became of a kernel that was asked for. */
#define GPUMON_PROBE_WAYS(X)                                                     \
	X(PTX, "programs put into its PTX")                                      \
	X(NO_PTX, "only machine code (SASS) of it: no PTX to put programs into") \
	X(REFUSED, "its PTX cannot be edited")                                   \
	X(TOO_LARGE, "with the programs it would need too many registers to launch") \
	X(NOT_LOADED, "CUDA did not load it with the programs in it")

enum gpumon_probe_way {
#define GPUMON_PROBE_WAY(name, text) GPUMON_PROBE_WAY_##name,
	GPUMON_PROBE_WAYS(GPUMON_PROBE_WAY)
#undef GPUMON_PROBE_WAY
	GPUMON_PROBE_WAYS_N
};

/**
 * struct gpumon_probe_kernel - a kernel that was asked for, or a device function with a program
 * @name: mangled
 * @way: what became of it: the best of all images with it; GPUMON_PROBE_WAYS_N: not seen in an image
 * @why: of REFUSED: the editor's message, else ""
 * @points: places that got a program, by kind, in all images
 * @left: places that got none, by cause
 */
struct gpumon_probe_kernel {
	const char *name;
	enum gpumon_probe_way way;
	const char *why;
	uint64_t points[GPUMON_PROBE_POINTS];
	uint64_t left[GPUMON_EDIT_CAUSES_N];
};

/**
 * struct gpumon_probe_line_of - a source line of a kernel with a point
 * @kernel: number of its kernel
 * @line: number in the file, from 1
 * @file: as in the PTX
 */
struct gpumon_probe_line_of {
	uint32_t kernel;
	uint32_t line;
	const char *file;
};

/**
 * struct gpumon_probe_run - the kernels of a run
 * @pool: owns the texts
 * @kernels: by number: what gpumon_kernel() gives to a program
 * @kernels_n: how many
 * @kernels_room: memory for so many
 * @lines: what struct gpumon_context's line means: number 1 is lines[0]; 0 is a point without a line
 * @lines_n: how many
 * @lines_room: memory for so many
 */
struct gpumon_probe_run {
	struct gpumon_pool pool;
	struct gpumon_probe_kernel *kernels;
	uint32_t kernels_n;
	uint32_t kernels_room;
	struct gpumon_probe_line_of *lines;
	uint32_t lines_n;
	uint32_t lines_room;
};

void gpumon_probe_run_clear(struct gpumon_probe_run *run);

#endif /* GPUMON_PROBE_RUN_H */
