/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What userspace and the programs of uprobe.bpf.c tell each other, and what is kept between hits. */
#ifndef GPUMON_BPF_UPROBE_STATE_BPF_H
#define GPUMON_BPF_UPROBE_STATE_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "uprobe.h"

/* Which process: its pid namespace as the kernel numbers it, and its pid there. */
const volatile __u64 namespace_device;
const volatile __u64 namespace_inode;
const volatile __u32 target_pid;
const volatile __u32 depth_max = 127;
const volatile bool with_stacks = true;
/* Bytes in the ring from which on the reader is woken; it comes by itself, too. */
const volatile __u64 wake_bytes = 256 << 10;

/*
 * Code of libraries of the API: whoever calls from there is not the program. One of the two holds,
 * that of ranges_now; the other is written by userspace.
 */
struct uprobe_ranges ranges[2];
__u32 ranges_now;

/*
 * The dynamic linker changes what is mapped: until userspace has looked at it,
 * what is known of addresses is not used.
 */
__u64 linker_changes;
__u64 linker_settled;
/* Grows when addresses got another meaning. */
__u32 generation;

/*
 * Not all probes are there yet, or not any more, or the process became another program:
 * calls are not hits then, but those within them are known as such.
 */
__u32 stopped = 1;

__u32 last_stack;
__u64 copies_sent;
__u64 copies_seen;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

/* By tid of the initial pid namespace. Entries go when their thread ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct uprobe_thread);
} threads SEC(".maps");

/*
 * Stacks that were sent, by hash. An entry holds the frames, and they are
 * compared: of two stacks with one hash the second is sent each time, and is
 * never taken for the first. Their "type" is the generation they are of.
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

	/* Atomic, since another task's hit may come in between on this very processor. */
	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline __u64 wake(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wake_bytes ? BPF_RB_FORCE_WAKEUP :
									     BPF_RB_NO_WAKEUP;
}

#endif /* GPUMON_BPF_UPROBE_STATE_BPF_H */
