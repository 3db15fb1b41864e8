/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs as PTX for one target, and what each kernel gets of them. */
#ifndef GPUMON_PROBE_BLOCKS_H
#define GPUMON_PROBE_BLOCKS_H

#include "exchange.h"
#include "probe/edit/edit.h"

/**
 * struct gpumon_probe_blocks - programs for one target
 * @order: programs
 * @texts: by number of the program: its block; NULL: not translated
 * @keeps: by number of the program: it keeps values
 * @why: why the first one that cannot be translated is not
 * @pool: owns plans and their texts
 */
struct gpumon_probe_blocks {
	const struct gpumon_probe_order *order;
	char *texts[GPUMON_PROBE_MAX_PROGRAMS];
	bool keeps[GPUMON_PROBE_MAX_PROGRAMS];
	struct gpumon_error why;
	struct gpumon_pool pool;
};

/**
 * gpumon_probe_blocks_make - translate an order's programs
 * @blocks: out, to be cleared in both cases
 * @order: programs
 * @isa: of the module, major * 10 + minor
 * @sm: of the module
 *
 * Return: 0, or -1 with @blocks' @why: none of the target's instructions do what a program needs.
 */
int gpumon_probe_blocks_make(struct gpumon_probe_blocks *blocks,
			     const struct gpumon_probe_order *order, uint32_t isa, uint32_t sm);
void gpumon_probe_blocks_clear(struct gpumon_probe_blocks *blocks);

/* Whether the order has a program for this kernel, or (@is_kernel false) device function. */
bool gpumon_probe_is_wanted(const struct gpumon_probe_order *order, const char *name,
			    bool is_kernel);

/**
 * gpumon_probe_blocks_plan - what a kernel or device function gets
 * @blocks: translated programs
 * @name: of the function
 * @is_kernel: it is a kernel
 * @number: its number
 *
 * Return: a plan that lives as long as @blocks; NULL: nothing, or no memory.
 */
const struct gpumon_edit_plan *gpumon_probe_blocks_plan(struct gpumon_probe_blocks *blocks,
							const char *name, bool is_kernel,
							uint32_t number);

#endif /* GPUMON_PROBE_BLOCKS_H */
