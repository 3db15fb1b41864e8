/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * churn_gpu.ko: millions of jobs on simulated rings and of simulated processes, which come and go.
 * README.md describes the commands.
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

/* The kinds of events that are fired for probes. */
enum churn_event {
	CHURN_QUEUE,
	CHURN_RUN,
	CHURN_DONE,
	CHURN_WAIT,
	CHURN_KILLED,
	CHURN_EVENTS
};

/**
 * struct churn_ring - a simulated ring
 * @sched: its scheduler, with only name and device set
 * @name: a unique name
 * @context: context of its jobs' fences
 * @seqno: number of the last fence
 * @count: number of its events
 */
struct churn_ring {
	struct drm_gpu_scheduler sched;
	char name[24];
	u64 context;
	u64 seqno;
	u64 count[CHURN_EVENTS];
};

/**
 * struct churn_job - a job in flight
 * @job: argument of the queue and run tracepoints
 * @fence: argument of the done tracepoint
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
 * struct churn_plan - the parameters of a storm command, per thread
 * @jobs: number of jobs
 * @threads: number of kernel threads, each on a CPU of its own
 * @rings: number of rings at a time
 * @ring_jobs: jobs from the end of one ring to the end of the next, 0 for never
 * @hung: jobs of a ring that never end, of those in flight when it does
 * @numbered: the rings are named like queues of applications
 * @pids: number of processes at a time, 0 for the thread itself
 * @pid_jobs: jobs from the end of one process to the end of the next, 0 for never
 * @seed: seed of the random generator
 */
struct churn_plan {
	u64 jobs;
	u64 threads;
	u64 rings;
	u64 ring_jobs;
	u64 hung;
	u64 numbered;
	u64 pids;
	u64 pid_jobs;
	u64 seed;
};

/**
 * struct churn - the jobs of one thread
 * @plan: parameters
 * @rings: its rings
 * @flight: its jobs in flight
 * @queued: jobs so far
 * @random: state of the random generator
 * @next_ring: ring that ends next
 * @ring_number: makes ring names unique
 * @first_pid: lowest pid at this time
 * @begun: number of rings so far, including ended ones
 * @ended: number of ended rings
 * @count: number of events of all rings
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
