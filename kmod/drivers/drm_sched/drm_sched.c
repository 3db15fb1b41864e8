// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group drm_sched: the DRM scheduler (gpu_sched.ko), that amdgpu, nouveau, xe,
 * panfrost, v3d, msm and others hand their jobs to.
 *
 * A job is queued, run and done; its entry in the job table carries the time
 * of the last step and the ring. The jobs of a killed entity are queued and
 * then never run: the function that ends them is probed.
 */
#include <linux/dma-fence.h>
#include <linux/kprobes.h>
#include <drm/gpu_scheduler.h>

#include "attach/probe.h"
#include "common/call.h"
#include "common/device.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "compat/drm_client.h"
#include "compat/sched_device.h"
#include "compat/sched_kill.h"
#include "core/clock.h"
#include "core/field.h"
#include "core/track.h"
#include "drivers/groups.h"
#include "hang.h"
#include "job.h"
#include "job_event.h"
#include "result.h"
#include "ring.h"
#include "usage.h"

bool gpumon_job_event_clients;

static __always_inline local64_t *ring_words(struct gpumon_cpu *cpu, u32 ring)
{
	return cpu->rings + ring * GPUMON_RING_STRIDE;
}

/* The address of a scheduler identifies it only if its end would be seen. */
static bool ends_are_seen(void);

static __always_inline bool queue_is(const struct gpumon_cpu_queue *queue,
				     const struct drm_gpu_scheduler *sched,
				     const struct task_struct *task)
{
	return queue->scheduler == sched && queue->task == task;
}

/*
 * A CPU mostly runs one of few tasks again that queue to few schedulers. Returns whether it remembers
 * this one, in @found, and that is not outdated. The slot of a process is its own as long as a task of
 * it lives.
 */
static __always_inline bool queue_remembered(const struct gpumon_cpu *cpu,
					     const struct drm_gpu_scheduler *sched,
					     const struct dma_fence *finished,
					     const struct gpumon_cpu_queue **found)
{
	const struct gpumon_cpu_queue *queue = cpu->queues;
	const struct task_struct *task = current;

	static_assert(GPUMON_CPU_QUEUES == 4);
	if (!queue_is(queue, sched, task) && !queue_is(++queue, sched, task) &&
	    !queue_is(++queue, sched, task) && !queue_is(++queue, sched, task))
		return false;
	*found = queue;
	return queue->generation == atomic_read(&gpumon_scheduler_generation) &&
	       queue->task_start_ns == task->start_time &&
	       queue->client == gpumon_compat_drm_client(finished);
}

/*
 * Remembers how the current task queues to a scheduler. @found: what was found, with the generation
 * from before the scheduler was looked up: if that ends meanwhile, the result counts as outdated.
 */
static void queue_remember(struct gpumon_cpu *cpu, const struct gpumon_cpu_queue *found)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i < GPUMON_CPU_QUEUES; i++)
		if (queue_is(&cpu->queues[i], found->scheduler, current))
			break;
	if (i == GPUMON_CPU_QUEUES)
		i = cpu->queues_next++ % GPUMON_CPU_QUEUES;
	/* An interrupt must not see half of the entry. */
	local_irq_save(flags);
	cpu->queues[i] = *found;
	local_irq_restore(flags);
}

/* Ring of a scheduler, for events without a job entry. */
static u32 sched_ring_of(const struct gpumon_cpu *cpu, const struct drm_gpu_scheduler *sched)
{
	const struct gpumon_cpu_queue *queue;

	for (queue = cpu->queues; queue < cpu->queues + GPUMON_CPU_QUEUES; queue++)
		if (queue->scheduler == sched &&
		    queue->generation == atomic_read(&gpumon_scheduler_generation))
			return gpumon_place_ring(queue->place);
	return gpumon_place_ring(gpumon_ring_find(sched));
}

/*
 * Ring of a job whose queueing was not seen. The job is counted as such, and has neither latency
 * nor depth.
 */
static u32 sched_ring_of_untracked(struct gpumon_cpu *cpu, const struct drm_sched_fence *s_fence)
{
	u32 ring = sched_ring_of(cpu, s_fence->sched);

	local64_inc(&ring_words(cpu, ring)[GPUMON_RING_UNTRACKED]);
	return ring;
}

