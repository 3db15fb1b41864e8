// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Group drm_sched from raw tracepoints, the counterpart of kmod/drivers/drm_sched/drm_sched.c for
 * machines where no module may be loaded. Each step is one program. gpumon-user attaches it to the
 * name that the kernel's generation uses.
 */
#include "source_job.bpf.h"
#include "source_process.bpf.h"
#include "source_ring.bpf.h"
#include "source_usage.bpf.h"

#include <linux/ptrace.h>
#include <bpf/bpf_tracing.h>

struct dma_fence {
	const void *ops;
	__u64 context;
	__u64 seqno;
	int error;
} KERNEL_TYPE;

struct drm_sched_fence {
	struct dma_fence finished;
	struct dma_fence *parent;
	struct drm_gpu_scheduler *sched;
} KERNEL_TYPE;

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
} KERNEL_TYPE;

struct source_probe probes[SOURCE_SCHED_PROBES];

/* The ops of the scheduler's finished fences, learned from the first job. */
volatile __u64 finished_ops;

/*
 * Keys of schedulers whose drm_sched_fini() runs, by the thread that runs it. There is hardly more
 * than one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} ending SEC(".maps");

INLINE void observe_latency(__u64 *words, __u64 ns, __u32 first, __u32 sum, __u32 max)
{
	add(&words[first + bucket_of(ns, SOURCE_LATENCY_BUCKETS)], 1);
	add(&words[sum], ns);
	raise_to(&words[max], ns);
	raise_to(&words[max + 1], ~ns);
}

/* A job reaches the hardware of a ring. */
INLINE void hw_enter(__u32 ring, __u64 *words, __u64 now)
{
	__u32 before = __sync_fetch_and_add(&rings[ring].running, 1);

	if (!before)
		add(&words[SOURCE_RING_BUSY], -(now | SOURCE_EPOCH));
	raise_to(&words[SOURCE_RING_HW_DEPTH_MAX], before + 1);
}

/* A job has left the hardware of a ring. */
INLINE void hw_leave(__u32 ring, __u64 *words, __u64 now)
{
	if (__sync_fetch_and_add(&rings[ring].running, -1) == 1)
		add(&words[SOURCE_RING_BUSY], now | SOURCE_EPOCH);
}

/* --- jobs in flight */

/* Keys are unique: contexts are not reused, and numbers have 32 bits. */
INLINE __u64 job_key(struct drm_sched_fence *s_fence)
{
	return BPF_CORE_READ(s_fence, finished.context) << 32 ^
	       BPF_CORE_READ(s_fence, finished.seqno);
}

INLINE __u64 job_elapsed(const struct source_job *job, __u64 now, __u64 *words)
{
	__u64 elapsed = now - job->time_ns;

	if ((__s64)elapsed >= 0)
		return elapsed;
	add(&words[SOURCE_RING_BACKWARDS], 1);
	return 0;
}

INLINE void learn_ops(struct drm_sched_fence *s_fence)
{
	if (!finished_ops)
		finished_ops = (__u64)BPF_CORE_READ(s_fence, finished.ops);
}

/* --- the context */

/* Bits of preempt_count() that are set in interrupts, also in soft ones. */
const volatile __u32 interrupt_bits;

/* The member exists only with PREEMPT_RT. */
struct task_struct___rt {
	int softirq_disable_cnt;
} KERNEL_TYPE;

#if defined(__TARGET_ARCH_x86)
/* A kernel has one of the two: the second from 6.2 to 6.14. */
extern const int __preempt_count __ksym __weak;

struct pcpu_hot {
	int preempt_count;
} KERNEL_TYPE;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

INLINE __u32 preempt_count(void)
{
	if (&__preempt_count)
		return *(const __u32 *)bpf_this_cpu_ptr(&__preempt_count);
	if (&pcpu_hot)
		return ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return interrupt_bits;
}
#else
struct task_struct___count {
	struct {
		struct {
			__u32 count;
		} preempt;
	} thread_info;
} KERNEL_TYPE;

INLINE __u32 preempt_count(void)
{
	struct task_struct___count *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.preempt.count);
}
#endif

/*
 * Is the current task the submitter? In an interrupt it is not: any task may have been interrupted.
 */
INLINE bool in_task(void)
{
	struct task_struct___rt *task = (void *)bpf_get_current_task();
	__u32 count = preempt_count();

	if (bpf_core_field_exists(task->softirq_disable_cnt))
		count |= BPF_CORE_READ(task, softirq_disable_cnt);
	return !(count & interrupt_bits);
}

/* --- events */

