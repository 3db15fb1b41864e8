/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Exchanges the image of a module: takes what a program hands to one of CUDA's loaders, and writes what
 * the loader gets instead. Pure: no CUDA, no files.
 */
#ifndef GPUMON_GPUPROG_IMAGE_EXCHANGE_H
#define GPUMON_GPUPROG_IMAGE_EXCHANGE_H

#include <stdio.h>

#include "lib/error.h"
#include "gpuprog/object/fact.h"
#include "gpuprog/object/object.h"
#include "run.h"

/**
 * struct gpumon_probe_order - what to put into which kernels
 * @object: programs and maps; maps are in the table of addresses in this order
 * @facts: for each program what was proved, or NULL: it is left out
 * @own: only programs of gpu/run, at the entries of kernels with their names; false: all others
 * @kernels: patterns (* and ?) of kernels' names. A pattern is compared with the mangled name and with
 *           the demangled one: all of it, without parameters, without template arguments, too. A kernel
 *           has to match one of these, and one that the program's section names.
 * @kernels_n: how many; 0: all kernels
 * @sm: architecture of the GPU, 90 for 9.0; 0 if images are for several. Only what this GPU would use is
 *      then looked at.
 * @shards: copies of what aggregates by SM, a power of two
 * @fuel: backward jumps that one run of a program may take
 * @owner: whose the image is, if its PTX has to stay as it is (owner.h); NULL: it may be edited
 * @patched: machine code is patched when it is loaded (patched.h): kernels without PTX are left out here
 * @no_functions: device functions that kernels call get no programs
 * @first: number of the first kernel that gets programs in this image
 * @end: and one behind that of the last; 0: all do
 */
struct gpumon_probe_order {
	const struct gpumon_probe_object *object;
	const struct gpumon_probe_fact *const *facts;
	bool own;
	const char *const *kernels;
	uint32_t kernels_n;
	uint32_t sm;
	uint32_t shards;
	uint32_t fuel;
	const char *owner;
	bool patched;
	bool no_functions;
	uint32_t first;
	uint32_t end;
};

enum gpumon_probe_outcome {
	GPUMON_PROBE_EXCHANGED, /* the new image is to be loaded */
	GPUMON_PROBE_UNTOUCHED, /* no kernel that was asked for, or none that can be edited */
};

/**
 * gpumon_probe_exchange - write the image that replaces another
 * @order: what to do
 * @image: PTX, cubin, or the container of a fat binary (not its wrapper), or several of these one behind
 *         the other; not trusted
 * @size: bytes
 * @run: kernels and lines are added to it
 * @out: stream for the new image, of the same form; nothing is written to it if it stays untouched. PTX
 *       ends with a NUL if that of @image does. Of a container the SASS of kernels that were edited is
 *       left out, and other images stay byte for byte.
 * @outcome: out
 * @err: why not: no memory, or @out failed. What is wrong with an image is said in @run, for its
 *       kernels.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_exchange(const struct gpumon_probe_order *order, const void *image, size_t size,
			  struct gpumon_probe_run *run, FILE *out,
			  enum gpumon_probe_outcome *outcome, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_EXCHANGE_H */
