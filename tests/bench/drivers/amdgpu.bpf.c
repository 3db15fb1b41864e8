// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A libbpf raw_tp program that counts what gpumon counts for amdgpu, like amdgpu.bt. */
#include "books.bpf.h"

enum {
	BO_CREATE,
	BO_MOVE,
	VM_BO_MAP,
	CS_IOCTL,
	SCHED_RUN_JOB,
	VM_FLUSH,
	IV
};

#define PAGE_SHIFT 12
/* Of amdgpu_bo.flags: NO_CPU_ACCESS. */
#define HIDDEN 2

struct drm_gem_object {
	__u64 size;
} CORE;

struct ttm_buffer_object {
	struct drm_gem_object base;
} CORE;

struct amdgpu_bo {
	__u32 preferred_domains;
	struct ttm_buffer_object tbo;
	__u64 flags;
} CORE;

struct amdgpu_bo_va_mapping {
	__u64 start;
	__u64 last;
} CORE;

struct amdgpu_iv_entry {
	unsigned int client_id;
	unsigned int src_id;
} CORE;

struct dma_fence {
	__u64 context;
	__u64 seqno;
} CORE;

struct drm_sched_fence {
	struct dma_fence finished;
} CORE;

struct drm_sched_job {
	void *sched;
	struct drm_sched_fence *s_fence;
} CORE;

struct amdgpu_job {
	struct drm_sched_job base;
	__u32 num_ibs;
} CORE;

SEC("raw_tp/amdgpu_bo_create")
int bo_create(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_bo *bo = (void *)ctx->args[0];
	__u64 size = BPF_CORE_READ(bo, tbo.base.size);

	count(BO_CREATE, BPF_CORE_READ(bo, flags) & HIDDEN ? 0 : size);
	count_row(BO_CREATE, BPF_CORE_READ(bo, preferred_domains), size);
	count_process(BO_CREATE, size);
	return 0;
}

SEC("raw_tp/amdgpu_bo_move")
int bo_move(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_bo *bo = (void *)ctx->args[0];

	count(BO_MOVE, 0);
	count_row(BO_MOVE, (__u64)(__u32)ctx->args[2] << 32 | (__u32)ctx->args[1],
		  BPF_CORE_READ(bo, tbo.base.size));
	return 0;
}

SEC("raw_tp/amdgpu_vm_bo_map")
int vm_bo_map(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_bo_va_mapping *mapping = (void *)ctx->args[1];
	__u64 bytes = (BPF_CORE_READ(mapping, last) - BPF_CORE_READ(mapping, start) + 1)
		      << PAGE_SHIFT;

	count(VM_BO_MAP, bytes);
	count_process(VM_BO_MAP, bytes);
	return 0;
}

SEC("raw_tp/amdgpu_cs_ioctl")
int cs_ioctl(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_job *job = (void *)ctx->args[0];
	struct drm_sched_fence *fence = BPF_CORE_READ(job, base.s_fence);

	count(CS_IOCTL, 0);
	count_row(CS_IOCTL, (__u64)BPF_CORE_READ(job, base.sched), BPF_CORE_READ(job, num_ibs));
	count_process(CS_IOCTL, 0);
	begin(BPF_CORE_READ(fence, finished.context), BPF_CORE_READ(fence, finished.seqno),
	      bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/amdgpu_sched_run_job")
int sched_run_job(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_job *job = (void *)ctx->args[0];
	struct drm_sched_fence *fence = BPF_CORE_READ(job, base.s_fence);
	__u64 since;

	count(SCHED_RUN_JOB, 0);
	if (end(BPF_CORE_READ(fence, finished.context), BPF_CORE_READ(fence, finished.seqno),
		&since))
		latency(SCHED_RUN_JOB, (__u64)BPF_CORE_READ(job, base.sched),
			bpf_ktime_get_ns() - since);
	return 0;
}

SEC("raw_tp/amdgpu_vm_flush")
int vm_flush(struct bpf_raw_tracepoint_args *ctx)
{
	count(VM_FLUSH, 0);
	count_row(VM_FLUSH, ctx->args[0] ^ ctx->args[1], 0);
	return 0;
}

SEC("raw_tp/amdgpu_iv")
int iv(struct bpf_raw_tracepoint_args *ctx)
{
	struct amdgpu_iv_entry *entry = (void *)ctx->args[1];

	count(IV, 0);
	count_row(IV, (__u64)BPF_CORE_READ(entry, client_id) << 32 | BPF_CORE_READ(entry, src_id),
		  0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