/* The member exists since 6.17. */
struct drm_sched_fence___client {
	__u64 drm_client_id;
} __attribute__((preserve_access_index));

/* DRM client of a job, 0 where the kernel does not have it. */
INLINE __u64 drm_client(struct drm_sched_fence *s_fence)
{
	struct drm_sched_fence___client *client = (void *)s_fence;

	return bpf_core_field_exists(client->drm_client_id) ?
		       BPF_CORE_READ(client, drm_client_id) :
		       0;
}

/* The depths after the event. */
INLINE void event_depths(struct gpumon_event *event, __u32 ring)
{
	if (ring > SOURCE_RING_OTHER || !rings[ring].begun)
		return;
	event->queue_depth = rings[ring].queued;
	event->hw_depth = rings[ring].running;
}

INLINE void event_job(__u16 type, __u64 now, __u32 ring, const struct source_job *job,
		      __u64 elapsed, struct drm_sched_fence *s_fence, int error, bool by_task)
{
	struct gpumon_event *event;

	if (!with_events)
		return;
	event = event_begin(type, now, ring);
	if (!event)
		return;
	event->context = BPF_CORE_READ(s_fence, finished.context);
	event->seqno = BPF_CORE_READ(s_fence, finished.seqno);
	event->error = error;
	event_depths(event, ring);
	if (job) {
		event->arg = elapsed;
		event->flags = GPUMON_EVENT_F_LATENCY | (job->pid ? GPUMON_EVENT_F_SUBMITTER : 0);
		event->pid = job->pid;
		event->tid = job->tid;
		__builtin_memcpy(event->comm, job->comm, sizeof(event->comm));
	}
	if (type == GPUMON_EVENT_QUEUE) {
		event->arg = drm_client(s_fence);
		if (by_task)
			event_submitter(event);
	}
	event_commit(event);
}

/* --- the programs */

/* Counts a step once, not again in the twin. */
INLINE int drop(enum source_drm_sched_probe probe, bool twin)
{
	if (!twin)
		add(&probes[probe].table_full, 1);
	return 0;
}

INLINE __u32 ring_of_untracked(struct drm_sched_fence *s_fence)
{
	learn_ops(s_fence);
	return ring_of(BPF_CORE_READ(s_fence, sched));
}

/*
 * All programs of a tracepoint run before the scheduler continues with the job. So the state of the
 * job's entry tells the twin whether the first program has counted this step.
 */
INLINE int job_queued(struct bpf_raw_tracepoint_args *ctx, bool twin, bool with_context)
{
	__u64 now = bpf_ktime_get_ns(), ids = bpf_get_current_pid_tgid();
	struct drm_sched_job *sched_job = (void *)ctx->args[0];
	struct drm_sched_fence *s_fence = BPF_CORE_READ(sched_job, s_fence);
	__u64 key = job_key(s_fence), *words;
	struct source_ring *levels;
	struct source_job *job;
	bool by_task;
	__u32 ring, scheduler, process, depth;

	if (twin && (job_find(key) || no_room_for(key, true)))
		return 0;
	ring = ring_and_scheduler_of(BPF_CORE_READ(sched_job, sched), &scheduler);
	learn_ops(s_fence);
	if (ring > SOURCE_RING_OTHER)
		return drop(SOURCE_SCHED_QUEUE, twin);
	TESTED(ring);
	levels = &rings[ring];
	words = words_of(ring);
	if (!words)
		return drop(SOURCE_SCHED_QUEUE, twin);
	job = job_insert(key, now);
	if (!job && !twin)
		no_room_for(key, false);
	add(&words[SOURCE_RING_QUEUED], 1);
	by_task = with_context && in_task();
	process = by_task ? process_of_current() : SOURCE_NONE;
	process_add(process, SOURCE_PROCESS_JOBS, 1);
	if (process >= SOURCE_PROCESSES)
		add(&words[SOURCE_RING_UNATTRIBUTED], 1);
	if (job) {
		job->ring = ring;
		job->usage = usage_of(ring, process, drm_client(s_fence));
		job->state = SOURCE_JOB_QUEUED;
		job->waited = 0;
		job->scheduler = scheduler;
		job->pid = by_task ? ids >> 32 : 0;
		job->tid = by_task ? (__u32)ids : 0;
		if (with_events && by_task)
			bpf_get_current_comm(job->comm, sizeof(job->comm));
		levels->begun = 1;
		depth = __sync_fetch_and_add(&levels->queued, 1) + 1;
		raise_to(&words[SOURCE_RING_QUEUE_DEPTH_MAX], depth);
	} else {
		add(&words[SOURCE_RING_JOBS_TABLE_FULL], 1);
	}
	add(&probes[SOURCE_SCHED_QUEUE].recorded, 1);
	event_job(GPUMON_EVENT_QUEUE, now, ring, NULL, 0, s_fence, 0, by_task);
	return 0;
}

