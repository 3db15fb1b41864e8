/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Exchanges the image of a module: takes what a program hands to one of CUDA's loaders, and writes what
 * the loader gets instead. Pure: no CUDA, no files.
 */
#ifndef GPUMON_GPUPROG_IMAGE_EXCHANGE_H
#define GPUMON_GPUPROG_IMAGE_EXCHANGE_H

#include <stdio.h>

#include "lib/error.h"
#include "gpuprog/object/object.h"
#include "gpuprog/object/program.h"
#include "kernels.h"

/**
 * struct gpumon_gpuprog_order - what to put into which kernels
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
 * @owner: whose the image is, if its PTX has to stay as it is (names.h); NULL: it may be edited
 * @patched: machine code is patched when it is loaded (gpumon_gpuprog_patched()): kernels without PTX are left out here
 * @no_functions: device functions that kernels call get no programs
 * @first: number of the first kernel that gets programs in this image
 * @end: and one behind that of the last; 0: all do
 */
struct gpumon_gpuprog_order {
	const struct gpumon_gpuprog_object *object;
	const struct gpumon_gpuprog_fact *const *facts;
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

enum gpumon_gpuprog_outcome {
	GPUMON_GPUPROG_EXCHANGED, /* the new image is to be loaded */
	GPUMON_GPUPROG_UNTOUCHED, /* no kernel that was asked for, or none that can be edited */
};

/**
 * gpumon_gpuprog_exchange - write the image that replaces another
 * @order: what to do
 * @image: PTX, cubin, or the container of a fat binary (not its wrapper), or several of these one behind
 *         the other; not trusted
 * @size: bytes
 * @run: kernels and lines are added to it
 * @out: stream for the new image, of the same form; nothing is written to it if it stays untouched. PTX
 *       ends with a NUL if that of @image does. Of a container the SASS of kernels that were edited is
 *       left out, and other images stay byte for byte.
 * @outcome: out
 * @err: why not: @out failed. What is wrong with an image is said in @run, for its
 *       kernels.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_exchange(const struct gpumon_gpuprog_order *order, const void *image,
			    size_t size, struct gpumon_gpuprog_run *run, FILE *out,
			    enum gpumon_gpuprog_outcome *outcome, struct gpumon_error *err);

/**
 * gpumon_gpuprog_patched - find the kernels of a module that get programs
 * @order: what to do
 * @cubin: the module; not trusted
 * @size: bytes
 * @run: the kernels are added to it
 * @each: called for each: number, programs (1 << index), name
 * @argument: for @each
 *
 * In a module that the driver has made of an edited image, kernels with programs have them already, and
 * the others are left alone. A module that cannot be read has no kernels.
 */
void gpumon_gpuprog_patched(const struct gpumon_gpuprog_order *order, const void *cubin,
			    size_t size, struct gpumon_gpuprog_run *run,
			    void (*each)(void *argument, uint32_t number, uint32_t programs,
					 const char *name),
			    void *argument);

/* How many of an order's programs are kernels of their own. */
uint32_t gpumon_gpuprog_own_n(const struct gpumon_gpuprog_order *order);

/**
 * gpumon_gpuprog_own_write - write the kernels
 * @order: programs, @sm is the GPU's, with @own
 * @run: kernels are added to it
 * @out: stream for PTX, without a NUL behind it
 * @err: a program has a name that PTX does not allow or that another one has, or does not work there
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_own_write(const struct gpumon_gpuprog_order *order,
			     struct gpumon_gpuprog_run *run, FILE *out, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_EXCHANGE_H */
