// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A libbpf raw_tp program that counts what gpumon counts for i915, like i915.bt. */
#include "books.bpf.h"

enum {
	GEM_CREATE,
	VMA_BIND,
	GEM_PWRITE,
	GEM_FAULT,
	REQUEST_ADD,
	REQUEST_RETIRE,
	VMA_UNBIND,
	GEM_DESTROY
};

struct drm_gem_object {
	__u64 size;
} CORE;

struct drm_i915_gem_object {
	struct drm_gem_object base;
} CORE;

struct drm_mm_node {
	__u64 size;
} CORE;

struct i915_vma {
	struct drm_mm_node node;
	void *vm;
	struct drm_i915_gem_object *obj;
} CORE;

struct intel_engine_cs {
	__u16 uabi_class;
	__u16 uabi_instance;
} CORE;

struct dma_fence {
	__u64 context;
	__u64 seqno;
} CORE;

struct i915_request {
	struct dma_fence fence;
	struct intel_engine_cs *engine;
} CORE;

SEC("raw_tp/i915_gem_object_create")
int gem_create(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_i915_gem_object *object = (void *)ctx->args[0];
	__u64 size = BPF_CORE_READ(object, base.size);

	count(GEM_CREATE, size);
	begin(GEM_CREATE, (__u64)object, size);
	count_process(GEM_CREATE, size);
	return 0;
}

SEC("raw_tp/i915_gem_object_destroy")
int gem_destroy(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 size = 0;

	end(GEM_CREATE, ctx->args[0], &size);
	count(GEM_DESTROY, size);
	return 0;
}

SEC("raw_tp/i915_vma_bind")
int vma_bind(struct bpf_raw_tracepoint_args *ctx)
{
	struct i915_vma *vma = (void *)ctx->args[0];
	__u64 size;

	count(VMA_BIND, BPF_CORE_READ(vma, node.size));
	if (end((__u64)BPF_CORE_READ(vma, obj), (__u64)BPF_CORE_READ(vma, vm), &size))
		count_row(VMA_BIND, 0, size);
	return 0;
}

SEC("raw_tp/i915_vma_unbind")
int vma_unbind(struct bpf_raw_tracepoint_args *ctx)
{
	struct i915_vma *vma = (void *)ctx->args[0];
	__u64 size = BPF_CORE_READ(vma, node.size);

	count(VMA_UNBIND, size);
	begin((__u64)BPF_CORE_READ(vma, obj), (__u64)BPF_CORE_READ(vma, vm), size);
	return 0;
}

SEC("raw_tp/i915_gem_object_pwrite")
int gem_pwrite(struct bpf_raw_tracepoint_args *ctx)
{
	count(GEM_PWRITE, ctx->args[2]);
	return 0;
}

SEC("raw_tp/i915_gem_object_fault")
int gem_fault(struct bpf_raw_tracepoint_args *ctx)
{
	count(GEM_FAULT, 0);
	count_row(GEM_FAULT, (ctx->args[2] & 1) << 1 | (ctx->args[3] & 1), 0);
	count_process(GEM_FAULT, 0);
	return 0;
}

static __always_inline __u64 engine_of(struct i915_request *request)
{
	struct intel_engine_cs *engine = BPF_CORE_READ(request, engine);

	return (__u64)BPF_CORE_READ(engine, uabi_class) << 16 |
	       BPF_CORE_READ(engine, uabi_instance);
}

SEC("raw_tp/i915_request_add")
int request_add(struct bpf_raw_tracepoint_args *ctx)
{
	struct i915_request *request = (void *)ctx->args[0];

	count(REQUEST_ADD, 0);
	count_row(REQUEST_ADD, engine_of(request), 0);
	count_process(REQUEST_ADD, 0);
	begin(BPF_CORE_READ(request, fence.context), BPF_CORE_READ(request, fence.seqno),
	      bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/i915_request_retire")
int request_retire(struct bpf_raw_tracepoint_args *ctx)
{
	struct i915_request *request = (void *)ctx->args[0];
	__u64 since;

	count(REQUEST_RETIRE, 0);
	if (end(BPF_CORE_READ(request, fence.context), BPF_CORE_READ(request, fence.seqno), &since))
		latency(REQUEST_RETIRE, engine_of(request), bpf_ktime_get_ns() - since);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
