/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The ranges of the API's code. The BPF program may read them while they change. */
#ifndef GPUMON_RECORD_UPROBE_RANGES_H
#define GPUMON_RECORD_UPROBE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

#include "../bpf/uprobe.h"

/**
 * gpumon_uprobe_ranges_replace - replace the ranges
 * @tables: one is valid, the other one is written
 * @now: index of the valid one
 * @ranges: new ranges
 * @count: number of @ranges; those beyond UPROBE_RANGES are left out
 *
 * A concurrent reader sees either the old or the new ranges: without any, it would count a nested
 * call as a hit. Nothing is written if nothing changes.
 *
 * Return: false if some were left out.
 */
bool gpumon_uprobe_ranges_replace(struct uprobe_ranges tables[2], uint32_t *now,
				  const struct uprobe_range *ranges, unsigned int count);

/* The number of the API's file with code at @address, 0 if there is none. */
uint64_t gpumon_uprobe_ranges_file(const struct uprobe_ranges *ranges, uint64_t address);

#endif /* GPUMON_RECORD_UPROBE_RANGES_H */
