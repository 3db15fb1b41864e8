/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What processes use of rings, the counterpart of kmod/drivers/drm_sched/usage.c. */
#ifndef GPUMON_BPF_SOURCE_USAGE_BPF_H
#define GPUMON_BPF_SOURCE_USAGE_BPF_H

#include "source_ring.bpf.h"

struct source_usage usages[SOURCE_USAGES + 1];

/*
 * Slot for the jobs of a process on a ring, that of all others if there is no room. Not static: else
 * the verifier would follow the caller from each place where a key may be.
 */
__noinline __u32 usage_of(__u32 ring, __u32 process, __u64 client)
{
	struct source_usage *usage;
	bool created;
	__u32 slot;

	if (ring > SOURCE_RING_OTHER)
		return SOURCE_USAGE_OTHER;
	TESTED(ring);
	slot = CLAIM(usages, SOURCE_USAGES, mix(mix(rings[ring].key, process + 1), client) | 1,
		     &created);
	if (slot >= SOURCE_USAGES)
		return SOURCE_USAGE_OTHER;
	if (!created)
		return slot;
	TESTED(slot);
	usage = &usages[slot];
	usage->ring_key = rings[ring].key;
	__builtin_memcpy(usage->device, rings[ring].device, SOURCE_NAME_LEN);
	__builtin_memcpy(usage->ring, rings[ring].name, SOURCE_NAME_LEN);
	usage->process = process < SOURCE_PROCESSES ? process + 1 : 0;
	usage->client = client;
	__sync_fetch_and_or(&usage->ready, 1);
	return slot;
}

INLINE void usage_add(__u32 slot, enum source_usage_word word, __u64 n)
{
	if (slot > SOURCE_USAGE_OTHER)
		return;
	TESTED(slot);
	add(&usages[slot].words[word], n);
}

#endif /* GPUMON_BPF_SOURCE_USAGE_BPF_H */