/*
 * Fills the entry of a job that is queued; it has no GPUMON_JOB_RUNNING. @thread:
 * gpumon_job_thread(), 0 if no task queues it.
 */
static __always_inline void job_begins(struct gpumon_job *job, u64 now,
				       const struct gpumon_cpu_queue *queue, u64 thread)
{
	gpumon_write_plain64(job->since, now);
	job->thread = thread;
	gpumon_write_once64(job->state_and_place, queue->usage_and_place);
}

/* Time since the job's last step. */
static u64 job_elapsed(const struct gpumon_job *job, u64 now, local64_t *words)
{
	u64 elapsed;

	if (!gpumon_clock_elapsed(job->since, now, &elapsed))
		local64_inc(&words[GPUMON_RING_BACKWARDS]);
	return elapsed;
}

/* Gives the depths of a ring a baseline, when a job is queued. */
static void ring_depths_begin(u32 ring)
{
	struct gpumon_gauge *gauges = gpumon_ring_gauges(ring);

	if (unlikely(!READ_ONCE(gauges[GPUMON_RING_HW_DEPTH].begun))) {
		WRITE_ONCE(gauges[GPUMON_RING_QUEUE_DEPTH].begun, true);
		WRITE_ONCE(gauges[GPUMON_RING_HW_DEPTH].begun, true);
	}
}

static noinline void leaf_raise_extreme(local64_t *extreme, u64 value)
{
	gpumon_counters_raise_slow(extreme, value);
	gpumon_leaf_leave();
}

/* Looks up where a job is queued, and by what; of the current task only if that queues it. */
static void queue_find(struct gpumon_event_context *ctx, const struct drm_sched_job *sched_job,
		       struct gpumon_cpu_queue *found)
{
	const struct dma_fence *finished = &sched_job->s_fence->finished;
	u32 ring, process;

	found->scheduler = sched_job->sched;
	found->task = current;
	found->task_start_ns = current->start_time;
	found->client = gpumon_compat_drm_client(finished);
	/* Read before the look-up, see queue_remember(). */
	found->generation = atomic_read_acquire(&gpumon_scheduler_generation);
	found->place = gpumon_ring_find(sched_job->sched);
	ring = gpumon_place_ring(found->place);
	found->words = ring_words(ctx->cpu, ring);
	process = in_task() ? gpumon_process_slot(ctx->cpu) : GPUMON_NONE;
	found->process = gpumon_process_words(ctx->cpu, gpumon_process_row(process));
	found->usage =
		gpumon_usage_find(process, ring, gpumon_job_event_clients ? found->client : 0);
}

/*
 * The three probes of a job are the hot path, and each has two versions. The slow path, *_slow(),
 * handles every case. The fast path calls nothing, so that no register has to be saved, and handles
 * the usual case: the ring and the process are those that this CPU remembers, the job is in its
 * first place, no latency is an extreme, the event ring is off. Otherwise it has counted nothing
 * yet and falls back to the slow path, passing the timestamp already taken.
 */
static noinline void probe_queue_slow(void *data, struct drm_sched_job *sched_job, u64 now)
{
	u64 time_ns;
	const struct dma_fence *finished = &sched_job->s_fence->finished;
	struct gpumon_event_context ctx;
	const struct gpumon_cpu_queue *queue;
	struct gpumon_cpu_queue found;
	struct gpumon_job *job;
	u64 depth, thread = 0;
	bool remembered = false;
	local64_t *words;
	u32 ring;

	now = now ?: gpumon_clock();
	time_ns = gpumon_event_ring_time();
	if (!gpumon_probe_enter(&ctx, data))
		return;
	/* In an interrupt the current task has nothing to do with the job. */
	if (likely(in_task())) {
		remembered = queue_remembered(ctx.cpu, sched_job->sched, finished, &queue);
		thread = gpumon_job_thread();
	}
	if (remembered) {
		found = *queue;
	} else {
		queue_find(&ctx, sched_job, &found);
		if (likely(in_task()) && ends_are_seen())
			queue_remember(ctx.cpu, &found);
	}
	ring = gpumon_place_ring(found.place);
	words = found.words;
	local64_inc(&words[GPUMON_RING_QUEUED]);
	local64_inc(&found.process[GPUMON_PROCESS_JOBS]);

	/* A job that was done without a result, with a number that its entity gives again. */
	job = gpumon_job_entry(finished, 0);
	if (unlikely(gpumon_job_is(job, finished) && job->state & GPUMON_JOB_DONE))
		gpumon_job_release(job);
	job = gpumon_job_insert(finished);
	ring_depths_begin(ring);
	if (job) {
		job_begins(job, now, &found, thread);
		depth = gpumon_ring_queue_enter(gpumon_ring_gauges(ring));
		gpumon_counters_raise(&words[GPUMON_RING_QUEUE_DEPTH_MAX], depth);
	} else {
		local64_inc(&words[GPUMON_RING_JOBS_TABLE_FULL]);
	}
	gpumon_probe_recorded(&ctx);
	if (time_ns)
		gpumon_job_event_queue(time_ns, ring, finished);
	gpumon_probe_leave(&ctx);
}

