/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs of the DRM scheduler in flight: from being queued until they are done. */
#ifndef GPUMON_JOB_H
#define GPUMON_JOB_H

#include <linux/dma-fence.h>

#include "table.h"

enum gpumon_job_state {
	GPUMON_JOB_QUEUED,
	GPUMON_JOB_RUNNING,
};

/**
 * struct gpumon_job - a job in flight
 * @time_ns: when it got into its state, CLOCK_MONOTONIC
 * @ring: slot of its ring
 * @process: slot of the process that queued it, GPUMON_NONE if it had none
 * @pid: its pid, tells whether the slot is still the same process's
 * @tid: thread that queued it
 * @state: where it is
 */
struct gpumon_job {
	u64 time_ns;
	u32 ring;
	u32 process;
	u32 pid;
	u32 tid;
	u32 state;
};

extern struct gpumon_table gpumon_job_table;
extern struct gpumon_job *gpumon_jobs;

int gpumon_job_init(u32 max_jobs);
void gpumon_job_exit(void);
size_t gpumon_job_bytes(void);

/**
 * gpumon_job_key - what names a job
 * @finished: its finished fence
 *
 * Fence contexts are never given twice, and the scheduler counts the fences of
 * one with 32 bits: no other job has ever had the same key, so that an entry
 * left behind cannot be taken for another job.
 *
 * Return: key, not 0.
 */
static __always_inline u64 gpumon_job_key(const struct dma_fence *finished)
{
	return finished->context << 32 ^ finished->seqno;
}

#endif /* GPUMON_JOB_H */
