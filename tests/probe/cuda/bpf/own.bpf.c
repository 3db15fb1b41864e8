// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Kernels of their own, one after the other. */
#include "gpumon_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} given SEC(".maps"), doubled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} runs SEC(".maps");

SEC("gpu/run")
int double_them(void *ctx)
{
	__u32 index = gpumon_thread();
	__u32 *from = bpf_map_lookup_elem(&given, &index), *to;

	to = bpf_map_lookup_elem(&doubled, &index);
	if (from && to)
		*to = 2 * *from;
	gpumon_count(&runs, 0, 1);
	return 0;
}

SEC("gpu/run")
int once_more(void *ctx)
{
	__u32 index = gpumon_thread();
	__u32 *to = bpf_map_lookup_elem(&doubled, &index);

	if (to)
		*to += 1;
	gpumon_count(&runs, 1, 1);
	if (!index)
		bpf_printk("process %d", bpf_get_current_pid_tgid() >> 32 != 0);
	return 0;
}

/* Of a program around it; there is none. */
SEC("gpu/entry")
int entry(void *ctx)
{
	gpumon_count(&runs, 0, 1000000);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
