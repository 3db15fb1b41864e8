// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The time of each warp in a histogram: the cheapest program that says something. */
#include "gpumon_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM);
	__uint(max_entries, 64);
} run_ns SEC(".maps");

SEC("gpu/entry")
int warptime_entry(void *ctx)
{
	gpumon_keep(0, bpf_get_globaltimer());
	return 0;
}

SEC("gpu/exit")
int warptime_exit(void *ctx)
{
	if (gpumon_is_leader())
		gpumon_histogram_add(&run_ns, gpumon_kernel(),
				     bpf_get_globaltimer() - gpumon_kept(0));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
