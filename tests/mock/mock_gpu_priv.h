/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of mock_gpu.ko. */
#ifndef MOCK_GPU_PRIV_H
#define MOCK_GPU_PRIV_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include "mock_gpu.h"

struct platform_device;
struct seq_file;

/**
 * enum mock_distribution - distribution of service times
 * @MOCK_FIXED: always the mean
 * @MOCK_UNIFORM: uniform from 0.5 to 1.5 times the mean
 * @MOCK_EXPONENTIAL: exponential with that mean
 */
enum mock_distribution {
	MOCK_FIXED,
	MOCK_UNIFORM,
	MOCK_EXPONENTIAL,
};

/**
 * struct mock_account - counts of one ring, under its lock
 * @queued: jobs pushed
 * @run: calls of run_job() for a new job
 * @done: jobs of @run that ended, with or without an error
 * @errors: jobs that ended with an error, or were killed
 * @killed: jobs freed without having run
 * @dependencies: dependencies of the jobs pushed
 * @dependencies_run: dependencies of the jobs run
 * @run_errors: run_job() returned an error
 * @hw_errors: the hardware fence carried an error, timeouts apart
 * @timeouts: the scheduler's timeout ended the job
 * @queue_depth: pushed, neither run nor killed
 * @queue_depth_max: highest @queue_depth
 * @hw_depth: run, not done
 * @hw_depth_max: highest @hw_depth
 * @alive: pushed, not freed by the scheduler yet
 * @queue_ns_sum: time from push to run of the jobs of @run
 * @queue_ns_max: longest of them
 * @run_ns_sum: time from run to done of the jobs of @done
 * @run_ns_max: longest of them
 * @busy_ns: time with at least one job of @hw_depth, up to the last end of such a time
 * @busy_since: begin of the present one
 * @last_done: the last end of a job
 */
struct mock_account {
	u64 queued;
	u64 run;
	u64 done;
	u64 errors;
	u64 killed;
	u64 dependencies;
	u64 dependencies_run;
	u64 run_errors;
	u64 hw_errors;
	u64 timeouts;
	u64 queue_depth;
	u64 queue_depth_max;
	u64 hw_depth;
	u64 hw_depth_max;
	u64 alive;
	u64 queue_ns_sum;
	u64 queue_ns_max;
	u64 run_ns_sum;
	u64 run_ns_max;
	u64 busy_ns;
	ktime_t busy_since;
	ktime_t last_done;
};

/**
 * struct mock_usage - what a process used of a ring, under the ring's lock
 * @jobs: its jobs of mock_account.done
 * @gpu_ns: of each of them the time from the later of its run and the end before it, to its end
 * @queue_ns: time from push to run of its jobs
 * @errors: its jobs of mock_account.errors
 */
struct mock_usage {
	u64 jobs;
	u64 gpu_ns;
	u64 queue_ns;
	u64 errors;
};

/**
 * struct mock_ring - a ring: a scheduler and its hardware
 * @sched: the real scheduler
 * @sched_list: scheduler list for entities of this ring
 * @name: name of the ring, the same on every device
 * @pdev: the device
 * @lock: protects everything below; taken in hard interrupts
 * @hw: jobs on the hardware, which are served one after the other
 * @timer: end of service of the first job of @hw
 * @pumping: jobs of @hw are being completed, in order
 * @holds: number of holders; while there is one, no job completes
 * @random: state of the random generator for service times
 * @acct: the account
 * @fence_lock: lock of the hardware fences
 * @fence_context: their context
 * @fence_seqno: number of the last fence, only written in run_job()
 * @stopping: held while the scheduler is stopped
 */
struct mock_ring {
	struct drm_gpu_scheduler sched;
	struct drm_gpu_scheduler *sched_list[1];
	char name[32];
	struct platform_device *pdev;

	spinlock_t lock;
	struct list_head hw;
	struct hrtimer timer;
	bool pumping;
	unsigned int holds;
	u64 random;
	struct mock_account acct;

	spinlock_t fence_lock;
	u64 fence_context;
	u64 fence_seqno;

	struct mutex stopping;
};

/**
 * struct mock_entity - a file's entity on one ring
 * @base: the scheduler's entity
 * @ref: held by the file, and by each job until it is freed
 * @ring: the ring
 * @lock: makes arm and push one step; protects @last and @held
 * @last: finished fence of the last job pushed
 * @held: this file holds the ring
 * @fini: work that ends @base when the file is released
 */
