/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Rings and the schedulers that have them, the counterpart of kmod/drivers/drm_sched/ring.c. */
#ifndef GPUMON_BPF_SOURCE_RING_BPF_H
#define GPUMON_BPF_SOURCE_RING_BPF_H

#include "source.bpf.h"

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
} KERNEL_TYPE;

struct source_ring rings[SOURCE_RINGS];
struct source_scheduler schedulers[SOURCE_SCHEDULERS];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOURCE_RINGS);
	__type(key, __u32);
	__type(value, struct source_ring_words);
} ring_words SEC(".maps");

INLINE __u64 *words_of(__u32 ring)
{
	struct source_ring_words *words = bpf_map_lookup_elem(&ring_words, &ring);

	return words ? words->word : NULL;
}

/* Addresses differ in their low bits, but the high bits of the key select the slot. */
INLINE __u64 scheduler_key(__u64 address)
{
	return address * 0x9e3779b97f4a7c15ULL;
}

/* Of a name, and a constant that is not longer than it. */
INLINE bool equal(const char *name, const char *text)
{
#pragma unroll
	for (int i = 0; i < 8; i++) {
		if (name[i] != text[i])
			return false;
		if (!text[i])
			break;
	}
	return true;
}

/* Does the device's driver number the schedulers of applications' queues? */
INLINE bool numbers_queues(const struct device *device)
{
	char name[16] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(device, driver, name));
	return equal(name, "xe") || equal(name, "amdxdna");
}

struct name {
	char text[SOURCE_NAME_LEN];
};

INLINE bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * "rcs17" and "hwctx.4711.3" become "rcs" and "hwctx": as in the module, such schedulers are one
 * ring for each class of engines. Not static, so that the verifier checks it once, by itself: each
 * length would be another state of its callers.
 */
__noinline int leave_class(struct name *name)
{
	bool cut = false;

	if (!name || is_digit(name->text[0]) || name->text[0] == '.')
		return 0;
	for (int i = 0; i < SOURCE_NAME_LEN; i++) {
		cut = cut || is_digit(name->text[i]);
		if (cut)
			name->text[i] = 0;
	}
	for (int i = SOURCE_NAME_LEN - 1; i && (!name->text[i] || name->text[i] == '.'); i--)
		name->text[i] = 0;
	return 0;
}

/* Learn the ring of a new scheduler, or of a new one at a known address. */
static __noinline __u32 ring_learn(__u64 address)
{
	const struct drm_gpu_scheduler *sched = (const void *)address;
	const struct device *device = BPF_CORE_READ(sched, dev);
	const char *text = BPF_CORE_READ(sched, name);
	struct source_scheduler *known;
	char device_text[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	char name[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	__u32 slot, place;
	bool created;

	device_name(device_text, device);
	if (!text || bpf_probe_read_kernel_str(name, sizeof(name), text) <= 1)
		name[0] = '-';
	if (numbers_queues(device))
		leave_class((struct name *)name);
	slot = CLAIM(rings, SOURCE_RINGS, hash_name(hash_name(1, device_text), name) | 1, &created);
	if (slot >= SOURCE_RINGS)
		return SOURCE_NONE;
	if (created) {
		__builtin_memcpy(rings[slot].device, device_text, SOURCE_NAME_LEN);
		__builtin_memcpy(rings[slot].name, name, SOURCE_NAME_LEN);
		__sync_fetch_and_or(&rings[slot].ready, 1);
	}
	/* If there is no room, it is learned again the next time. */
	place = CLAIM(schedulers, SOURCE_SCHEDULERS, scheduler_key(address), &created);
	if (place < SOURCE_SCHEDULERS) {
		known = &schedulers[place];
		known->ring = 0;
		known->device = (__u64)device;
		known->name = (__u64)text;
		known->ring = slot + 1;
	}
	return slot;
}

INLINE __u32 ring_of(const struct drm_gpu_scheduler *sched)
{
	const __u64 key = scheduler_key((__u64)sched);
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);
	const struct source_scheduler *known;
	__u64 device, name;

	if (place < SOURCE_SCHEDULERS) {
		known = &schedulers[place];
		device = (__u64)BPF_CORE_READ(sched, dev);
		name = (__u64)BPF_CORE_READ(sched, name);
		if (known->ring && known->device == device && known->name == name)
			return known->ring - 1;
	}
	return ring_learn((__u64)sched);
}

INLINE void scheduler_forget(__u64 key)
{
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);

	if (place >= SOURCE_SCHEDULERS)
		return;
	schedulers[place].ring = 0;
	__sync_val_compare_and_swap(&schedulers[place].key, key, 0);
}

#endif /* GPUMON_BPF_SOURCE_RING_BPF_H */
