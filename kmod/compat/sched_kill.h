/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The function that ends a job of a killed entity, and how it is given the job. It is given
 * a work item since 5.19, 9b04369b060f ("drm/scheduler: Don't kill jobs in interrupt context"); since
 * 5.16 an irq_work, 542cff7893a3 ("drm/sched: Avoid lockdep spalt on killing a processes"); before,
 * it is a callback of the fence that the job waits for.
 */
#ifndef GPUMON_COMPAT_SCHED_KILL_H
#define GPUMON_COMPAT_SCHED_KILL_H

#include <drm/gpu_scheduler.h>

#include "kernel_argument.h"

#if defined(GPUMON_HAVE_SCHED_JOB_WORK)
#define GPUMON_COMPAT_KILL_FUNCTION  "drm_sched_entity_kill_jobs_work"
#define GPUMON_COMPAT_KILL_PROTOTYPE "*work_struct"
#define GPUMON_COMPAT_KILL_ARGUMENT  0
#define GPUMON_COMPAT_KILL_FIELD     GPUMON_FIELD_BUILT("gpu_sched", drm_sched_job, work),
#define gpumon_compat_kill_member    work
#elif defined(GPUMON_HAVE_SCHED_JOB_IRQ_WORK)
#define GPUMON_COMPAT_KILL_FUNCTION  "drm_sched_entity_kill_jobs_irq_work"
#define GPUMON_COMPAT_KILL_PROTOTYPE "*irq_work"
#define GPUMON_COMPAT_KILL_ARGUMENT  0
#define GPUMON_COMPAT_KILL_FIELD     GPUMON_FIELD_BUILT("gpu_sched", drm_sched_job, work),
#define gpumon_compat_kill_member    work
#else
#define GPUMON_COMPAT_KILL_FUNCTION  "drm_sched_entity_kill_jobs_cb"
#define GPUMON_COMPAT_KILL_PROTOTYPE "*dma_fence *dma_fence_cb"
#define GPUMON_COMPAT_KILL_ARGUMENT  1
#define GPUMON_COMPAT_KILL_FIELD     GPUMON_FIELD_BUILT("gpu_sched", drm_sched_job, finish_cb),
#define gpumon_compat_kill_member    finish_cb
#endif

/* Is it called in interrupts, maybe on top of itself? */
#ifdef GPUMON_HAVE_SCHED_JOB_WORK
#define GPUMON_COMPAT_KILL_IN_INTERRUPTS false
#else
#define GPUMON_COMPAT_KILL_IN_INTERRUPTS true
#endif

/* The job, at the entry of the function. */
static __always_inline struct drm_sched_job *gpumon_compat_killed_job(struct pt_regs *regs)
{
	typeof(((struct drm_sched_job *)NULL)->gpumon_compat_kill_member) *member =
		(void *)gpumon_compat_kernel_argument(regs, GPUMON_COMPAT_KILL_ARGUMENT);

	return container_of(member, struct drm_sched_job, gpumon_compat_kill_member);
}

#endif /* GPUMON_COMPAT_SCHED_KILL_H */
