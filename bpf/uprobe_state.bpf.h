/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Data shared by userspace and the programs of uprobe.bpf.c, and state between hits. */
#ifndef GPUMON_BPF_UPROBE_STATE_BPF_H
#define GPUMON_BPF_UPROBE_STATE_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "uprobe.h"

/* The target: its pid namespace by the kernel's numbers, and its pid there. */
const volatile __u64 namespace_device;
const volatile __u64 namespace_inode;
const volatile __u32 target_pid;
const volatile __u32 depth_max = 127;
const volatile bool with_stacks = true;
/* Bits of a saved return address that are none of a signature, which only arm64 has. */
const volatile __u64 address_bits = ~0ull;
/* Fill level of the ring, in bytes, that wakes the reader. It also polls. */
const volatile __u64 wake_bytes = 256 << 10;

/*
 * Code ranges of API libraries: calls from there are not the program's own. The table with the
 * number ranges_now is valid, and userspace writes the other one.
 */
struct uprobe_ranges ranges[2];
__u32 ranges_now;

/* The linker is changing the mappings. Known rules are not used until userspace has read them. */
__u64 linker_changes;
__u64 linker_settled;
/* Vulkan devices that the program has made. */
__u64 device_changes;
/* Incremented when addresses got a new meaning. */
__u32 generation;

/*
 * Not all probes are attached (any more), or the process called exec(). Calls are not hits then,
 * but nested calls are still recognised.
 */
__u32 stopped = 1;

__u32 last_stack;
__u64 copies_sent;
__u64 copies_seen;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

/*
 * States of threads, by tid in the initial pid namespace. An entry is removed when its thread ends.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct uprobe_thread);
} threads SEC(".maps");

/*
 * Stacks that were sent, by hash. Entries contain the frames, which are compared: of two stacks
 * with the same hash, the second one is sent each time and never mistaken for the first. Their
 * "type" is their generation.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct uprobe_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct uprobe_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UPROBE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	/* Atomic, since another task's hit may come in between on the same CPU. */
	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline __u64 wake(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wake_bytes ? BPF_RB_FORCE_WAKEUP :
									     BPF_RB_NO_WAKEUP;
}

#endif /* GPUMON_BPF_UPROBE_STATE_BPF_H */