static void probe_queue(void *data, struct drm_sched_job *sched_job,
			struct drm_sched_entity *entity)
{
	const struct dma_fence *finished;
	const struct gpumon_cpu_queue *queue;
	struct gpumon_cpu *cpu;
	struct gpumon_job *job;
	local64_t *words;
	u64 now, depth;
	u32 ring;

	if (!gpumon_clock_quick(&now) || gpumon_event_ring_on())
		return probe_queue_slow(data, sched_job, now);
	finished = &sched_job->s_fence->finished;
	cpu = gpumon_leaf_enter();
	if (unlikely(!queue_remembered(cpu, sched_job->sched, finished, &queue) || !in_task()))
		goto slow;
	job = gpumon_job_entry(finished, 0);
	if (unlikely(!gpumon_job_take(job, finished)))
		goto slow;
	ring = gpumon_place_ring(queue->place);
	words = queue->words;
	job_begins(job, now, queue, gpumon_job_thread());
	local64_inc(&words[GPUMON_RING_QUEUED]);
	local64_inc(&queue->process[GPUMON_PROCESS_JOBS]);
	gpumon_leaf_recorded(data);
	depth = gpumon_ring_queue_enter(gpumon_ring_gauges(ring));
	if (unlikely(depth > gpumon_counters_extreme(&words[GPUMON_RING_QUEUE_DEPTH_MAX])))
		return leaf_raise_extreme(&words[GPUMON_RING_QUEUE_DEPTH_MAX], depth);
	gpumon_leaf_leave();
	return;
slow:
	gpumon_leaf_leave();
	probe_queue_slow(data, sched_job, now);
}

static noinline void probe_run_slow(void *data, struct drm_sched_job *sched_job, u64 now)
{
	u64 time_ns;
	const struct drm_sched_fence *s_fence = sched_job->s_fence;
	struct gpumon_event_context ctx;
	struct gpumon_job *job;
	u64 elapsed = 0;
	local64_t *words;
	u64 depth;
	u32 ring;

	now = now ?: gpumon_clock();
	time_ns = gpumon_event_ring_time();
	if (!gpumon_probe_enter(&ctx, data))
		return;
	job = gpumon_job_find(&s_fence->finished);
	ring = job ? gpumon_job_ring(job) : sched_ring_of_untracked(ctx.cpu, s_fence);
	words = ring_words(ctx.cpu, ring);
	/* A job that is run again, after a reset of the GPU, is on the hardware already. */
	if (job && !gpumon_job_running(job)) {
		elapsed = job_elapsed(job, now, words);
		gpumon_write_plain64(job->since, now);
		local64_add(elapsed, &gpumon_usage_words(ctx.cpu, gpumon_job_usage(job))
					      [GPUMON_USAGE_QUEUE_NS]);
		job->state |= GPUMON_JOB_RUNNING;
		gpumon_row_observe(&gpumon_ring_statistics, words, GPUMON_RING_QUEUE_NS, elapsed);
		depth = gpumon_ring_hw_enter(gpumon_ring_gauges(ring), words, now);
		gpumon_counters_raise(&words[GPUMON_RING_HW_DEPTH_MAX], depth);
	}
	local64_inc(&words[GPUMON_RING_RUN]);
	gpumon_probe_recorded(&ctx);
	if (time_ns)
		gpumon_job_event_step(GPUMON_EVENT_RUN, time_ns, ring, job, elapsed,
				      &s_fence->finished, 0);
	gpumon_probe_leave(&ctx);
}

