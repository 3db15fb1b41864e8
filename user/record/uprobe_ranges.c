// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "uprobe_ranges.h"

bool gpumon_uprobe_ranges_replace(struct uprobe_ranges tables[2], uint32_t *now,
				  const struct uprobe_range *ranges, unsigned int count)
{
	const struct uprobe_ranges *old = &tables[*now];
	struct uprobe_ranges *next = &tables[!*now];
	bool all = count <= UPROBE_RANGES;

	if (!all)
		count = UPROBE_RANGES;
	/* A preempted reader's table is only rewritten after two changes: avoid needless ones. */
	if (old->count == count && !memcmp(old->all, ranges, count * sizeof(*ranges)))
		return all;
	memcpy(next->all, ranges, count * sizeof(*ranges));
	next->count = count;
	__atomic_store_n(now, !*now, __ATOMIC_RELEASE);
	return all;
}

uint64_t gpumon_uprobe_ranges_file(const struct uprobe_ranges *ranges, uint64_t address)
{
	for (uint64_t i = 0; i < ranges->count; i++)
		if (address >= ranges->all[i].start && address < ranges->all[i].end)
			return ranges->all[i].file;
	return 0;
}
