// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Accesses, bytes and sectors of global memory by kernel, source line and direction. Bytes by 32 times
 * sectors say how well the threads of a warp lie side by side.
 */
#include "gpumon_gpu.h"

struct place {
	__u64 line;
	__u32 kernel;
	__u16 flags;
	__u16 sm; /* so that SMs do not wait for each other; gpumon adds them up */
};

struct traffic {
	__u64 accesses; /* of warps */
	__u64 bytes;
	__u64 sectors; /* of 32 bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 18);
	__type(key, struct place);
	__type(value, struct traffic);
} places SEC(".maps");

SEC("gpu/memory")
int memtrace_access(struct gpumon_context *ctx)
{
	static const struct traffic none;
	struct place place = { .kernel = gpumon_kernel(),
			       .line = ctx->line,
			       .flags = ctx->flags,
			       .sm = bpf_get_sm_id() };
	__u64 size = ctx->size, sectors, bytes;
	struct traffic *traffic;

	if (ctx->flags & (GPUMON_SHARED | GPUMON_LOCAL))
		return 0;
	/* These look at all threads of the warp, so before only one goes on. */
	sectors = gpumon_sectors(ctx->address, size);
	bytes = size * gpumon_active_lanes();
	if (!gpumon_is_leader())
		return 0;
	traffic = bpf_map_lookup_elem(&places, &place);
	if (!traffic) {
		bpf_map_update_elem(&places, &place, &none, BPF_NOEXIST);
		traffic = bpf_map_lookup_elem(&places, &place);
		if (!traffic)
			return 0;
	}
	__sync_fetch_and_add(&traffic->accesses, 1);
	__sync_fetch_and_add(&traffic->bytes, bytes);
	__sync_fetch_and_add(&traffic->sectors, sectors);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