static void probe_run(void *data, struct drm_sched_job *sched_job, struct drm_sched_entity *entity)
{
	const struct dma_fence *finished = &sched_job->s_fence->finished;
	struct gpumon_job *job;
	u64 now, elapsed, depth;
	struct gpumon_cpu *cpu;
	local64_t *words;
	u32 ring;

	if (!gpumon_clock_quick(&now) || gpumon_event_ring_on())
		return probe_run_slow(data, sched_job, now);
	job = gpumon_job_entry(finished, 0);
	if (unlikely(!gpumon_job_is(job, finished) || gpumon_job_running(job)))
		return probe_run_slow(data, sched_job, now);
	elapsed = gpumon_clock_ns(now - job->since);
	ring = gpumon_job_ring(job);
	cpu = gpumon_leaf_enter();
	words = ring_words(cpu, ring);
	if (unlikely(!gpumon_ring_latency_usual(words, elapsed, GPUMON_RING_QUEUE_NS_MAX))) {
		gpumon_leaf_leave();
		return probe_run_slow(data, sched_job, now);
	}
	gpumon_write_plain64(job->since, now);
	local64_add(elapsed, &gpumon_usage_words(cpu, job->state)[GPUMON_USAGE_QUEUE_NS]);
	job->state |= GPUMON_JOB_RUNNING;
	gpumon_ring_latency_count(words, elapsed, GPUMON_RING_QUEUE_NS_BUCKETS,
				  GPUMON_RING_QUEUE_NS);
	local64_inc(&words[GPUMON_RING_RUN]);
	gpumon_leaf_recorded(data);
	depth = gpumon_ring_hw_enter(gpumon_ring_gauges(ring), words, now);
	if (unlikely(depth > gpumon_counters_extreme(&words[GPUMON_RING_HW_DEPTH_MAX])))
		return leaf_raise_extreme(&words[GPUMON_RING_HW_DEPTH_MAX], depth);
	gpumon_leaf_leave();
}

/* Counts what a job that is done has used of its ring's hardware, for its process. */
static __always_inline void job_used_gpu(struct gpumon_cpu *cpu, const struct gpumon_job *job,
					 struct gpumon_gauge *gauges, u64 now, u64 elapsed)
{
	local64_t *usage = gpumon_usage_words(cpu, job->state);
	u64 last = gpumon_ring_last_done(gauges, now);

	/* The job before it was on the hardware for a part of that time. */
	if ((s64)(last - job->since) >= 0)
		gpumon_clock_elapsed(last, now, &elapsed);
	local64_inc(&usage[GPUMON_USAGE_JOBS]);
	local64_add(elapsed, &usage[GPUMON_USAGE_GPU_NS]);
}

/*
 * At the end of a job: may its fence get an error? The result is stored after this tracepoint: it is the
 * hardware fence's, or that of a run that gave no such fence.
 */
static __always_inline bool job_may_have_failed(const struct drm_sched_fence *s_fence)
{
	const struct dma_fence *parent = s_fence->parent;

	return !parent || parent->error | s_fence->finished.error;
}

/*
 * Error of a job that is done, in @error. 6.1 leaves it in the hardware's fence, from where later kernels
 * copy it. Returns false if there is no such fence: then the error is known when the finished fence
 * signals. What cannot be read is no error.
 */
static bool job_result(const struct drm_sched_fence *s_fence, int *error)
{
	const struct dma_fence *parent;
	int of_parent = 0;

	*error = 0;
	if (!gpumon_read_nofault(&parent, &s_fence->parent, sizeof(parent)))
		return true;
	if (parent && !gpumon_read_nofault(&of_parent, &parent->error, sizeof(of_parent)))
		return true;
	*error = of_parent ?: READ_ONCE(s_fence->finished.error);
	return parent;
}

