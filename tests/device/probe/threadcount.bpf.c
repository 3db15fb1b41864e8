// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A counter for each of 64 Mi threads. */
#include "gpumon_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERGPUTD_ARRAY_MAP);
	__uint(max_entries, 64 << 20);
	__type(key, __u32);
	__type(value, __u64);
} runs SEC(".maps");

SEC("gpu/exit")
int threadcount_exit(void *ctx)
{
	gpumon_count(&runs, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