struct mock_entity {
	struct drm_sched_entity base;
	struct kref ref;
	struct mock_ring *ring;
	struct mutex lock;
	struct dma_fence *last;
	bool held;
	struct work_struct fini;
};

/**
 * struct mock_fence - a hardware fence
 * @base: must be first, since the default release frees its address
 * @ring: the ring that signals it
 */
struct mock_fence {
	struct dma_fence base;
	struct mock_ring *ring;
};

/**
 * struct mock_job - a job
 * @base: the scheduler's job
 * @entity: its entity
 * @fence: its hardware fence, initialised by run_job()
 * @node: entry in mock_ring.hw while on the hardware
 * @fail: how it ends
 * @dependencies: number of dependencies
 * @dependency: of 5.10, whose scheduler asks for it: the one that it has not asked for yet
 * @service_ns: time on the hardware, 0 completes inside run_job()
 * @due: end of service, 0 until service has begun
 * @pushed_at: time of the push
 * @run_at: time of run_job()
 * @usage: what it counts for
 * @ran: run_job() was called
 * @has_fence: @fence was initialised
 */
struct mock_job {
	struct drm_sched_job base;
	struct mock_entity *entity;
	struct mock_fence *fence;
	struct list_head node;
	enum mock_gpu_fail fail;
	unsigned int dependencies;
	struct dma_fence *dependency;
	u64 service_ns;
	ktime_t due;
	ktime_t pushed_at;
	ktime_t run_at;
	struct mock_usage *usage;
	bool ran;
	bool has_fence;
};

/**
 * struct mock_gpu - the module's state
 * @devices: number of devices
 * @rings: number of rings of each
 * @hw_limit: jobs that a ring's hardware accepts
 * @timeout_ms: the scheduler's timeout, 0 is none
 * @flush_ms: how long the exit of a process waits for its queued jobs
 * @prepare_us: how long prepare_job() takes
 * @driver: rings have the names of this driver's, NULL for their own
 * @inline_completion: jobs complete inside run_job() by default
 * @distribution: distribution of service times
 * @service_ns: mean service time
 * @ring: devices * rings elements
 * @pdevs: the devices
 * @twin: a device on another bus with the name of the first, or NULL
 * @alive: jobs pushed and not freed yet, on all rings
 * @killed: a job was ever killed
 * @idle: woken when @alive falls to 0
 */
struct mock_gpu {
	unsigned int devices;
	unsigned int rings;
	unsigned int hw_limit;
	unsigned int timeout_ms;
	unsigned int flush_ms;
	unsigned int prepare_us;
	const char *driver;
	bool inline_completion;
	enum mock_distribution distribution;
	u64 service_ns;
	struct mock_ring *ring;
	struct platform_device **pdevs;
	struct device *twin;
	atomic_t alive;
	atomic_t killed;
	wait_queue_head_t idle;
};

extern struct mock_gpu mock_gpu;

/* mock_gpu_ring.c */
int mock_ring_init(struct mock_ring *ring, struct platform_device *pdev, struct device *dev,
		   unsigned int index, u64 seed);
void mock_ring_fini(struct mock_ring *ring);
u64 mock_ring_service_ns(struct mock_ring *ring);
void mock_ring_hold(struct mock_ring *ring, bool hold);
void mock_ring_stop(struct mock_ring *ring);
void mock_ring_go_on(struct mock_ring *ring);
void mock_job_free(struct drm_sched_job *base);

/* mock_gpu_file.c */
int mock_file_init(void);
void mock_file_exit(void);
void mock_entity_put(struct mock_entity *entity);

/* mock_gpu_account.c */
int mock_account_init(void);
void mock_account_exit(void);
void mock_account_pushed(struct mock_ring *ring, struct mock_job *job);
void mock_account_run(struct mock_ring *ring, struct mock_job *job);
void mock_account_done(struct mock_ring *ring, struct mock_job *job, int error);
void mock_account_killed(struct mock_ring *ring, const struct mock_job *job);
void mock_account_freed(struct mock_ring *ring, bool ran);
struct mock_usage *mock_account_usage(const struct mock_ring *ring);
int mock_account_process(u64 jobs);

static inline struct mock_job *to_mock_job(struct drm_sched_job *base)
{
	return container_of(base, struct mock_job, base);
}

#endif /* MOCK_GPU_PRIV_H */
