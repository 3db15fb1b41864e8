// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that is named gpu_sched and has its tracepoints, with a job that has one more member
 * than in the headers. Code that reads s_fence at the offset of the headers dereferences a number.
 */
#include <linux/module.h>

/* Everything in the header except the job. */
#define drm_sched_job drm_sched_job_of_the_headers
#include <drm/gpu_scheduler.h>
#undef drm_sched_job

/* Not a pointer: on amd64 nothing can be at this address. */
#define NO_POINTER 0x6b6b6b6b6b6b6b6bULL

struct drm_sched_job {
	u64 added[offsetof(struct drm_sched_job_of_the_headers, s_fence) / sizeof(u64) + 1];
	struct drm_sched_fence *s_fence;
	struct drm_gpu_scheduler *sched;
	u64 more[16];
};

#define CREATE_TRACE_POINTS
#include "wrong_layout_trace.h"

static struct drm_sched_job job;

static void fire_once(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(job.added); i++)
		job.added[i] = NO_POINTER;
	trace_drm_sched_job(&job, NULL);
	trace_drm_sched_job_queue(&job, NULL);
}

#include "../lib/wrong_module.h"

MODULE_DESCRIPTION("Tracepoints of gpu_sched with a job of another layout, for a test");
