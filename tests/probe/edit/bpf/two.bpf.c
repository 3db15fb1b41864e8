// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Kernels with different programs, which cannot share their copies of functions. */
#include "gpumon_gpu.h"

__u64 accesses[2];

SEC("gpu/memory/one*")
int count_one(struct gpumon_context *ctx)
{
	__sync_fetch_and_add(&accesses[0], 1);
	return 0;
}

SEC("gpu/memory/two*")
int count_two(struct gpumon_context *ctx)
{
	__sync_fetch_and_add(&accesses[1], 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
