// SPDX-License-Identifier: GPL-2.0-only
/* The steps of a job in the event ring. */
#include <linux/string.h>

#include "common/event_ring.h"
#include "common/process.h"
#include "job.h"
#include "job_event.h"
#include "ring.h"

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
	record->queue_depth = atomic64_read(gpumon_ring_gauge(ring, GPUMON_RING_QUEUE_DEPTH));
	record->hw_depth = atomic64_read(gpumon_ring_gauge(ring, GPUMON_RING_HW_DEPTH));
	record->error = 0;
	record->reserved = 0;
	memset(record->comm, 0, sizeof(record->comm));
}

/**
 * gpumon_job_event_queue - write that a job was queued
 * @now: time
 * @ring: slot of the ring
 * @finished: the job's finished fence
 *
 * Context: probe in the task context of the submitter, preemption off.
 */
noinline void gpumon_job_event_queue(u64 now, u32 ring, const struct dma_fence *finished)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);

	if (!record)
		return;
	job_event_fill(record, GPUMON_EVENT_QUEUE, now, ring, finished);
	gpumon_event_ring_submitter(record);
	gpumon_event_ring_commit(slot);
}

/**
 * gpumon_job_event_step - write a later step of a job
 * @event: which
 * @now: time
 * @ring: slot of the ring
 * @job: the job's entry, NULL if it was not seen to be queued
 * @elapsed: time since its step before, if there is an entry
 * @finished: the job's finished fence
 * @error: its error, negative, or 0
 *
 * Context: probe, preemption off.
 */
noinline void gpumon_job_event_step(enum gpumon_event_type event, u64 now, u32 ring,
				    const struct gpumon_job *job, u64 elapsed,
				    const struct dma_fence *finished, int error)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);
	const struct gpumon_process *process;

	if (!record)
		return;
	job_event_fill(record, event, now, ring, finished);
	record->error = error;
	if (job) {
		record->arg = elapsed;
		record->flags = GPUMON_EVENT_F_LATENCY | GPUMON_EVENT_F_SUBMITTER;
		record->pid = job->pid;
		record->tid = job->tid;
		if (job->process != GPUMON_NONE && gpumon_process_ready(job->process)) {
			process = &gpumon_processes[job->process];
			if (process->pid == job->pid)
				memcpy(record->comm, process->comm, sizeof(record->comm));
		}
	}
	gpumon_event_ring_commit(slot);
}

/**
 * gpumon_job_event_wait - write that a job waits for another fence
 * @now: time
 * @ring: slot of the ring
 * @finished: the job's finished fence
 * @dependency: the fence that it waits for
 *
 * Context: probe, preemption off.
 */
noinline void gpumon_job_event_wait(u64 now, u32 ring, const struct dma_fence *finished,
				     const struct dma_fence *dependency)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);

	if (!record)
		return;
	job_event_fill(record, GPUMON_EVENT_WAIT, now, ring, finished);
	record->arg = dependency->context;
	record->arg2 = dependency->seqno;
	gpumon_event_ring_commit(slot);
}