static void job_error(struct gpumon_event_context *ctx, const struct gpumon_job *job,
		      local64_t *words)
{
	local64_inc(&words[GPUMON_RING_ERRORS]);
	if (job)
		local64_inc(&gpumon_usage_words(ctx->cpu, gpumon_job_usage(job))
				     [GPUMON_USAGE_ERRORS]);
}

static const char *fence_differs(const struct drm_sched_fence *s_fence);
static bool drm_sched_layout_known(void);

/*
 * Counts the error of a job that is done, @job if it is known. Returns false if it is not known yet:
 * gpumon_result_known() follows.
 */
static bool job_ends(struct gpumon_event_context *ctx, void *data, struct drm_sched_fence *s_fence,
		     const struct gpumon_job *job, u32 ring)
{
	u64 time_ns;
	int error;

	/* After a reset a job may be done once more. */
	if (test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &s_fence->finished.flags))
		return true;
	if (!job_result(s_fence, &error)) {
		if (!gpumon_probe_readable(ctx, drm_sched_layout_known() || !fence_differs(s_fence)))
			return true;
		if (gpumon_result_await(&s_fence->finished, data))
			return false;
		gpumon_probe_dropped(ctx, GPUMON_DROP_TABLE_FULL);
	} else if (error) {
		job_error(ctx, job, ring_words(ctx->cpu, ring));
		/* Later than the event of the end, also where events are sorted by time. */
		time_ns = gpumon_event_ring_time();
		if (time_ns)
			gpumon_job_event_step(GPUMON_EVENT_ERROR, time_ns, ring, NULL, 0,
					      &s_fence->finished, error);
	}
	return true;
}

static noinline void probe_done_slow(void *data, struct drm_sched_fence *s_fence, u64 now)
{
	u64 time_ns;
	struct gpumon_event_context ctx;
	struct gpumon_job *job;
	u64 elapsed = 0;
	local64_t *words;
	u32 ring;

	now = now ?: gpumon_clock();
	time_ns = gpumon_event_ring_time();
	if (!gpumon_probe_enter(&ctx, data))
		return;
	job = gpumon_job_find(&s_fence->finished);
	if (job && job->state & GPUMON_JOB_DONE) {
		gpumon_job_release(job);
		job = NULL;
	}
	if (job && !gpumon_job_running(job)) {
		/*
		 * The run was not seen: the probe was detached meanwhile, or has dropped the event.
		 */
		gpumon_ring_queue_leave(gpumon_ring_gauges(gpumon_job_ring(job)));
		gpumon_job_release(job);
		job = NULL;
	}
	ring = job ? gpumon_job_ring(job) : sched_ring_of_untracked(ctx.cpu, s_fence);
	words = ring_words(ctx.cpu, ring);
	if (job) {
		elapsed = job_elapsed(job, now, words);
		gpumon_row_observe(&gpumon_ring_statistics, words, GPUMON_RING_RUN_NS, elapsed);
		job_used_gpu(ctx.cpu, job, gpumon_ring_gauges(ring), now, elapsed);
		gpumon_ring_hw_leave(gpumon_ring_gauges(ring), words, now);
	}
	local64_inc(&words[GPUMON_RING_DONE]);
	gpumon_probe_recorded(&ctx);
	if (time_ns)
		gpumon_job_event_step(GPUMON_EVENT_DONE, time_ns, ring, job, elapsed,
				      &s_fence->finished, 0);
	/* The callback may come at once, and finds the entry. */
	if (job)
		job->state |= GPUMON_JOB_DONE;
	if (job_ends(&ctx, data, s_fence, job, ring) && job)
		gpumon_job_release(job);
	gpumon_probe_leave(&ctx);
}

