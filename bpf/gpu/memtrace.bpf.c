// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Accesses, bytes and sectors of global memory by source line and direction, without a line by kernel.
 * Bytes by 32 times sectors say how well the threads of a warp lie side by side.
 */
#include "gpumon_gpu.h"

/* The same in user/probe/view/memtrace.c. */
#define KERNELS	   512
#define LINES	   4096
#define DIRECTIONS 8

struct traffic {
	__u64 accesses; /* of warps */
	__u64 bytes;
	__u64 sectors; /* of 32 bytes */
};

/* By line, behind those without one by kernel. A hash would cost three times as much. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, (KERNELS + LINES) * DIRECTIONS);
	__type(key, __u32);
	__type(value, struct traffic);
} places SEC(".maps");

SEC("gpu/memory")
int memtrace_access(struct gpumon_context *ctx)
{
	__u64 size = ctx->size, flags = ctx->flags, line = ctx->line, sectors, bytes, row;
	struct traffic *traffic;
	__u32 place;

	if (flags & (GPUMON_SHARED | GPUMON_LOCAL))
		return 0;
	/* These look at all threads of the warp, so before only one goes on. */
	sectors = gpumon_sectors(ctx->address, size);
	bytes = size * gpumon_active_lanes();
	if (!gpumon_is_leader())
		return 0;
	row = gpumon_kernel();
	/* The last one has all others. */
	if (row >= KERNELS)
		row = KERNELS - 1;
	if (line && line < LINES)
		row = KERNELS + line;
	place = row * DIRECTIONS + ((flags & GPUMON_ASYNC) >> 4 | (flags & 3));
	traffic = bpf_map_lookup_elem(&places, &place);
	if (!traffic)
		return 0;
	__sync_fetch_and_add(&traffic->accesses, 1);
	__sync_fetch_and_add(&traffic->bytes, bytes);
	__sync_fetch_and_add(&traffic->sectors, sectors);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
