/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * churn_gpu.ko: jobs by the million on rings and of processes that come and go,
 * none of them real. README.md says what can be asked for.
 */
#ifndef CHURN_GPU_H
#define CHURN_GPU_H

#include <linux/dma-fence.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "fire_gpu.h"

#define CHURN_MAX_RINGS	  1024
#define CHURN_MAX_THREADS 64

/* Jobs in flight of a thread: half of them queued, half of them run. */
#define CHURN_FLIGHT 64

/* What is fired; each is an event that a probe takes. */
enum churn_event {
	CHURN_QUEUE,
	CHURN_RUN,
	CHURN_DONE,
	CHURN_WAIT,
	CHURN_KILLED,
	CHURN_EVENTS
};

/**
 * struct churn_ring - a ring that is not there
 * @sched: its scheduler, of which only name and device are set
 * @name: never given twice
 * @context: of its jobs' fences
 * @seqno: of the last one
 * @count: events of it
 */
struct churn_ring {
	struct drm_gpu_scheduler sched;
	char name[24];
	u64 context;
	u64 seqno;
	u64 count[CHURN_EVENTS];
};

/**
 * struct churn_job - a job on its way
 * @job: what the tracepoints of queue and run get
 * @fence: what that of done gets
 * @ring: its ring
 * @killed: it ends without having run
 */
struct churn_job {
	struct drm_sched_job job;
	struct drm_sched_fence fence;
	struct churn_ring *ring;
	bool killed;
};

/**
 * struct churn_plan - what a storm command asks for, of each thread
 * @jobs: how many
 * @threads: kernel threads, each on a processor of its own
 * @rings: at a time
 * @ring_jobs: jobs from the end of one ring to the end of the next, 0 for never
 * @pids: processes at a time, 0 for the thread itself
 * @pid_jobs: jobs from the end of one process to the end of the next, 0 for never
 * @seed: of all that is random
 */
struct churn_plan {
	u64 jobs;
	u64 threads;
	u64 rings;
	u64 ring_jobs;
	u64 pids;
	u64 pid_jobs;
	u64 seed;
};

/**
 * struct churn - the jobs of one thread
 * @plan: what is asked for
 * @rings: its rings
 * @flight: its jobs in flight
 * @queued: jobs so far
 * @random: state of the generator
 * @next_ring: the one that ends next
 * @ring_number: that makes names unique
 * @first_pid: lowest of the processes at this time
 * @begun: rings, also those that have ended
 * @ended: rings
 * @count: events of all rings
 */
struct churn {
	struct churn_plan plan;
	struct churn_ring *rings;
	struct churn_job *flight;
	u64 queued;
	u64 random;
	u64 next_ring;
	u32 first_pid;
	u64 begun;
	u64 ended;
	u64 count[CHURN_EVENTS];
};

int churn_init(void);
void churn_exit(void);
struct churn *churn_new(const struct churn_plan *plan);
void churn_free(struct churn *churn);
int churn_some(struct churn *churn, u64 jobs);
int churn_drain(struct churn *churn);

#endif /* CHURN_GPU_H */
