// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A program for the CPU counts launches; those for the GPU read the count, and count on their side. */
#include "gpumon_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} launches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} step SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("uprobe")
int launched(void *ctx)
{
	__u32 first = 0;
	__u64 *count = bpf_map_lookup_elem(&launches, &first);

	__u32 *more = bpf_map_lookup_elem(&step, &first);

	if (count && more)
		__sync_fetch_and_add(count, *more);
	return 0;
}

SEC("gpu/entry")
int entry(void *ctx)
{
	__u32 first = 0, second = 1, index;
	__u64 *count = bpf_map_lookup_elem(&launches, &first), *of;

	if (gpumon_thread() || !count)
		return 0;
	index = *count & 3;
	of = bpf_map_lookup_elem(&seen, &index);
	if (of)
		__sync_fetch_and_add(of, *count);
	of = bpf_map_lookup_elem(&launches, &second);
	if (of)
		__sync_fetch_and_add(of, 10);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
