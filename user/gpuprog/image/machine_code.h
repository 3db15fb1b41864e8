/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The kernels in machine code (SASS), to which programs cannot be added here. */
#ifndef GPUMON_GPUPROG_IMAGE_MACHINE_CODE_H
#define GPUMON_GPUPROG_IMAGE_MACHINE_CODE_H

#include "container.h"

/* Say in the run which kernels of a cubin are asked for. Returns 0, or -1 without memory. */
int gpumon_exchange_cubin(struct gpumon_exchange *exchange, const void *data, size_t size);

/**
 * gpumon_exchange_code_only - say in the run which kernels have no PTX in a container
 * @exchange: exchange
 * @container: container, after its PTX was edited
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_exchange_code_only(struct gpumon_exchange *exchange,
			      const struct gpumon_exchange_container *container);

/* What a driver makes of an image of machine code, if it has the choice. */
enum gpumon_exchange_code {
	GPUMON_EXCHANGE_CODE_STAYS,   /* no edited kernel is in it */
	GPUMON_EXCHANGE_CODE_GOES,    /* all that is in it is in edited PTX for the same GPU, too */
	GPUMON_EXCHANGE_CODE_BLOCKS,  /* an edited kernel, and another that this PTX has not */
	GPUMON_EXCHANGE_CODE_NO_TEXT, /* an edited kernel, but no PTX or unedited PTX for this GPU */
};

/**
 * gpumon_exchange_code - find out what becomes of an image of machine code
 * @exchange: exchange
 * @container: container, after its PTX was edited
 * @image: index of the image
 * @code: out
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_exchange_code(struct gpumon_exchange *exchange,
			 const struct gpumon_exchange_container *container, size_t image,
			 enum gpumon_exchange_code *code);

/* Whether the GPU of the order can run an image of machine code. */
bool gpumon_exchange_code_fits(const struct gpumon_probe_order *order,
			       const struct gpumon_fatbin_image *image);

/* The architecture of the PTX that a driver takes for a GPU, or 0: none fits. */
uint32_t gpumon_exchange_best_text(const struct gpumon_exchange_container *container, uint32_t sm);

#endif /* GPUMON_GPUPROG_IMAGE_MACHINE_CODE_H */
