// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: jobs, by ring. A job is submitted in amdgpu_cs_ioctl and run when the scheduler
 * hands it to the ring: the time between the two is the submission latency. Jobs of the kernel
 * itself (page tables, moves of buffers) are run without having been submitted there.
 *
 * A job is identified by its finished fence: the address finds it, context and sequence number have
 * to be the same. So a job that is killed and never run keeps its place only until the fence's
 * memory is used again.
 */
#include <linux/dma-fence.h>
#include <drm/gpu_scheduler.h>

#include "common/event_ring.h"
#include "common/process.h"
#include "core/clock.h"
#include "drivers/groups.h"
#include "internal.h"

enum {
	RING_SUBMISSIONS,
	RING_IBS,
	RING_COMMAND_BUFFERS,
	RING_COMMAND_DWORDS,
	RING_RUNS,
	RING_SUBMISSION_NS,
	RING_UNMATCHED,
	RING_UNTRACKED,
	RING_UNATTRIBUTED,
	RING_BACKWARDS,
	RING_PIPE_SYNCS
};

static const struct gpumon_column ring_columns[] = {
	[RING_SUBMISSIONS] = GPUMON_COUNTER("submissions"),
	[RING_IBS] = GPUMON_COUNTER("ibs", .needs = AMDGPU_FIELD(JOB_IBS)),
	[RING_COMMAND_BUFFERS] = GPUMON_COUNTER("command_buffers"),
	[RING_COMMAND_DWORDS] = { .name = "command_dwords",
				  .needs = AMDGPU_FIELD(IB_LENGTH) },
	[RING_RUNS] = GPUMON_COUNTER("runs"),
	[RING_SUBMISSION_NS] = GPUMON_HISTOGRAM("submission_ns", .bits = 36),
	[RING_UNMATCHED] = GPUMON_COUNTER("unmatched"),
	[RING_UNTRACKED] = GPUMON_COUNTER("untracked"),
	[RING_UNATTRIBUTED] = GPUMON_COUNTER("unattributed"),
	[RING_BACKWARDS] = GPUMON_COUNTER("clock_backwards"),
	[RING_PIPE_SYNCS] = GPUMON_COUNTER("pipe_syncs"),
};

struct gpumon_statistics gpumon_amdgpu_rings = {
	.name = "rings",
	.labels = { "device", "ring" },
	GPUMON_COLUMNS(ring_columns),
	.capacity = 128,
};

/*
 * Row of each scheduler's ring plus 1, by the address of the scheduler. The addresses of its name and
 * device are its identity.
 */
struct gpumon_track gpumon_amdgpu_schedulers = {
	.capacity = 256,
};

/**
 * struct tracked_job - a job that was submitted and not run yet
 * @since: when it was submitted, gpumon_clock()
 * @seqno: sequence number of its finished fence
 * @context: context of its finished fence
 * @row: row of its ring
 */
struct tracked_job {
	u64 since;
	u64 seqno;
	u64 context;
	u32 row;
};
GPUMON_TRACKED_TYPE(struct tracked_job);

/* Jobs by the address of their drm_sched_fence. */
struct gpumon_track gpumon_amdgpu_jobs = {
	.capacity = 4096,
};

/* Members of a job and of a fence that are read at once. */
struct job_view {
	const struct drm_gpu_scheduler *sched;
	const struct drm_sched_fence *s_fence;
};

struct fence_view {
	u64 context;
	u64 seqno;
};

static_assert(offsetof(struct drm_sched_job, s_fence) ==
	      offsetof(struct drm_sched_job, sched) + offsetof(struct job_view, s_fence));
static_assert(offsetof(struct dma_fence, seqno) ==
	      offsetof(struct dma_fence, context) + offsetof(struct fence_view, seqno));

/* struct amdgpu_job begins with its drm_sched_job. */
static __always_inline bool read_job(const struct amdgpu_job *job, struct job_view *view)
{
	const struct drm_sched_job *sched_job = (const struct drm_sched_job *)job;

	return gpumon_read_nofault(view, &sched_job->sched, sizeof(*view));
}

/*
 * Reads a fence. If there is none or it cannot be read, returns false and sets both words to
 * unknown.
 */
static __always_inline bool read_fence(const struct dma_fence *fence, struct fence_view *view)
{
	if (likely(gpumon_read_nofault(view, &fence->context, sizeof(*view))))
		return true;
	*view = (struct fence_view){ GPUMON_WORD_UNKNOWN, GPUMON_WORD_UNKNOWN };
	return false;
}