SEC("?raw_tp")
int queue(struct bpf_raw_tracepoint_args *ctx)
{
	add(&probes[SOURCE_SCHED_QUEUE].ran, 1);
	return job_queued(ctx, false, true);
}

SEC("?raw_tp")
int queue_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return job_queued(ctx, true, true);
}

/*
 * Attached on kernels whose BTF does not say where preempt_count() is: no job has a process then.
 */
SEC("?raw_tp")
int queue_anywhere(struct bpf_raw_tracepoint_args *ctx)
{
	add(&probes[SOURCE_SCHED_QUEUE].ran, 1);
	return job_queued(ctx, false, false);
}

SEC("?raw_tp")
int queue_anywhere_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return job_queued(ctx, true, false);
}

/* A job without an entry gets one for a moment, to inform the twin. */
INLINE bool untracked_was_counted(__u64 key, __u64 now, bool twin)
{
	struct source_job *job;

	if (twin)
		return no_room_for(key, true);
	job = job_insert(key, now);
	if (job)
		job->state = SOURCE_JOB_UNTRACKED;
	else
		no_room_for(key, false);
	return false;
}

INLINE int job_run(struct bpf_raw_tracepoint_args *ctx, bool twin)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = 0;
	struct drm_sched_job *sched_job = (void *)ctx->args[0];
	struct drm_sched_fence *s_fence = BPF_CORE_READ(sched_job, s_fence);
	__u64 key = job_key(s_fence), *words;
	struct source_job *job = job_find(key);
	__u32 ring;

	if (twin && job && job->state != SOURCE_JOB_QUEUED) {
		if (job->state == SOURCE_JOB_UNTRACKED)
			job_release(job, key);
		return 0;
	}
	if (!job && untracked_was_counted(key, now, twin))
		return 0;
	ring = job ? job->ring : ring_of_untracked(s_fence);
	if (ring > SOURCE_RING_OTHER)
		return drop(SOURCE_SCHED_RUN, twin);
	TESTED(ring);
	words = words_of(ring);
	if (!words)
		return drop(SOURCE_SCHED_RUN, twin);
	if (job) {
		elapsed = job_elapsed(job, now, words);
		job->time_ns = now;
		job->state = SOURCE_JOB_RUNNING;
		usage_add(job->usage, SOURCE_USAGE_QUEUE_NS, elapsed);
		observe_latency(words, elapsed, SOURCE_RING_QUEUE_NS, SOURCE_RING_QUEUE_NS_SUM,
				SOURCE_RING_QUEUE_NS_MAX);
		__sync_fetch_and_add(&rings[ring].queued, -1);
		hw_enter(ring, words, now);
	} else {
		add(&words[SOURCE_RING_UNTRACKED], 1);
	}
	add(&words[SOURCE_RING_RUN], 1);
	add(&probes[SOURCE_SCHED_RUN].recorded, 1);
	event_job(GPUMON_EVENT_RUN, now, ring, job, elapsed, s_fence, 0, false);
	return 0;
}

SEC("raw_tp")
int run(struct bpf_raw_tracepoint_args *ctx)
{
	add(&probes[SOURCE_SCHED_RUN].ran, 1);
	return job_run(ctx, false);
}

SEC("raw_tp")
int run_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return job_run(ctx, true);
}

/* Counts what a job that is done has used of its ring's hardware, for its process. */
INLINE void job_used_gpu(const struct source_job *job, __u32 ring, __u64 now)
{
	__u64 last = rings[ring].done_ns, since = job->time_ns;

	/* The job before it was on the hardware for a part of the time. */
	if ((__s64)(last - since) > 0)
		since = last;
	rings[ring].done_ns = now;
	usage_add(job->usage, SOURCE_USAGE_JOBS, 1);
	if ((__s64)(now - since) > 0)
		usage_add(job->usage, SOURCE_USAGE_GPU_NS, now - since);
}

/* As in kmod/drivers/drm_sched/drm_sched.c: the result is stored after the end. */
INLINE bool job_may_have_failed(struct drm_sched_fence *s_fence)
{
	struct dma_fence *parent = BPF_CORE_READ(s_fence, parent);

	return !parent || BPF_CORE_READ(parent, error) || BPF_CORE_READ(s_fence, finished.error);
}

