/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Whether a cubin may hold a wanted kernel, by its first kilobytes. */
#ifndef GPUMON_GPUPROG_IMAGE_ELF_NAMES_H
#define GPUMON_GPUPROG_IMAGE_ELF_NAMES_H

#include "names.h"
#include "fatbin.h"

/**
 * gpumon_exchange_may_hold - look for the names of kernels at the beginning of an image
 * @exchange: exchange
 * @image: image of machine code
 *
 * CUDA's assembler writes the names of sections first. Unpacking these is a hundred times faster than
 * all of a large image. If they stand elsewhere the answer is yes.
 *
 * Return: whether it may hold a wanted kernel, or -1 without memory.
 */
int gpumon_exchange_may_hold(struct gpumon_exchange *exchange,
			     const struct gpumon_fatbin_image *image);

#endif /* GPUMON_GPUPROG_IMAGE_ELF_NAMES_H */
