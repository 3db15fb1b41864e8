// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * By kernel, how long the last warp of a block runs on after the first one has left: the block
 * waits for its stragglers. Also the time of each warp, and how often each warp of a block is the
 * last.
 */
#include "gpumon_gpu.h"

#define KERNELS	     1024 /* the last one also has all kernels with higher numbers */
#define LAST_KERNELS 128 /* blocks whose last warps are counted */
#define WARPS	     32
#define BLOCKS	     65536 /* places of running blocks: far more than a GPU holds */

struct block {
	__u64 name;  /* kernel and block that have this place, plus 1; 0: free */
	__u64 first; /* GPU's clock when the first threads left */
	__u64 left;  /* threads that have left */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BLOCKS);
	__type(key, __u32);
	__type(value, struct block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM);
	__uint(max_entries, KERNELS);
} straggling_ns_by_kernel SEC(".maps"), warp_ns_by_kernel SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LAST_KERNELS * WARPS); /* kernel by kernel */
	__type(key, __u32);
	__type(value, __u64);
} lasts SEC(".maps");

/* Counts exits of blocks whose place another block had. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} crowded SEC(".maps");

static __u64 kernel_index(void)
{
	return gpumon_kernel() < KERNELS ? gpumon_kernel() : KERNELS - 1;
}

static __u64 count_block_threads(void)
{
	__u64 x, y, z;

	bpf_get_block_dim(&x, &y, &z);
	return x * y * z;
}

/* The last threads of a block give its place back. */
static void end_block(struct block *block, __u64 now)
{
	__u64 first = block->first;

	/* The thread that read the clock first is not always the one that writes it first. */
	gpumon_histogram_add(&straggling_ns_by_kernel, kernel_index(),
			     now > first ? now - first : 0);
	if (gpumon_kernel() < LAST_KERNELS)
		gpumon_count(&lasts, gpumon_kernel() * WARPS + gpumon_warp_in_block(), 1);
	block->first = 0;
	block->left = 0;
	bpf_gpu_membar();
	block->name = 0;
}

SEC("gpu/entry")
int warpimbalance_entry(void *ctx)
{
	gpumon_keep(0, bpf_get_globaltimer());
	return 0;
}

SEC("gpu/exit")
int warpimbalance_exit(void *ctx)
{
	__u64 now = bpf_get_globaltimer(), lanes = gpumon_active_lanes();
	__u64 name = (gpumon_kernel() << 48) + gpumon_block() + 1, had;
	__u32 place = gpumon_block() % BLOCKS;
	struct block *block;

	if (!gpumon_is_leader())
		return 0;
	gpumon_histogram_add(&warp_ns_by_kernel, kernel_index(), now - gpumon_kept(0));
	block = bpf_map_lookup_elem(&blocks, &place);
	if (!block)
		return 0;
	had = __sync_val_compare_and_swap(&block->name, 0, name);
	if (had && had != name) {
		gpumon_count(&crowded, 0, 1);
		return 0;
	}
	__sync_val_compare_and_swap(&block->first, 0, now);
	/* The last thread has to see the time. */
	bpf_gpu_membar();
	if (__sync_fetch_and_add(&block->left, lanes) + lanes == count_block_threads())
		end_block(block, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