/*
 * May the name of a scheduler be read at the headers' offset? Without BTF a job of the scheduler
 * shows it; @job: NULL if there is none at hand.
 */
static bool scheduler_trusted(const struct drm_gpu_scheduler *sched, const struct job_view *job)
{
	const char *differs = "";

	if (likely(gpumon_amdgpu.layout_known))
		return true;
	if (job && !READ_ONCE(gpumon_amdgpu.refused))
		differs = gpumon_scheduler_differs(sched, job->s_fence);
	if (differs && *differs)
		gpumon_group_refuse(&gpumon_amdgpu, differs);
	return !differs;
}

static noinline u32 ring_learn(const struct drm_gpu_scheduler *sched,
			       const struct job_view *job, const char *name,
			       const struct device *dev, u64 identity)
{
	char device[GPUMON_LABEL_LEN], ring[GPUMON_LABEL_LEN];
	u64 key;
	u32 row;

	if (!scheduler_trusted(sched, job))
		return GPUMON_UNREADABLE;
	gpumon_device_name(device, dev);
	if (!name || gpumon_read_string_nofault(ring, sizeof(ring), name) <= 0)
		strscpy(ring, "-", sizeof(ring));
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), gpumon_key_text(ring));
	row = gpumon_row_learn(&gpumon_amdgpu_rings, key, device, ring, NULL);
	if (row != GPUMON_NONE && name)
		gpumon_track_remember(&gpumon_amdgpu_schedulers, (unsigned long)sched, identity,
				      row + 1);
	return row;
}

/* Row of a scheduler's ring; @job: a job of the scheduler, NULL if there is none at hand. */
static __always_inline u32 amdgpu_ring_of(const struct drm_gpu_scheduler *sched,
				   const struct job_view *job)
{
	const void *owner;
	const char *name;
	u64 identity;
	u32 known;

	if (unlikely(!sched || !gpumon_read_nofault(&name, &sched->name, sizeof(name)) ||
		     !gpumon_read_nofault(&owner, &sched->gpumon_compat_sched_owner,
					  sizeof(owner))))
		return GPUMON_UNREADABLE;
	identity = gpumon_key_mix((unsigned long)name, (unsigned long)owner);
	known = gpumon_track_known(&gpumon_amdgpu_schedulers, (unsigned long)sched, identity);
	return likely(known) ? known - 1 :
			       ring_learn(sched, job, name, gpumon_compat_sched_device(owner),
					  identity);
}

/* gpumon_row_begin() for the ring of a scheduler. */
static __always_inline bool ring_begin(struct gpumon_event_context *ctx,
				       const struct drm_gpu_scheduler *sched,
				       const struct job_view *job, u32 *row,
				       unsigned int column, local64_t **words)
{
	*row = amdgpu_ring_of(sched, job);
	return gpumon_row_begin(ctx, &gpumon_amdgpu_rings, *row, column, words);
}

/* Tracepoint amdgpu_cs, one for each command buffer */
GPUMON_TRACEPOINT_BODY(3, gpumon_amdgpu_cs, struct amdgpu_cs_parser *, parser,
		       struct amdgpu_job *, job, struct amdgpu_ib *, ib)
{
	const struct drm_sched_job *sched_job = (const struct drm_sched_job *)job;
	const struct drm_gpu_scheduler *sched = NULL;
	const struct drm_sched_entity *entity;
	const struct drm_sched_rq *rq;
	local64_t *words;
	u64 length;
	u32 row;

	/* Until the job is armed, sched is the device's first ring and not the job's. */
	if (!gpumon_probe_readable(ctx, gpumon_field_get(AMDGPU_FIELD(IB_LENGTH), ib, &length) &&
				   gpumon_read_nofault(&entity, &sched_job->entity, sizeof(entity)) &&
				   gpumon_read_nofault(&rq, &entity->rq, sizeof(rq)) &&
				   gpumon_read_nofault(&sched, &rq->sched, sizeof(sched))))
		return;
	if (!ring_begin(ctx, sched, NULL, &row, RING_COMMAND_BUFFERS, &words))
		return;
	gpumon_row_add(words, RING_COMMAND_DWORDS, length);
	gpumon_event_ring_now(GPUMON_EVENT_CS, row,
			      gpumon_field_word(AMDGPU_FIELD(IB_LENGTH), length), 0, 0, 0);
}

