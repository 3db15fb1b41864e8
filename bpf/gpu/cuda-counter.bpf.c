// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls and time by kernel, block and SM. Time is that of warps: two at once count twice. */
#include "gpumon_gpu.h"

#define KERNELS 1024  /* the last one also has all kernels with higher numbers */
#define BLOCKS	65536 /* the last one also has all blocks with higher numbers */
#define SMS	1024

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNELS);
	__type(key, __u32);
	__type(value, __u64);
} calls_by_kernel SEC(".maps"), warps_by_kernel SEC(".maps"), warp_ns_by_kernel SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BLOCKS);
	__type(key, __u32);
	__type(value, __u64);
} warp_ns_by_block SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SMS);
	__type(key, __u32);
	__type(value, __u64);
} warp_ns_by_sm SEC(".maps");

static __u64 kernel_index(void)
{
	return gpumon_kernel() < KERNELS ? gpumon_kernel() : KERNELS - 1;
}

SEC("gpu/entry")
int counter_entry(void *ctx)
{
	gpumon_keep(0, bpf_get_globaltimer());
	if (!gpumon_thread())
		gpumon_count(&calls_by_kernel, kernel_index(), 1);
	if (gpumon_is_leader())
		gpumon_count(&warps_by_kernel, kernel_index(), 1);
	return 0;
}

/*
 * If threads of a warp leave one after the other, the time of each group counts for its share of
 * the warp.
 */
SEC("gpu/exit")
int counter_exit(void *ctx)
{
	__u64 ns = bpf_get_globaltimer() - gpumon_kept(0), block = gpumon_block();

	ns = ns * gpumon_active_lanes() / 32;
	if (!gpumon_is_leader())
		return 0;
	gpumon_count(&warp_ns_by_kernel, kernel_index(), ns);
	gpumon_count(&warp_ns_by_sm, bpf_get_sm_id(), ns);
	gpumon_count(&warp_ns_by_block, block < BLOCKS ? block : BLOCKS - 1, ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
