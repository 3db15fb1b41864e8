/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_JOB_EVENT_H
#define GPUMON_JOB_EVENT_H

#include "uapi/gpumon_event.h"

struct dma_fence;
struct gpumon_job;

/* drm_sched.c: is the DRM client of a job at the headers' offset? */
extern bool gpumon_job_event_clients;

/* Called by probes, with preemption off, only while gpumon_event_ring_on(). */
void gpumon_job_event_queue(u64 now, u32 ring, const struct dma_fence *finished);
void gpumon_job_event_step(enum gpumon_event_type event, u64 now, u32 ring,
			   const struct gpumon_job *job, u64 elapsed,
			   const struct dma_fence *finished, int error);
void gpumon_job_event_wait(u64 now, u32 ring, const struct dma_fence *finished,
			   const struct dma_fence *dependency);

#endif /* GPUMON_JOB_EVENT_H */
