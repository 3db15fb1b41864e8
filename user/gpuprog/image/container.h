/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Puts programs into the PTX images of a container, and decides which SASS has to go. */
#ifndef GPUMON_GPUPROG_IMAGE_CONTAINER_H
#define GPUMON_GPUPROG_IMAGE_CONTAINER_H

#include "fatbin.h"
#include "text.h"

/**
 * struct gpumon_exchange_container - a container
 * @fatbin: its images
 * @sources: unpacked PTX of each image, or NULL
 * @texts: what became of it
 * @changes: what is written
 * @changed: anything else than before
 */
struct gpumon_exchange_container {
	struct gpumon_fatbin fatbin;
	uint8_t **sources;
	struct gpumon_exchange_text *texts;
	struct gpumon_fatbin_change *changes;
	bool changed;
};

/**
 * gpumon_exchange_container_edit - put programs into a container
 * @exchange: exchange
 * @data: container
 * @size: bytes that are there
 * @container: out, to be cleared in any case
 *
 * What becomes of its kernels is said in the run. A container that cannot be read is left as it is.
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_exchange_container_edit(struct gpumon_exchange *exchange, const void *data, size_t size,
				   struct gpumon_exchange_container *container);
void gpumon_exchange_container_clear(struct gpumon_exchange_container *container);

#endif /* GPUMON_GPUPROG_IMAGE_CONTAINER_H */
