// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* When each thread leaves a kernel: sums by kernel and lane of the warp, exact, and single records. */
#include "gpumon_gpu.h"

#define LANES	32
#define KERNELS 128 /* the last one also has all kernels with higher numbers */

struct lane {
	__u64 exits;
	__u64 ns; /* since the kernel's first instruction in the same thread */
};

struct record {
	__u64 thread;
	__u64 ns; /* GPU's clock */
	__u64 kernel;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNELS * LANES); /* kernel by kernel */
	__type(key, __u32);
	__type(value, struct lane);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM);
	__uint(max_entries, LANES);
} times_ns_by_lane SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
	__type(value, struct record);
} exits SEC(".maps");

SEC("gpu/entry")
int kernelretsnoop_entry(void *ctx)
{
	gpumon_keep(0, bpf_get_globaltimer());
	return 0;
}

SEC("gpu/exit")
int kernelretsnoop_exit(void *ctx)
{
	struct record record = { .thread = gpumon_thread(),
				 .ns = bpf_get_globaltimer(),
				 .kernel = gpumon_kernel() };
	__u64 ns = record.ns - gpumon_kept(0);
	__u64 kernel = record.kernel < KERNELS ? record.kernel : KERNELS - 1;
	__u32 key = kernel * LANES + bpf_get_lane_id();
	struct lane *lane = bpf_map_lookup_elem(&lanes, &key);

	if (lane) {
		__sync_fetch_and_add(&lane->exits, 1);
		__sync_fetch_and_add(&lane->ns, ns);
	}
	gpumon_histogram_add(&times_ns_by_lane, bpf_get_lane_id(), ns);
	bpf_ringbuf_output(&exits, &record, sizeof(record), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
