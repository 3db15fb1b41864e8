/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where the API's code is, as the BPF program reads it while it is changed. */
#ifndef GPUMON_UPROBE_RANGES_H
#define GPUMON_UPROBE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

#include "../bpf/uprobe.h"

/**
 * gpumon_uprobe_ranges_replace - other ranges hold from now on
 * @tables: one holds, one is written
 * @now: which one holds
 * @ranges: what is to hold
 * @count: of them; from UPROBE_RANGES on they are left out
 *
 * Who reads at the same time sees the old ones or the new ones, whole: without any a nested
 * call would be a hit. Nothing is written where nothing changes.
 *
 * Return: false if some were left out.
 */
bool gpumon_uprobe_ranges_replace(struct uprobe_ranges tables[2], uint32_t *now,
				  const struct uprobe_range *ranges, unsigned int count);

#endif /* GPUMON_UPROBE_RANGES_H */
