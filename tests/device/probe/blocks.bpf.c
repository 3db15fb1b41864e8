// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Blocks of each kernel: one addition a block, by its first warp's leader. */
#include "gpumon_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} blocks_by_kernel SEC(".maps");

SEC("gpu/entry")
int count_block(void *ctx)
{
	if (gpumon_warp_in_block() == 0 && gpumon_is_leader())
		gpumon_count(&blocks_by_kernel, gpumon_kernel(), 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