static void probe_done(void *data, struct drm_sched_fence *s_fence)
{
	struct gpumon_gauge *gauges;
	struct gpumon_job *job;
	struct gpumon_cpu *cpu;
	u64 now, elapsed;
	local64_t *words;
	u32 ring;

	if (!gpumon_clock_quick(&now) || gpumon_event_ring_on())
		return probe_done_slow(data, s_fence, now);
	job = gpumon_job_entry(&s_fence->finished, 0);
	if (unlikely(!gpumon_job_is(job, &s_fence->finished) || !gpumon_job_running(job) ||
		     job_may_have_failed(s_fence)))
		return probe_done_slow(data, s_fence, now);
	elapsed = gpumon_clock_ns(now - job->since);
	ring = gpumon_job_ring(job);
	cpu = gpumon_leaf_enter();
	words = ring_words(cpu, ring);
	if (unlikely(!gpumon_ring_latency_usual(words, elapsed, GPUMON_RING_RUN_NS_MAX))) {
		gpumon_leaf_leave();
		return probe_done_slow(data, s_fence, now);
	}
	gpumon_ring_latency_count(words, elapsed, GPUMON_RING_RUN_NS_BUCKETS, GPUMON_RING_RUN_NS);
	local64_inc(&words[GPUMON_RING_DONE]);
	gpumon_leaf_recorded(data);
	gauges = gpumon_ring_gauges(ring);
	job_used_gpu(cpu, job, gauges, now, elapsed);
	gpumon_ring_hw_leave(gauges, words, now);
	gpumon_job_release(job);
	gpumon_leaf_leave();
}

static GPUMON_TRACEPOINT_BODY(2, probe_wait, struct drm_sched_job *, sched_job,
			      struct dma_fence *, dependency)
{
	u32 ring = sched_ring_of(ctx->cpu, sched_job->sched);

	local64_inc(&ring_words(ctx->cpu, ring)[GPUMON_RING_WAITS]);
	gpumon_probe_recorded(ctx);
	if (gpumon_event_ring_on())
		gpumon_job_event_wait(ktime_get_mono_fast_ns(), ring, &sched_job->s_fence->finished,
				      dependency);
}

/*
 * The finished fence of a job has signalled that was killed, or done without a fence of the hardware.
 */
noinline void gpumon_result_known(void *data, struct dma_fence *finished)
{
	struct drm_sched_fence *s_fence = container_of(finished, struct drm_sched_fence, finished);
	enum gpumon_event_type event = GPUMON_EVENT_ERROR;
	const int error = READ_ONCE(finished->error);
	struct gpumon_event_context ctx;
	struct gpumon_job *job;
	u64 now, time_ns, elapsed = 0;
	local64_t *words;
	bool done;
	u32 ring;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	now = gpumon_clock();
	time_ns = gpumon_event_ring_time();
	job = gpumon_job_find(finished);
	ring = job ? gpumon_job_ring(job) : sched_ring_of(ctx.cpu, s_fence->sched);
	words = ring_words(ctx.cpu, ring);
	if (error)
		job_error(&ctx, job, words);
	done = job && job->state & GPUMON_JOB_DONE;
	if (job && !done) {
		elapsed = job_elapsed(job, now, words);
		if (!gpumon_job_running(job)) {
			event = GPUMON_EVENT_KILLED;
			local64_inc(&words[GPUMON_RING_KILLED]);
			gpumon_ring_queue_leave(gpumon_ring_gauges(ring));
		} else {
			gpumon_ring_hw_leave(gpumon_ring_gauges(ring), words, now);
		}
	}
	if (time_ns && (error || (job && !done)))
		gpumon_job_event_step(event, time_ns, ring, done ? NULL : job, elapsed, finished,
				      error);
	if (job)
		gpumon_job_release(job);
	gpumon_probe_leave(&ctx);
}

/* Roles of which no event has yet shown the headers' layout, while BTF does not show it. */
static unsigned long unchecked_roles;

static const char *job_differs(const struct drm_sched_job *job)
{
	const struct drm_gpu_scheduler *sched;
	const struct drm_sched_fence *s_fence;

	if (!gpumon_read_nofault(&sched, &job->sched, sizeof(sched)) ||
	    !gpumon_read_nofault(&s_fence, &job->s_fence, sizeof(s_fence)))
		return "drm_sched_job.sched";
	return gpumon_scheduler_differs(sched, s_fence);
}

static const char *fence_differs(const struct drm_sched_fence *s_fence)
{
	const struct drm_gpu_scheduler *sched = NULL;

	(void)gpumon_read_nofault(&sched, &s_fence->sched, sizeof(sched));
	return gpumon_scheduler_differs(sched, s_fence);
}

