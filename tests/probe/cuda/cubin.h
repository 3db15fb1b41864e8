/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stand-ins for cubins: ELF files with the symbols of kernels, as gpumon-user reads them, and instead
 * of machine code the text that they come from.
 */
#ifndef PROBE_CUDA_CUBIN_H
#define PROBE_CUDA_CUBIN_H

#include <stddef.h>

/* A cubin of a PTX text; to be freed. */
void *cubin_make(const char *text, size_t *size);

/* The text in a cubin, which has a NUL, or NULL. */
const char *cubin_text(const void *cubin);

#endif /* PROBE_CUDA_CUBIN_H */
