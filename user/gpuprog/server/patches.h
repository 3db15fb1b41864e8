/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs as functions for patches of machine code: NVIDIA's sanitizer and assembler, and what they make. */
#ifndef GPUMON_GPUPROG_SERVER_PATCHES_H
#define GPUMON_GPUPROG_SERVER_PATCHES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi/wire.h"
#include "lib/error.h"
#include "gpuprog/image/exchange.h"
#include "gpuprog/result/coverage.h"
#include "options.h"

/**
 * gpumon_cache_read - what was kept
 * @kind: name of the folder in the cache
 * @key: all that it was made from
 * @key_size: bytes
 * @size: out: bytes
 *
 * Return: it, to be freed; NULL: it is not there.
 */
void *gpumon_cache_read(const char *kind, const void *key, size_t key_size, size_t *size);

/**
 * gpumon_cache_write - keep something
 * @kind: name of the folder in the cache, which is made if it is not there
 * @key: all that it was made from
 * @key_size: bytes
 * @data: what to keep
 * @size: bytes
 */
void gpumon_cache_write(const char *kind, const void *key, size_t key_size, const void *data,
			size_t size);

/**
 * gpumon_gpuprog_find_sanitizer - find libsanitizer-public.so
 * @given: path that the user named, or NULL
 * @path: out, @room bytes
 * @room: bytes
 * @err: where it was looked for, and what to do
 *
 * GPUMON_SANITIZER of the environment, CUDA's usual folders, of several versions the newest, and that of
 * Debian's package.
 *
 * Return: 0, or -1 with @err, of status 77.
 */
int gpumon_gpuprog_find_sanitizer(const char *given, char *path, size_t room,
				  struct gpumon_error *err);

/**
 * gpumon_gpuprog_find_ptxas - find an assembler
 * @given: path that the user named, or NULL
 * @program: what will be run: the wheels of its Python may have one
 * @path: out
 * @err: where it was looked for, and what to do
 *
 * GPUMON_PTXAS and TRITON_PTXAS_PATH of the environment, PATH, CUDA's usual folder, and the wheels of
 * PyTorch and Triton.
 *
 * Return: 0, or -1 with @err, of status 77.
 */
int gpumon_gpuprog_find_ptxas(const char *given, const char *program, char path[PATH_MAX],
			      struct gpumon_error *err);

/**
 * struct gpumon_gpuprog_code - functions for an architecture
 * @made: see there
 * @places: that have functions, a bit each
 * @code: cubin of @made.size bytes
 * @why: they cannot be made, else ""
 */
struct gpumon_gpuprog_code {
	struct gpumon_gpuprog_assembly made;
	uint32_t places;
	void *code;
	char why[sizeof(((struct gpumon_error *)0)->message)];
};

/**
 * struct gpumon_gpuprog_patches - what patches need
 * @order: programs
 * @ptxas: assembler
 * @sanitizer: library
 * @sample: 1 of so many blocks runs programs; 0: all
 * @codes: what was made
 * @codes_n: how many
 */
struct gpumon_gpuprog_patches {
	const struct gpumon_gpuprog_order *order;
	char ptxas[PATH_MAX];
	char sanitizer[GPUMON_WIRE_PATH];
	uint32_t sample;
	struct gpumon_gpuprog_code codes[GPUMON_GPUPROG_MAX_TARGETS];
	uint32_t codes_n;
};

/**
 * gpumon_gpuprog_patches_open - see whether patches are possible here, before anything is run
 * @patches: out, with @order set; to be closed
 * @options: see there
 * @program: what will be run
 * @err: a program that cannot be in patches; no library, no assembler (status 77)
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_patches_open(struct gpumon_gpuprog_patches *patches,
				const struct gpumon_gpuprog_options *options, const char *program,
				struct gpumon_error *err);

/**
 * gpumon_gpuprog_patches_make - the functions for an architecture, made when it comes for the first time
 * @patches: open
 * @sm: architecture: 90
 * @folder: private, for files of the assembler
 *
 * Return: them, or with @why; NULL: too many architectures.
 */
const struct gpumon_gpuprog_code *
gpumon_gpuprog_patches_make(struct gpumon_gpuprog_patches *patches, uint32_t sm,
			    const char *folder);

/* List the places to be patched, for the library. Return: how many. */
uint32_t gpumon_gpuprog_patches_points(const struct gpumon_gpuprog_code *code,
				       struct gpumon_wire_point points[GPUMON_WIRE_POINTS]);

void gpumon_gpuprog_patches_close(struct gpumon_gpuprog_patches *patches);

#endif /* GPUMON_GPUPROG_SERVER_PATCHES_H */