/* Does the first event of a role have the headers' layout? If not the group is refused. */
static noinline bool role_check(void *data, unsigned int role, const void *argument)
{
	struct gpumon_event_context ctx;
	const char *differs = "";

	if (!gpumon_probe_enter(&ctx, data))
		return false;
	if (!READ_ONCE(gpumon_drm_sched.refused))
		differs = role == SCHED_ROLE_DONE ? fence_differs(argument) : job_differs(argument);
	if (!differs)
		clear_bit(role, &unchecked_roles);
	else
		gpumon_probe_dropped(&ctx, GPUMON_DROP_UNREADABLE);
	if (differs && *differs)
		gpumon_group_refuse(&gpumon_drm_sched, differs);
	gpumon_probe_leave(&ctx);
	return !differs;
}

static __always_inline bool role_checked(void *data, unsigned int role, const void *argument)
{
	return likely(!test_bit(role, &unchecked_roles)) || role_check(data, role, argument);
}

static void probe_queue_unchecked(void *data, struct drm_sched_job *sched_job,
				  struct drm_sched_entity *entity)
{
	if (role_checked(data, SCHED_ROLE_QUEUE, sched_job))
		probe_queue(data, sched_job, entity);
}

static void probe_run_unchecked(void *data, struct drm_sched_job *sched_job,
				struct drm_sched_entity *entity)
{
	if (role_checked(data, SCHED_ROLE_RUN, sched_job))
		probe_run(data, sched_job, entity);
}

static void probe_done_unchecked(void *data, struct drm_sched_fence *s_fence)
{
	if (role_checked(data, SCHED_ROLE_DONE, s_fence))
		probe_done_slow(data, s_fence, 0);
}

static void probe_wait_unchecked(void *data, struct drm_sched_job *sched_job,
				 struct dma_fence *dependency)
{
	if (role_checked(data, SCHED_ROLE_WAIT, sched_job))
		probe_wait(data, sched_job, dependency);
}

/*
 * kprobe on GPUMON_COMPAT_KILL_FUNCTION: ends a job of a killed entity, or waits for one of its
 * dependencies and is called again.
 */
static GPUMON_KPROBE(probe_kill)
{
	void *data = gpumon_probe_data(gpumon_probe_of(kprobe));
	struct drm_sched_job *job = gpumon_compat_killed_job(regs);
	struct gpumon_event_context ctx;

	if (!gpumon_probe_enter(&ctx, data))
		return 0;
	if (gpumon_probe_readable(&ctx, drm_sched_layout_known() || !job_differs(job))) {
		if (gpumon_result_await(&job->s_fence->finished, data))
			gpumon_probe_recorded(&ctx);
		else
			gpumon_probe_dropped(&ctx, GPUMON_DROP_TABLE_FULL);
	}
	gpumon_probe_leave(&ctx);
	return 0;
}

/*
 * kretprobe on drm_sched_fini(sched): when it returns, the next scheduler may get the address.
 * While it runs there may still be events, from which the scheduler would be learned again.
 */
static GPUMON_KRETPROBE_BODY(probe_fini)
{
	gpumon_ring_scheduler_ends((void *)gpumon_call(instance)->argument[0]);
	gpumon_probe_recorded(ctx);
}

/* Forgets the jobs under way; depths start over. */
static void sched_track_start(void)
{
	unchecked_roles = ~0UL;
	gpumon_job_event_clients = gpumon_drm_sched.layout_known;
	gpumon_job_clear();
	gpumon_ring_start();
	gpumon_usage_start();
}

#define SCHED_TRACEPOINT(...) GPUMON_TRACEPOINT_AT("gpu_sched", __VA_ARGS__)
#define JOB_AND_ENTITY "*drm_sched_job *drm_sched_entity"
#define JOB_AND_FENCE  "*drm_sched_job *dma_fence"

