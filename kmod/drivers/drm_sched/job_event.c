// SPDX-License-Identifier: GPL-2.0-only
/* Events of a job's steps, for the event ring. */
#include <linux/string.h>

#include "common/event_ring.h"
#include "common/process.h"
#include "compat/drm_client.h"
#include "core/field.h"
#include "job.h"
#include "job_event.h"
#include "ring.h"
#include "usage.h"

/* Without a baseline a depth is unknown, not 0, as in the table. */
static u32 job_event_depth(u32 ring, unsigned int column)
{
	return gpumon_row_level_known(&gpumon_ring_statistics, ring, column) ?
		       gpumon_row_level_now(&gpumon_ring_statistics, ring, column) :
		       GPUMON_DEPTH_UNKNOWN;
}

static void job_event_fill(struct gpumon_event *record, enum gpumon_event_type event, u64 now,
			   u32 ring, const struct dma_fence *finished)
{
	record->time_ns = now;
	record->context = finished->context;
	record->seqno = finished->seqno;
	record->arg = 0;
	record->arg2 = 0;
	record->event = event;
	record->cpu = raw_smp_processor_id();
	record->flags = 0;
	record->ring = ring;
	record->pid = 0;
	record->tid = 0;
	record->queue_depth = job_event_depth(ring, GPUMON_RING_QUEUE_DEPTH);
	record->hw_depth = job_event_depth(ring, GPUMON_RING_HW_DEPTH);
	record->error = 0;
	record->reserved = 0;
	memset(record->comm, 0, sizeof(record->comm));
}

/* Writes that a job was queued; in the submitter's context. */
noinline void gpumon_job_event_queue(u64 now, u32 ring, const struct dma_fence *finished)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);

	if (!record)
		return;
	job_event_fill(record, GPUMON_EVENT_QUEUE, now, ring, finished);
	record->arg = gpumon_job_event_clients ? gpumon_compat_drm_client(finished) : 0;
	if (in_task())
		gpumon_event_ring_submitter(record);
	gpumon_event_ring_commit(slot);
}

/*
 * Writes a later step of a job, @elapsed after the step before; @job is NULL if that was not seen.
 */
noinline void gpumon_job_event_step(enum gpumon_event_type event, u64 now, u32 ring,
				    const struct gpumon_job *job, u64 elapsed,
				    const struct dma_fence *finished, int error)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);
	const struct gpumon_process *process;
	u32 submitter;

	if (!record)
		return;
	job_event_fill(record, event, now, ring, finished);
	record->error = error;
	if (job) {
		record->arg = elapsed;
		record->flags = GPUMON_EVENT_F_LATENCY | (job->pid ? GPUMON_EVENT_F_SUBMITTER : 0);
		record->pid = job->pid;
		record->tid = job->tid;
		submitter = gpumon_usage_process(gpumon_job_usage(job));
		if (submitter != GPUMON_NONE && gpumon_process_ready(submitter)) {
			process = &gpumon_processes[submitter];
			if (process->pid == job->pid)
				memcpy(record->comm, process->comm, sizeof(record->comm));
		}
	}
	gpumon_event_ring_commit(slot);
}

/* Writes that a job waits for another fence. */
noinline void gpumon_job_event_wait(u64 now, u32 ring, const struct dma_fence *finished,
				     const struct dma_fence *dependency)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);

	if (!record)
		return;
	job_event_fill(record, GPUMON_EVENT_WAIT, now, ring, finished);
	if (!gpumon_read_nofault(&record->arg, &dependency->context, sizeof(record->arg)) ||
	    !gpumon_read_nofault(&record->arg2, &dependency->seqno, sizeof(record->arg2))) {
		record->arg = GPUMON_WORD_UNKNOWN;
		record->arg2 = GPUMON_WORD_UNKNOWN;
	}
	gpumon_event_ring_commit(slot);
}