/* Tracepoint amdgpu_cs_ioctl, one for each job */
GPUMON_TRACEPOINT_BODY(1, gpumon_amdgpu_cs_ioctl, struct amdgpu_job *, job)
{
	u64 now = gpumon_clock();
	struct tracked_job *entry = NULL;
	struct fence_view fence;
	struct job_view view;
	local64_t *words;
	bool known;
	u32 row, process = GPUMON_NONE;
	u64 ibs;

	if (!gpumon_probe_readable(ctx, read_job(job, &view) &&
				   gpumon_field_get(AMDGPU_FIELD(JOB_IBS), job, &ibs)))
		return;
	if (!ring_begin(ctx, view.sched, &view, &row, RING_SUBMISSIONS, &words))
		return;
	gpumon_row_add(words, RING_IBS, ibs);
	if (likely(in_task()))
		process = gpumon_process_slot(ctx->cpu);
	gpumon_process_add(ctx->cpu, process, GPUMON_PROCESS_SUBMISSIONS, 1);
	if (unlikely(process == GPUMON_NONE))
		gpumon_row_add(words, RING_UNATTRIBUTED, 1);

	if (likely(read_fence(&view.s_fence->finished, &fence)))
		entry = gpumon_track_begin(&gpumon_amdgpu_jobs, (unsigned long)view.s_fence,
					   &known);
	if (likely(entry)) {
		entry->since = now;
		entry->context = fence.context;
		entry->seqno = fence.seqno;
		entry->row = row;
	} else {
		gpumon_row_add(words, RING_UNTRACKED, 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_CS_IOCTL, row, fence.context, fence.seqno,
			      gpumon_field_word(AMDGPU_FIELD(JOB_IBS), ibs), 0);
}

/* Tracepoint amdgpu_sched_run_job */
GPUMON_TRACEPOINT_BODY(1, gpumon_amdgpu_run, struct amdgpu_job *, job)
{
	u64 now = gpumon_clock(), elapsed = GPUMON_WORD_UNKNOWN;
	struct tracked_job *entry = NULL;
	struct fence_view fence;
	struct job_view view;
	local64_t *words;
	u32 row;

	if (!gpumon_probe_readable(ctx, read_job(job, &view)))
		return;
	if (likely(read_fence(&view.s_fence->finished, &fence)))
		entry = gpumon_track_find(&gpumon_amdgpu_jobs, (unsigned long)view.s_fence);
	if (likely(entry && entry->seqno == fence.seqno && entry->context == fence.context)) {
		row = entry->row;
		words = gpumon_row_words(&gpumon_amdgpu_rings, row);
		gpumon_row_add(words, RING_RUNS, 1);
		gpumon_probe_recorded(ctx);
		if (!gpumon_clock_elapsed(entry->since, now, &elapsed))
			gpumon_row_add(words, RING_BACKWARDS, 1);
		gpumon_row_observe(&gpumon_amdgpu_rings, words, RING_SUBMISSION_NS, elapsed);
		gpumon_track_end(&gpumon_amdgpu_jobs, entry);
	} else {
		if (!ring_begin(ctx, view.sched, &view, &row, RING_RUNS, &words))
			return;
		gpumon_row_add(words, RING_UNMATCHED, 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_SCHED_RUN_JOB, row, fence.context, fence.seqno, elapsed,
			      gpumon_field_read_word(AMDGPU_FIELD(JOB_IBS), job));
}

/* Tracepoint amdgpu_ib_pipe_sync */
GPUMON_TRACEPOINT_BODY(2, gpumon_amdgpu_pipe_sync, struct amdgpu_job *, job,
		       struct dma_fence *, fence)
{
	struct fence_view own, dependency;
	struct job_view view;
	local64_t *words;
	u32 row;

	if (!gpumon_probe_readable(ctx, read_job(job, &view)))
		return;
	if (ring_begin(ctx, view.sched, &view, &row, RING_PIPE_SYNCS, &words) &&
	    gpumon_event_ring_on()) {
		read_fence(&view.s_fence->finished, &own);
		read_fence(fence, &dependency);
		gpumon_event_ring_words(GPUMON_EVENT_PIPE_SYNC, ktime_get_mono_fast_ns(), row,
					own.context, own.seqno, dependency.context,
					dependency.seqno);
	}
}