static struct gpumon_probe drm_sched_probes[] = {
	/* In the order in which they are detached: the beginning of a job before its end. */
	SCHED_TRACEPOINT("drm_sched_job", SCHED_ROLE_QUEUE, probe_queue, JOB_AND_ENTITY,
			 .unchecked = probe_queue_unchecked,
			 .process_words = BIT(GPUMON_PROCESS_JOBS)),
	SCHED_TRACEPOINT("drm_sched_job_queue", SCHED_ROLE_QUEUE, probe_queue, JOB_AND_ENTITY,
			 .unchecked = probe_queue_unchecked,
			 .process_words = BIT(GPUMON_PROCESS_JOBS)),
	SCHED_TRACEPOINT("drm_run_job", SCHED_ROLE_RUN, probe_run, JOB_AND_ENTITY,
			 .unchecked = probe_run_unchecked),
	SCHED_TRACEPOINT("drm_sched_job_run", SCHED_ROLE_RUN, probe_run, JOB_AND_ENTITY,
			 .unchecked = probe_run_unchecked),
	SCHED_TRACEPOINT("drm_sched_process_job", SCHED_ROLE_DONE, probe_done, "*drm_sched_fence",
			 .unchecked = probe_done_unchecked),
	SCHED_TRACEPOINT("drm_sched_job_done", SCHED_ROLE_DONE, probe_done, "*drm_sched_fence",
			 .unchecked = probe_done_unchecked),
	SCHED_TRACEPOINT("drm_sched_job_wait_dep", SCHED_ROLE_WAIT, probe_wait, JOB_AND_FENCE,
			 .unchecked = probe_wait_unchecked,
			 .optional = true, .without = "dependency waits are not counted"),
	SCHED_TRACEPOINT("drm_sched_job_unschedulable", SCHED_ROLE_WAIT, probe_wait, JOB_AND_FENCE,
			 .unchecked = probe_wait_unchecked,
			 .optional = true, .without = "dependency waits are not counted"),
	GPUMON_KPROBE_AT("gpu_sched", GPUMON_COMPAT_KILL_FUNCTION, SCHED_ROLE_RESULT, probe_kill,
			 GPUMON_COMPAT_KILL_PROTOTYPE, "void", .optional = true,
			 .in_interrupts = GPUMON_COMPAT_KILL_IN_INTERRUPTS,
			 .without = "errors and killed jobs are not known"),
	GPUMON_TIMEOUT_PROBE
	/* Behind all others. */
	GPUMON_CALL_AT("gpu_sched", "drm_sched_fini", SCHED_ROLE_FINI, probe_fini,
		       "*drm_gpu_scheduler", "void", .maxactive = 64, .optional = true,
		       .without = "rings that are gone keep their place"),
};

#define PROBE_FINI (ARRAY_SIZE(drm_sched_probes) - 1)

/*
 * Members of public types that are read at the headers' offsets: a gpu_sched.ko with other offsets
 * is refused.
 */
static struct gpumon_field drm_sched_fields[] = {
	GPUMON_TIMEOUT_FIELDS
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_job, s_fence),
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_job, sched),
	GPUMON_COMPAT_KILL_FIELD
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_fence, finished),
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_fence, parent),
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_fence, sched),
	GPUMON_COMPAT_DRM_CLIENT_FIELD
	GPUMON_FIELD_BUILT("gpu_sched", drm_gpu_scheduler, name),
	GPUMON_COMPAT_SCHED_OWNER_FIELD
};

static bool drm_sched_layout_known(void)
{
	return gpumon_drm_sched.layout_known;
}

static bool ends_are_seen(void)
{
	return READ_ONCE(drm_sched_probes[PROBE_FINI].state) == GPUMON_ATTACH_STATE_ATTACHED;
}

static struct gpumon_statistics *const drm_sched_tables[] = { &gpumon_ring_statistics,
							      &gpumon_usage_statistics };
static struct gpumon_track *const drm_sched_tracks[] = { &gpumon_ring_schedulers,
							 &gpumon_ring_names };

struct gpumon_group gpumon_drm_sched = {
	.name = "drm_sched",
	GPUMON_PROBES(drm_sched_probes),
	GPUMON_FIELDS(drm_sched_fields),
	GPUMON_TABLES(drm_sched_tables),
	GPUMON_TRACKS(drm_sched_tracks),
	.start = sched_track_start,
	.stop = gpumon_result_stop,
	.module_gone = sched_track_start,
};
