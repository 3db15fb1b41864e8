/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The programs as PTX, for the target of one text. */
#ifndef GPUMON_GPUPROG_IMAGE_BLOCKS_H
#define GPUMON_GPUPROG_IMAGE_BLOCKS_H

#include "names.h"
#include "gpuprog/ptx/translate.h"

/* The blocks of functions with the same programs. */
struct gpumon_exchange_set {
	uint32_t programs;
	bool keeps;
	char *blocks[GPUMON_PROBE_POINTS];
};

/**
 * struct gpumon_exchange_blocks - programs for a target
 * @target: target
 * @tried: programs that were translated, or that cannot be
 * @failed: programs that cannot be translated
 * @why: the message of the first of them
 * @texts: of each program
 * @sets: blocks
 * @sets_n: how many
 */
struct gpumon_exchange_blocks {
	struct gpumon_probe_target target;
	uint32_t tried;
	uint32_t failed;
	char why[sizeof(((struct gpumon_error *)0)->message)];
	char *texts[GPUMON_PROBE_MAX_PROGRAMS];
	struct gpumon_exchange_set *sets;
	size_t sets_n;
};

/**
 * gpumon_exchange_blocks_add - translate programs, unless they are already
 * @exchange: exchange
 * @blocks: programs
 * @programs: which
 *
 * Return: 0, or -1 without memory. A program that the target cannot do is then in @failed.
 */
int gpumon_exchange_blocks_add(struct gpumon_exchange *exchange,
			       struct gpumon_exchange_blocks *blocks, uint32_t programs);

/**
 * gpumon_exchange_blocks_set - find or make the blocks of some programs
 * @exchange: exchange
 * @blocks: programs, translated
 * @programs: which
 *
 * Return: an index of @sets, or -1 without memory.
 */
ssize_t gpumon_exchange_blocks_set(struct gpumon_exchange *exchange,
				   struct gpumon_exchange_blocks *blocks, uint32_t programs);
void gpumon_exchange_blocks_clear(struct gpumon_exchange_blocks *blocks);

#endif /* GPUMON_GPUPROG_IMAGE_BLOCKS_H */
