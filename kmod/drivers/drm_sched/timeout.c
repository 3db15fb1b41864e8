// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's timeout: an alert when its handler starts. It has no tracepoint, and the function
 * is static. Its work item is in the scheduler; the first job of the scheduler's list is the one
 * that the driver will be asked about. These members are found in BTF.
 */
#include <linux/dma-fence.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <drm/gpu_scheduler.h>

#include "common/alert.h"
#include "core/clock.h"
#include "core/nofault.h"
#include "drivers/groups.h"
#include "hang.h"
#include "job.h"
#include "ring.h"

static const struct gpumon_field *timeout_field(unsigned int field)
{
	return &gpumon_drm_sched.fields[field];
}

/*
 * The first job that the scheduler waits for. Sets it to NULL if there is none: then the handler has
 * nothing to do. The job may be freed at any moment. Returns false if it cannot be read.
 */
static bool timeout_job(const struct drm_gpu_scheduler *sched, const struct drm_sched_job **job)
{
	const void *list = gpumon_field_address(timeout_field(GPUMON_TIMEOUT_PENDING), sched);
	const void *first;

	*job = NULL;
	if (!list || !gpumon_field_known(timeout_field(GPUMON_TIMEOUT_LIST)) ||
	    !gpumon_read_nofault(&first, &((const struct list_head *)list)->next, sizeof(first)))
		return false;
	if (first != list)
		*job = first - timeout_field(GPUMON_TIMEOUT_LIST)->offset;
	return true;
}

/* Copies the entry of a job. Returns false if its queueing was not seen, or it has just ended. */
static bool timeout_entry(const struct drm_sched_job *job, struct gpumon_job *copy)
{
	const struct drm_sched_fence *s_fence;
	const struct gpumon_job *entry;
	struct dma_fence finished;

	if (!gpumon_read_nofault(&s_fence, &job->s_fence, sizeof(s_fence)) ||
	    !gpumon_read_nofault(&finished.context, &s_fence->finished.context,
				 sizeof(finished.context)) ||
	    !gpumon_read_nofault(&finished.seqno, &s_fence->finished.seqno,
				 sizeof(finished.seqno)))
		return false;
	entry = gpumon_job_find(&finished);
	if (!entry)
		return false;
	/* The job may end meanwhile: the key tells. */
	*copy = data_race(*entry);
	return copy->key == gpumon_job_key(&finished) && gpumon_job_running(copy) &&
	       !(copy->state & GPUMON_JOB_DONE);
}

/* Kprobe on drm_sched_job_timedout(work) */
GPUMON_KPROBE_BODY(gpumon_sched_timeout)
{
	const s32 work = READ_ONCE(timeout_field(GPUMON_TIMEOUT_WORK)->offset);
	const struct drm_gpu_scheduler *sched;
	const struct drm_sched_job *job;
	struct gpumon_job entry;
	u64 age_ns = 0;
	bool known;
	u32 ring;

	sched = (const void *)regs_get_kernel_argument(regs, 0) - work;
	if (!gpumon_probe_readable(ctx, work >= 0 && timeout_job(sched, &job)))
		return;
	gpumon_probe_recorded(ctx);
	if (!job)
		return;
	ring = gpumon_place_ring(gpumon_ring_find(sched));
	known = timeout_entry(job, &entry) &&
		gpumon_clock_elapsed(entry.since, gpumon_clock(), &age_ns);
	gpumon_hang_tell(ktime_get_mono_fast_ns(), ring, "timeout",
			 known ? "the scheduler's timeout has come, job on the hardware" :
				 "the scheduler's timeout has come",
			 age_ns, known ? &entry : NULL);
}
