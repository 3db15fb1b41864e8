/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What of NVIDIA's tools patches of machine code need: its sanitizer's library and an assembler. */
#ifndef GPUMON_GPUPROG_SERVE_TOOLCHAIN_H
#define GPUMON_GPUPROG_SERVE_TOOLCHAIN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/error.h"

/**
 * gpumon_probe_find_sanitizer - find libsanitizer-public.so
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
int gpumon_probe_find_sanitizer(const char *given, char *path, size_t room,
				struct gpumon_error *err);

/**
 * gpumon_probe_find_ptxas - find an assembler
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
int gpumon_probe_find_ptxas(const char *given, const char *program, char path[PATH_MAX],
			    struct gpumon_error *err);

/**
 * gpumon_probe_assemble - assemble functions for patches, or read what an earlier run has assembled
 * @ptxas: assembler
 * @sm: architecture: 90
 * @folder: private one, for files that are removed again
 * @text: PTX
 * @size: bytes of it
 * @code: out: cubin, to be freed
 * @code_size: out
 * @cached: out: nothing was assembled
 * @err: what the assembler says
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_assemble(const char *ptxas, unsigned int sm, const char *folder, const char *text,
			  size_t size, void **code, size_t *code_size, bool *cached,
			  struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_TOOLCHAIN_H */
