/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Kernels that programs were put into, over all images of a run: programs see numbers, people see
 * names. One thread at a time uses this.
 */
#ifndef GPUMON_GPUPROG_IMAGE_KERNELS_H
#define GPUMON_GPUPROG_IMAGE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/map.h"
#include "gpuprog/ptx/edit.h"

/* State of a kernel that was asked for. */
#define GPUMON_GPUPROG_WAYS(X)                                                                    \
	X(PTX, "ptx", "programs put into its PTX")                                                \
	X(SASS, "sass", "programs called by its patched machine code (SASS)")                     \
	X(NO_PTX, "no_ptx", "only machine code (SASS) of it: no PTX to put programs into")        \
	X(REFUSED, "refused", "its PTX cannot be edited")                                         \
	X(TOO_LARGE, "too_large", "with the programs it would need too many registers to launch") \
	X(NOT_LOADED, "not_loaded", "CUDA did not load it with the programs in it")               \
	X(NOT_PATCHED, "not_patched", "its machine code was not patched: a message says why")

enum gpumon_gpuprog_way {
#define GPUMON_GPUPROG_WAY(name, word, text) GPUMON_GPUPROG_WAY_##name,
	GPUMON_GPUPROG_WAYS(GPUMON_GPUPROG_WAY)
#undef GPUMON_GPUPROG_WAY
	GPUMON_GPUPROG_WAYS_N
};

/* Word of a way, for programs that read JSON: "no_ptx". */
const char *gpumon_gpuprog_way_word(enum gpumon_gpuprog_way way);

/* Whether a kernel has programs in it. */
static inline bool gpumon_gpuprog_way_is_in(enum gpumon_gpuprog_way way)
{
	return way == GPUMON_GPUPROG_WAY_PTX || way == GPUMON_GPUPROG_WAY_SASS;
}

/**
 * struct gpumon_gpuprog_kernel - a kernel that was asked for, or a device function with a program
 * @name: mangled
 * @way: what became of it: of several images with it the first, but PTX or SASS if one was edited. The run time
 *       sets TOO_LARGE and NOT_LOADED: later images leave such a kernel alone.
 * @why: of REFUSED: the reason; of SASS: why its PTX was not taken, or ""; else ""
 * @points: places that got a program, by kind, in all images
 * @left: places that got none, by cause
 * @image: the last image in which it got programs, as struct gpumon_gpuprog_run's @images; 0: none
 * @told: @way is known
 * @counted: what the image @counted_in has added to @points and @left
 * @counted_in: as @image; 0: none
 */
struct gpumon_gpuprog_kernel {
	const char *name;
	enum gpumon_gpuprog_way way;
	const char *why;
	uint64_t points[GPUMON_GPUPROG_POINTS];
	uint64_t left[GPUMON_EDIT_CAUSES_N];
	uint64_t image;
	bool told;
	struct gpumon_edit_counts counted;
	uint64_t counted_in;
};

/**
 * struct gpumon_gpuprog_line_of - a source line of a kernel with a point
 * @kernel: number of its kernel
 * @line: number in the file, from 1
 * @file: as in the PTX
 */
struct gpumon_gpuprog_line_of {
	uint32_t kernel;
	uint32_t line;
	const char *file;
};

/**
 * struct gpumon_gpuprog_near - a kernel that was not asked for, with a name like one that was
 * @name: without parameters; NULL: none
 * @changes: between the two: 0 if one contains the other
 */
struct gpumon_gpuprog_near {
	const char *name;
	unsigned int changes;
};

#define GPUMON_GPUPROG_NEAR 3 /* of a run: the nearest ones */

/**
 * struct gpumon_gpuprog_run - the kernels of a run; a zeroed one is empty
 * @pool: owns the texts
 * @kernels: by number: what gpumon_kernel() gives to a program
 * @kernels_n: how many
 * @lines: what struct gpumon_context's line means: number 1 is lines[0]; 0 is a point without a line
 * @lines_n: how many
 * @images: how many were exchanged, or looked at
 * @unread: images without PTX, or of NVIDIA's libraries, that were not looked into, as all kernels are
 *          asked for
 * @kernels_room: room in @kernels
 * @lines_room: room in @lines
 * @kernel_numbers: of a name in @pool
 * @line_numbers: of a kernel, a file in @pool and a line
 * @wanted: of a name's hash: 1 + programs that the function gets, a bit each. So all images of a run
 *          have to be exchanged by the same order.
 * @near: the nearest first
 */
struct gpumon_gpuprog_run {
	struct gpumon_pool pool;
	struct gpumon_gpuprog_kernel *kernels;
	uint32_t kernels_n;
	struct gpumon_gpuprog_line_of *lines;
	uint32_t lines_n;
	uint64_t images;
	uint32_t unread;
	uint32_t kernels_room;
	uint32_t lines_room;
	struct gpumon_keys kernel_numbers;
	struct gpumon_keys line_numbers;
	struct gpumon_map wanted;
	struct gpumon_gpuprog_near near[GPUMON_GPUPROG_NEAR];
};

/* State of a kernel and the reason, for a person. */
const char *gpumon_gpuprog_kernel_why(const struct gpumon_gpuprog_kernel *kernel);

#define GPUMON_GPUPROG_NO_NUMBER GPUMON_KEY_NONE

/**
 * gpumon_gpuprog_run_kernel - the number of a kernel, which may be new
 * @run: run
 * @name: mangled
 * @size: bytes of it
 *
 * Return: the number.
 */
uint32_t gpumon_gpuprog_run_kernel(struct gpumon_gpuprog_run *run, const char *name, size_t size);

/* The number of a kernel that is known, or GPUMON_GPUPROG_NO_NUMBER. */
uint32_t gpumon_gpuprog_run_find(const struct gpumon_gpuprog_run *run, const char *name);

/* The number of a source line, from 1. */
uint64_t gpumon_gpuprog_run_line(struct gpumon_gpuprog_run *run,
				 const struct gpumon_edit_line *line);

/* Whether a kernel is to stay as it is, since it did not work with programs. */
bool gpumon_gpuprog_run_leaves(const struct gpumon_gpuprog_run *run, uint32_t kernel);

/* Say what became of a kernel; @why: "" where there is one reason only. */
void gpumon_gpuprog_run_tell(struct gpumon_gpuprog_run *run, uint32_t kernel,
			     enum gpumon_gpuprog_way way, const char *why);

/* Add what was done in a kernel of the present image. */
void gpumon_gpuprog_run_count(struct gpumon_gpuprog_run *run, struct gpumon_gpuprog_kernel *kernel,
			      const struct gpumon_edit_counts *counts);

/* An image is not used after all: what it has added is taken back. */
void gpumon_gpuprog_run_withdraw(struct gpumon_gpuprog_run *run, uint64_t image);

void gpumon_gpuprog_run_clear(struct gpumon_gpuprog_run *run);

#endif /* GPUMON_GPUPROG_IMAGE_KERNELS_H */
