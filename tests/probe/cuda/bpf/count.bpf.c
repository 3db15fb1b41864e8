// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Counts everything by kernel, so that the test knows each number. */
#include "gpumon_gpu.h"

#define KERNELS 64

#define COUNTER(name)                                    \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, KERNELS);            \
		__type(key, __u32);                      \
		__type(value, __u64);                    \
	} name SEC(".maps")

COUNTER(entries_by_kernel);
COUNTER(exits_by_kernel);
COUNTER(kept_by_kernel);
COUNTER(bytes_by_kernel);

/* Threads by number, to see that each has its own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} threads SEC(".maps");

/* It does not begin with zeroes. */
__u64 first = 1000;

SEC("gpu/entry")
int count_entry(void *ctx)
{
	__u64 thread = gpumon_thread(), one = 1;

	gpumon_count(&entries_by_kernel, gpumon_kernel(), 1);
	gpumon_keep(1, thread + 1);
	bpf_map_update_elem(&threads, &thread, &one, BPF_ANY);
	return 0;
}

SEC("gpu/exit")
int count_exit(void *ctx)
{
	gpumon_count(&exits_by_kernel, gpumon_kernel(), 1);
	gpumon_count(&kept_by_kernel, gpumon_kernel(), gpumon_kept(1) == gpumon_thread() + 1);
	__sync_fetch_and_add(&first, 1);
	return 0;
}

SEC("gpu/memory")
int count_memory(struct gpumon_context *ctx)
{
	if (!(ctx->flags & (GPUMON_SHARED | GPUMON_LOCAL)) && ctx->address)
		gpumon_count(&bytes_by_kernel, gpumon_kernel(), ctx->size);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