INLINE int job_done(struct bpf_raw_tracepoint_args *ctx, bool twin)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = 0;
	struct drm_sched_fence *s_fence = (void *)ctx->args[0];
	__u64 key = job_key(s_fence), *words;
	struct source_job *entry = job_find(key), *job = entry;
	__u32 ring;

	if (twin && job && job->state >= SOURCE_JOB_UNTRACKED) {
		if (job->state != SOURCE_JOB_DONE || !job_may_have_failed(s_fence))
			job_release(job, key);
		return 0;
	}
	if (!job && untracked_was_counted(key, now, twin))
		return 0;
	if (job && job->state != SOURCE_JOB_RUNNING) {
		/* The run event of the job was not seen, or no earlier event at all. */
		if (job->state == SOURCE_JOB_QUEUED && job->ring <= SOURCE_RING_OTHER)
			__sync_fetch_and_add(&rings[job->ring].queued, -1);
		job = NULL;
	}
	ring = job ? job->ring : ring_of_untracked(s_fence);
	if (ring > SOURCE_RING_OTHER)
		return drop(SOURCE_SCHED_DONE, twin);
	TESTED(ring);
	words = words_of(ring);
	if (!words)
		return drop(SOURCE_SCHED_DONE, twin);
	if (job) {
		elapsed = job_elapsed(job, now, words);
		observe_latency(words, elapsed, SOURCE_RING_RUN_NS, SOURCE_RING_RUN_NS_SUM,
				SOURCE_RING_RUN_NS_MAX);
		job_used_gpu(job, ring, now);
		hw_leave(ring, words, now);
	} else {
		add(&words[SOURCE_RING_UNTRACKED], 1);
	}
	add(&words[SOURCE_RING_DONE], 1);
	add(&probes[SOURCE_SCHED_DONE].recorded, 1);
	event_job(GPUMON_EVENT_DONE, now, ring, job, elapsed, s_fence, 0, false);
	if (entry && ((twins && !twin) || (job && job_may_have_failed(s_fence)))) {
		entry->time_ns = now;
		entry->state = SOURCE_JOB_DONE;
	} else if (entry) {
		job_release(entry, key);
	}
	return 0;
}

SEC("raw_tp")
int done(struct bpf_raw_tracepoint_args *ctx)
{
	add(&probes[SOURCE_SCHED_DONE].ran, 1);
	return job_done(ctx, false);
}

SEC("raw_tp")
int done_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return job_done(ctx, true);
}

INLINE int job_waits(struct bpf_raw_tracepoint_args *ctx, bool twin)
{
	struct drm_sched_job *sched_job = (void *)ctx->args[0];
	struct dma_fence *dependency = (void *)ctx->args[1];
	struct drm_sched_fence *s_fence = BPF_CORE_READ(sched_job, s_fence);
	struct source_job *job = twins ? job_find(job_key(s_fence)) : NULL;
	struct gpumon_event *event;
	__u64 *words;
	__u32 ring;

	if (twin) {
		if (!job || __sync_lock_test_and_set(&job->waited, 0))
			return 0;
	} else if (job) {
		__sync_lock_test_and_set(&job->waited, 1);
	}
	ring = ring_of(BPF_CORE_READ(sched_job, sched));
	if (ring > SOURCE_RING_OTHER)
		return drop(SOURCE_SCHED_WAIT, twin);
	TESTED(ring);
	words = words_of(ring);
	if (!words)
		return drop(SOURCE_SCHED_WAIT, twin);
	add(&words[SOURCE_RING_WAITS], 1);
	add(&probes[SOURCE_SCHED_WAIT].recorded, 1);
	if (!with_events)
		return 0;
	event = event_begin(GPUMON_EVENT_WAIT, bpf_ktime_get_ns(), ring);
	if (!event)
		return 0;
	event->context = BPF_CORE_READ(s_fence, finished.context);
	event->seqno = BPF_CORE_READ(s_fence, finished.seqno);
	event->arg = BPF_CORE_READ(dependency, context);
	event->arg2 = BPF_CORE_READ(dependency, seqno);
	event_depths(event, ring);
	event_commit(event);
	return 0;
}

SEC("raw_tp")
int wait(struct bpf_raw_tracepoint_args *ctx)
{
	add(&probes[SOURCE_SCHED_WAIT].ran, 1);
	return job_waits(ctx, false);
}

SEC("raw_tp")
int wait_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return job_waits(ctx, true);
}

