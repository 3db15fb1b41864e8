/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads a cubin, an ELF file with machine code (SASS): its kernels, and accesses that patches do not see. */
#ifndef GPUMON_GPUPROG_IMAGE_CUBIN_H
#define GPUMON_GPUPROG_IMAGE_CUBIN_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuprog/ptx/edit.h"

/**
 * gpumon_fatbin_elf_unpatched - count such accesses of each kernel
 * @data: cubin, not trusted
 * @size: bytes
 * @each: called for each kernel that has some, with how many places there are by cause
 * @context: for @each
 *
 * Device functions that a kernel calls are included, as far as the cubin says which it calls. Of GPUs
 * before Volta nothing is counted: their machine code is another. What cannot be read has no such
 * accesses.
 */
void gpumon_fatbin_elf_unpatched(const void *data, size_t size,
				 void (*each)(void *context, const char *kernel,
					      const uint64_t unseen[GPUMON_EDIT_CAUSES_N]),
				 void *context);

#endif /* GPUMON_GPUPROG_IMAGE_CUBIN_H */
