// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counts jobs as a BPF program would: per-CPU counters and latency histograms for each ring, and a
 * hash map from the job to its last step. Unlike gpumon, it does not count depths, errors,
 * processes and losses.
 *
 * Types of the scheduler are declared with the members in use. Their offsets come from the running
 * kernel's BTF.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "observe.bpf.h"

#define CORE __attribute__((preserve_access_index))

struct dma_fence {
	__u64 context;
	__u64 seqno;
} CORE;

struct drm_gpu_scheduler {
	const char *name;
} CORE;

struct drm_sched_fence {
	struct dma_fence finished;
	struct drm_gpu_scheduler *sched;
} CORE;

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
} CORE;

struct job {
	__u64 time_ns;
	__u32 ring;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct job);
} jobs SEC(".maps");

/*
 * From a scheduler to the number of its ring. Finding the ring in an array is much faster than in a
 * hash map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RINGS);
	__type(key, __u64);
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RINGS);
	__type(key, __u32);
	__type(value, struct ring);
} rings SEC(".maps");

static __u32 used;

static __noinline __u32 learn(__u64 sched)
{
	__u32 number = __sync_fetch_and_add(&used, 1), *known;

	bpf_map_update_elem(&numbers, &sched, &number, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&numbers, &sched);
	return known ? *known : RINGS;
}

SEC("raw_tp")
int queue(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct job entry = { .time_ns = bpf_ktime_get_ns() };
	__u64 sched = (__u64)BPF_CORE_READ(job, sched), key;
	struct ring *ring;
	__u32 *number;

	number = bpf_map_lookup_elem(&numbers, &sched);
	entry.ring = number ? *number : learn(sched);
	ring = bpf_map_lookup_elem(&rings, &entry.ring);
	if (!ring)
		return 0;
	ring->queued++;
	key = (__u64)&BPF_CORE_READ(job, s_fence)->finished;
	bpf_map_update_elem(&jobs, &key, &entry, BPF_ANY);
	return 0;
}

SEC("raw_tp")
int run(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	__u64 now = bpf_ktime_get_ns(), key;
	struct job *entry;
	struct ring *ring;

	key = (__u64)&BPF_CORE_READ(job, s_fence)->finished;
	entry = bpf_map_lookup_elem(&jobs, &key);
	if (!entry)
		return 0;
	ring = bpf_map_lookup_elem(&rings, &entry->ring);
	if (!ring)
		return 0;
	ring->run++;
	observe(&ring->queue_ns, now - entry->time_ns);
	entry->time_ns = now;
	return 0;
}

SEC("raw_tp")
int done(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_fence *s_fence = (void *)ctx->args[0];
	__u64 now = bpf_ktime_get_ns(), key = (__u64)&s_fence->finished;
	struct job *entry = bpf_map_lookup_elem(&jobs, &key);
	struct ring *ring;

	if (!entry)
		return 0;
	ring = bpf_map_lookup_elem(&rings, &entry->ring);
	if (ring) {
		ring->done++;
		observe(&ring->run_ns, now - entry->time_ns);
	}
	bpf_map_delete_elem(&jobs, &key);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