/* Counts a finished fence with an error, or whose job never reached the hardware. */
static __noinline int job_failed(__u64 address, int error)
{
	struct drm_sched_fence *s_fence = (void *)address;
	__u16 type = GPUMON_EVENT_ERROR;
	__u64 key = job_key(s_fence), now = bpf_ktime_get_ns(), elapsed = 0, *words;
	struct source_job *job = job_find(key);
	__u32 ring;

	if (job && job->state >= SOURCE_JOB_UNTRACKED) {
		if (error && job->state == SOURCE_JOB_DONE)
			usage_add(job->usage, SOURCE_USAGE_ERRORS, 1);
		job_release(job, key);
		job = NULL;
	}
	ring = job ? job->ring : ring_of(BPF_CORE_READ(s_fence, sched));

	if (ring > SOURCE_RING_OTHER)
		return drop(SOURCE_SCHED_RESULT, false);
	TESTED(ring);
	words = words_of(ring);
	if (!words)
		return drop(SOURCE_SCHED_RESULT, false);
	if (error)
		add(&words[SOURCE_RING_ERRORS], 1);
	if (error && job)
		usage_add(job->usage, SOURCE_USAGE_ERRORS, 1);
	if (job) {
		elapsed = job_elapsed(job, now, words);
		if (job->state == SOURCE_JOB_QUEUED) {
			type = GPUMON_EVENT_KILLED;
			add(&words[SOURCE_RING_KILLED], 1);
			__sync_fetch_and_add(&rings[ring].queued, -1);
		} else {
			hw_leave(ring, words, now);
		}
	}
	add(&probes[SOURCE_SCHED_RESULT].recorded, 1);
	if (error || job)
		event_job(type, now, ring, job, elapsed, s_fence, error, false);
	if (job)
		job_release(job, key);
	return 0;
}

/* This runs for every fence of every driver, so the common case must return at once. */
SEC("raw_tp")
int signaled(struct bpf_raw_tracepoint_args *ctx)
{
	struct dma_fence *fence = (void *)ctx->args[0], *parent;
	struct drm_sched_fence *s_fence;
	int error;

	if (!finished_ops || (__u64)BPF_CORE_READ(fence, ops) != finished_ops)
		return 0;
	s_fence = (void *)fence - bpf_core_field_offset(struct drm_sched_fence, finished);
	parent = BPF_CORE_READ(s_fence, parent);
	error = BPF_CORE_READ(fence, error);
	/* 6.1 leaves the error in the hardware's fence. */
	if (parent) {
		if (!error)
			error = BPF_CORE_READ(parent, error);
		if (!error)
			return 0;
	}
	return job_failed((__u64)s_fence, error);
}

/* kprobe on drm_sched_fini(sched): another scheduler may get the address. */
SEC("kprobe/drm_sched_fini")
int fini(struct pt_regs *ctx)
{
	__u64 address = PT_REGS_PARM1(ctx), key = scheduler_key(address);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	scheduler_ends(key, address);
	bpf_map_update_elem(&ending, &tid, &key, BPF_ANY);
	add(&probes[SOURCE_SCHED_FINI].recorded, 1);
	return 0;
}

/* Callback: takes a job out of the depths if its scheduler has ended, whose slot + 1 is *ended. */
static long job_abandon(__u32 i, __u32 *ended)
{
	struct source_job *job;
	__u64 key, *words;
	__u32 ring;

	if (i >= SOURCE_JOBS)
		return 1;
	TESTED(i);
	job = &jobs[i];
	key = *(volatile __u64 *)&job->key;
	if (!key || job->scheduler != *ended || job->state > SOURCE_JOB_RUNNING)
		return 0;
	ring = job->ring;
	if (ring <= SOURCE_RING_OTHER) {
		TESTED(ring);
		words = words_of(ring);
		if (!words)
			return 0;
		add(&words[SOURCE_RING_ABANDONED], 1);
		if (job->state == SOURCE_JOB_RUNNING)
			hw_leave(ring, words, bpf_ktime_get_ns());
		else
			__sync_fetch_and_add(&rings[ring].queued, -1);
	}
	job_release(job, key);
	return 0;
}

/*
 * kretprobe: until drm_sched_fini() returns there may be events of the scheduler, which make it
 * known again.
 */
SEC("kretprobe/drm_sched_fini")
int fini_returned(struct pt_regs *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), place, ended;
	__u64 *key = bpf_map_lookup_elem(&ending, &tid);

	if (!key)
		return 0;
	place = FIND(schedulers, SOURCE_SCHEDULERS, *key);
	if (place < SOURCE_SCHEDULERS) {
		ended = place + 1;
		bpf_loop(SOURCE_JOBS, job_abandon, &ended, 0);
	}
	scheduler_forget(*key);
	bpf_map_delete_elem(&ending, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
