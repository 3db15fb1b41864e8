// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Counts everything that probed.cu knows of itself, by number of the kernel. */
#include "gpumon_gpu.h"

#define KERNELS 64

struct counts {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNELS);
	__type(key, __u32);
	__type(value, __u64);
};

struct counts entries SEC(".maps"), exits SEC(".maps"), blocks SEC(".maps"), reads SEC(".maps"),
	writes SEC(".maps"), atomics SEC(".maps"), barriers SEC(".maps"), shared SEC(".maps");

/* Plain atomic additions, as bpftime's programs make them. */
struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_MAP);
	__uint(max_entries, KERNELS);
	__type(key, __u32);
	__type(value, __u64);
} plain SEC(".maps");

/* By number of the thread, of all kernels together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERGPUTD_ARRAY_MAP);
	__uint(max_entries, 1 << 17);
	__type(key, __u32);
	__type(value, __u64);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} by_block SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
	__type(value, __u64);
} firsts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM);
	__uint(max_entries, KERNELS);
} run_ns SEC(".maps");

SEC("gpu/entry")
int count_entry(void *ctx)
{
	__u64 kernel = gpumon_kernel(), zero = 0, block = kernel << 32 | gpumon_block();
	__u32 key = kernel;
	__u64 *count;

	gpumon_keep(0, bpf_get_globaltimer());
	gpumon_count(&entries, kernel, 1);
	gpumon_count(&threads, 0, 1);
	count = bpf_map_lookup_elem(&plain, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	count = bpf_map_lookup_elem(&by_block, &block);
	if (!count) {
		bpf_map_update_elem(&by_block, &block, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&by_block, &block);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	if (gpumon_warp_in_block() == 0 && gpumon_is_leader())
		gpumon_count(&blocks, kernel, 1);
	if (gpumon_thread() == 0)
		bpf_ringbuf_output(&firsts, &kernel, sizeof(kernel), 0);
	return 0;
}

SEC("gpu/exit")
int count_exit(void *ctx)
{
	gpumon_count(&exits, gpumon_kernel(), 1);
	if (gpumon_is_leader())
		gpumon_histogram_add(&run_ns, gpumon_kernel(),
				     bpf_get_globaltimer() - gpumon_kept(0));
	return 0;
}

SEC("gpu/memory")
int count_memory(struct gpumon_context *ctx)
{
	__u64 size = ctx->size, is_shared = (ctx->flags & (GPUMON_SHARED | GPUMON_LOCAL)) != 0;

	gpumon_count(&shared, gpumon_kernel(), is_shared * size);
	gpumon_count(&reads, gpumon_kernel(),
		     !is_shared * ((ctx->flags & GPUMON_READ) != 0) * size);
	gpumon_count(&writes, gpumon_kernel(),
		     !is_shared * ((ctx->flags & GPUMON_WRITE) != 0) * size);
	return 0;
}

SEC("gpu/atomic")
int count_atomic(struct gpumon_context *ctx)
{
	gpumon_count(&atomics, gpumon_kernel(), 1);
	return 0;
}

SEC("gpu/barrier")
int count_barrier(struct gpumon_context *ctx)
{
	gpumon_count(&barriers, gpumon_kernel(), 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
