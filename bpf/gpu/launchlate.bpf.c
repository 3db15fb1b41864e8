// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Time at which a kernel's first thread began. gpumon knows the time of the launch on the CPU and
 * takes the difference, with the two clocks compared.
 */
#include "gpumon_gpu.h"

struct start {
	__u64 kernel;
	__u64 ns; /* GPU's clock */
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
	__type(value, struct start);
} starts SEC(".maps");

SEC("gpu/entry")
int launchlate_entry(void *ctx)
{
	struct start start;

	if (gpumon_thread())
		return 0;
	start.kernel = gpumon_kernel();
	start.ns = bpf_get_globaltimer();
	bpf_ringbuf_output(&starts, &start, sizeof(start), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
