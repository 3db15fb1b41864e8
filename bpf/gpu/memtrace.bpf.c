// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Accesses, bytes and sectors of global memory by source line and direction, without a line by kernel.
 * Bytes by 32 times sectors say how well the threads of a warp lie side by side.
 */
#include "gpumon_gpu.h"

/* user/gpuprog/result/memtrace.c has the same constant. */
#define KERNELS	   512
#define LINES	   4096
#define DIRECTIONS 8
#define WHOLE	   5 /* sizes of an access of a thread: 1, 2, 4, 8, 16 bytes */

/*
 * The additions are what costs, since those to one place of the cache follow one another. So where a whole
 * warp accesses one piece, which is usual, a single one counts the access, its bytes and its sectors.
 */
struct traffic {
	__u64 accesses; /* accesses of warps, without those in @whole */
	__u64 bytes;
	__u64 sectors;	    /* of 32 bytes; of accesses in @whole those beyond their bytes */
	__u64 whole[WHOLE]; /* accesses of one piece by whole warps, by size */
};

/*
 * Entries by line; behind them, by kernel, those of accesses without a line. A hash would cost
 * three times as much.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, (KERNELS + LINES) * DIRECTIONS);
	__type(key, __u32);
	__type(value, struct traffic);
} places SEC(".maps");

static __always_inline struct traffic *find(__u64 line, __u64 flags)
{
	__u64 row = gpumon_kernel();
	__u32 place;

	/* The last entry has all other kernels. */
	if (row >= KERNELS)
		row = KERNELS - 1;
	if (line && line < LINES)
		row = KERNELS + line;
	place = row * DIRECTIONS + ((flags & GPUMON_ASYNC) >> 4 | (flags & 3));
	return bpf_map_lookup_elem(&places, &place);
}

SEC("gpu/memory")
int memtrace_access(struct gpumon_context *ctx)
{
	__u64 address = ctx->address, size = ctx->size, flags = ctx->flags, line = ctx->line;
	struct traffic *traffic;
	__u64 lane, sectors, bytes;

	if (flags & (GPUMON_SHARED | GPUMON_LOCAL))
		return 0;
	traffic = find(line, flags);
	if (!traffic)
		return 0;
	/*
	 * These helpers look at all threads of the warp, so they are called before all but one
	 * thread leave.
	 */
	if (gpumon_contiguous(address, size)) {
		/* Lane 0 adds lane + 1: for a constant 1 ptxas would add up over the warp first. */
		lane = bpf_get_lane_id();
		if ((__u32)lane)
			return 0;
		__sync_fetch_and_add(
			&traffic->whole[(size > 1) + (size > 2) + (size > 4) + (size > 8)],
			lane + 1);
		if (address % 32)
			__sync_fetch_and_add(&traffic->sectors, lane + 1);
		/* Otherwise clang joins this with the last addition below, and threads part for longer. */
		asm volatile("" ::: "memory");
		return 0;
	}
	sectors = gpumon_sectors(address, size);
	bytes = size * gpumon_active_lanes();
	if (!gpumon_is_leader())
		return 0;
	__sync_fetch_and_add(&traffic->accesses, 1);
	__sync_fetch_and_add(&traffic->bytes, bytes);
	__sync_fetch_and_add(&traffic->sectors, sectors);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
