// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the tracepoints of the real gpu_sched.ko with simulated schedulers, jobs and fences, in the
 * order in which the scheduler would. The end of a scheduler and that of a killed job are real, since
 * they are functions and not tracepoints.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/platform_device.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "churn_gpu.h"
#include "compat/kernel_argument.h"
#include "fire_trace.h"
#include "mock_gpu_compat.h"

/* Pids that the kernel never assigns: it has none above 2^22. */
#define CHURN_FIRST_PID 5000000
/* One job in so many waits for another, one is killed before it runs. */
#define CHURN_WAIT_ONE_IN 8
#define CHURN_KILL_ONE_IN 128

/* The events before the killed job are tracepoints. */
#define CHURN_TRACEPOINTS CHURN_KILLED

static struct fire_target churn_target[CHURN_TRACEPOINTS];
static work_func_t churn_kill;

/* Names of the tracepoints in two generations of kernels. */
static const char *const churn_names[CHURN_TRACEPOINTS][2] = {
	[CHURN_QUEUE] = { "drm_sched_job_queue", "drm_sched_job" },
	[CHURN_RUN] = { "drm_sched_job_run", "drm_run_job" },
	[CHURN_DONE] = { "drm_sched_job_done", "drm_sched_process_job" },
	[CHURN_WAIT] = { "drm_sched_job_unschedulable", "drm_sched_job_wait_dep" },
};

static struct platform_device *churn_pdev;
static struct device *churn_device;

/*
 * The device is bound to a driver. So a ring that ends is that of a queue, unless the driver goes.
 */
static int churn_probe(struct platform_device *pdev)
{
	return 0;
}

static struct platform_driver churn_driver = {
	.probe = churn_probe,
	.driver = { .name = "churn_gpu" },
};
static struct dma_fence churn_hardware_fence;
static atomic_t churn_ring_numbers;
static atomic_t churn_pids;

static const char *churn_driver_name(struct dma_fence *fence)
{
	return "churn_gpu";
}

static const char *churn_timeline_name(struct dma_fence *fence)
{
	return "churn_gpu";
}

static const struct dma_fence_ops churn_fence_ops = {
	.get_driver_name = churn_driver_name,
	.get_timeline_name = churn_timeline_name,
};

/* As in the scheduler, the two fences of a job do not have the same. */
static const struct dma_fence_ops churn_scheduled_ops = {
	.get_driver_name = churn_driver_name,
	.get_timeline_name = churn_timeline_name,
};

/* No job is ever pushed to these schedulers: only that of a killed job is called. */
static struct dma_fence *churn_run_job(struct drm_sched_job *job)
{
	return NULL;
}

static enum drm_gpu_sched_stat churn_timed_out(struct drm_sched_job *job)
{
	return MOCK_STAT_RECOVERED;
}

static void churn_free_job(struct drm_sched_job *job)
{
}

static const struct drm_sched_backend_ops churn_sched_ops = {
	.run_job = churn_run_job,
	.timedout_job = churn_timed_out,
	.free_job = churn_free_job,
};

static u32 churn_random(struct churn *churn, u32 below)
{
	churn->random = churn->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (churn->random >> 32) * below >> 32;
}

static void churn_count(struct churn *churn, struct churn_ring *ring, enum churn_event event)
{
	ring->count[event]++;
	churn->count[event]++;
}

static void churn_fire(struct churn *churn, struct churn_ring *ring, enum churn_event event,
		       const void *first, const void *second)
{
	const unsigned long args[FIRE_MAX_ARGS] = { (unsigned long)first, (unsigned long)second };

	if (fire_trace(churn_target[event].tp, args))
		churn_count(churn, ring, event);
}

/* The scheduler ends a job of a killed entity. */
static void churn_kill_job(struct churn *churn, struct churn_job *job)
{
	struct drm_sched_fence *fence = &job->fence;
	u64 context = fence->finished.context, seqno = fence->finished.seqno;

	dma_fence_init(&fence->scheduled, &churn_scheduled_ops, &fence->lock, context, seqno);
	dma_fence_init(&fence->finished, &churn_fence_ops, &fence->lock, context, seqno);
	/* 6.1 does that before. */
	dma_fence_set_error(&fence->finished, -ESRCH);
	churn_kill(&job->job.work);
	churn_count(churn, job->ring, CHURN_KILLED);
	/* Who has held the fence has to let go of it before it is another job's. */
	while (kref_read(&fence->finished.refcount) > 1)
		cond_resched();
}

static void churn_ring_begin(struct churn *churn, struct churn_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	/* A name without a number at its end stands for a ring of its own. */
	snprintf(ring->name, sizeof(ring->name), churn->plan.numbered ? "queue-%d-1-0" : "ring%dx",
		 atomic_inc_return(&churn_ring_numbers));
	ring->sched.name = ring->name;
	ring->sched.dev = churn_device;
	ring->sched.ops = &churn_sched_ops;
	ring->context = dma_fence_context_alloc(1);
	churn->begun++;
}

/* The ring that is being replaced, and its last event. */
static DEFINE_MUTEX(churn_late_lock);
static struct {
	struct churn *churn;
	struct churn_ring *ring;
	struct drm_sched_fence fence;
	struct drm_sched_job job;
} churn_late;

/* Called by drm_sched_fini(): a scheduler's worker may still be at work there. */
static int churn_late_event(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct churn_ring *ring = READ_ONCE(churn_late.ring);

	if (ring && (void *)gpumon_compat_kernel_argument(regs, 0) == &ring->sched.work_tdr)
		churn_fire(churn_late.churn, ring, CHURN_WAIT, &churn_late.job,
			   &churn_hardware_fence);
	return 0;
}

static struct kprobe churn_late_kprobe = {
	.symbol_name = "cancel_delayed_work_sync",
	.pre_handler = churn_late_event,
};

/* The fields that drm_sched_fini() needs are only set just before the call. */
static int churn_ring_end(struct churn *churn, struct churn_ring *ring, bool late)
{
	int ret;

	memset(&ring->sched, 0, sizeof(ring->sched));
	ret = mock_compat_sched_init(&ring->sched, &churn_sched_ops, 1, MAX_SCHEDULE_TIMEOUT,
				     ring->name, churn_device);
	if (ret)
		return ret;
	mutex_lock(&churn_late_lock);
	churn_late.churn = churn;
	churn_late.job.sched = &ring->sched;
	churn_late.job.s_fence = &churn_late.fence;
	WRITE_ONCE(churn_late.ring, late ? ring : NULL);
	drm_sched_fini(&ring->sched);
	WRITE_ONCE(churn_late.ring, NULL);
	mutex_unlock(&churn_late_lock);
	churn->ended++;
	return 0;
}

/* Change the kernel thread's ids, which only probes use meanwhile. */
static void churn_pose(struct churn *churn)
{
	u32 pid = churn->first_pid + churn_random(churn, churn->plan.pids);

	current->tgid = pid;
	current->start_time = (u64)pid * NSEC_PER_MSEC;
}

static void churn_queue(struct churn *churn, struct churn_job *job)
{
	struct churn_ring *ring = &churn->rings[churn_random(churn, churn->plan.rings)];
	struct dma_fence *finished = &job->fence.finished;

	job->ring = ring;
	job->killed = !churn_random(churn, CHURN_KILL_ONE_IN);
	job->job.sched = &ring->sched;
	job->job.s_fence = &job->fence;
	job->fence.sched = &ring->sched;
	job->fence.parent = NULL;
	finished->context = ring->context;
	finished->seqno = ++ring->seqno;
	finished->error = 0;
	finished->flags = 0;
	/* __rcu from 7.x on, and a fence that has signalled has lost it. */
	*(const void **)&finished->ops = &churn_fence_ops;
	if (churn->plan.pids)
		churn_pose(churn);
	churn_fire(churn, ring, CHURN_QUEUE, &job->job, NULL);
	if (!churn_random(churn, CHURN_WAIT_ONE_IN))
		churn_fire(churn, ring, CHURN_WAIT, &job->job, &churn_hardware_fence);
}

static void churn_run(struct churn *churn, struct churn_job *job)
{
	if (!job->ring || job->killed)
		return;
	job->fence.parent = &churn_hardware_fence;
	churn_fire(churn, job->ring, CHURN_RUN, &job->job, NULL);
}

static void churn_end(struct churn *churn, struct churn_job *job)
{
	if (!job->ring)
		return;
	if (job->killed)
		churn_kill_job(churn, job);
	else
		churn_fire(churn, job->ring, CHURN_DONE, &job->fence, NULL);
	job->ring = NULL;
}

/**
 * churn_drain() - let all jobs in flight end
 * @churn: jobs of a thread
 *
 * Return: 0.
 */
int churn_drain(struct churn *churn)
{
	u64 i;

	/* The first half has already run. */
	for (i = 1; i < CHURN_FLIGHT / 2; i++)
		churn_run(churn,
			  &churn->flight[(churn->queued + CHURN_FLIGHT / 2 + i) % CHURN_FLIGHT]);
	for (i = 0; i < CHURN_FLIGHT; i++)
		churn_end(churn, &churn->flight[(churn->queued + i) % CHURN_FLIGHT]);
	return 0;
}

static bool is_multiple(u64 number, u64 of)
{
	u64 rest;

	div64_u64_rem(number, of, &rest);
	return !rest;
}

/* The first three quarters of the rings stay, so that some rings count through the whole storm. */
static int churn_replace_ring(struct churn *churn)
{
	u64 changing = max_t(u64, churn->plan.rings / 4, 1), turn;
	struct churn_ring *ring;
	int ret;
	u64 i;

	div64_u64_rem(churn->next_ring++, changing, &turn);
	ring = &churn->rings[churn->plan.rings - 1 - turn];
	/* The first half of them has run. */
	for (i = 0; i < churn->plan.hung; i++)
		churn->flight[(churn->queued + i) % CHURN_FLIGHT].ring = NULL;
	churn_drain(churn);
	ret = churn_ring_end(churn, ring, true);
	churn_ring_begin(churn, ring);
	return ret;
}

/**
 * churn_some() - fire some jobs
 * @churn: jobs of a thread
 * @jobs: number of jobs
 *
 * Context: a task; with processes to pose as, a kernel thread.
 * Return: 0, or the error of drm_sched_init().
 */
int churn_some(struct churn *churn, u64 jobs)
{
	const struct churn_plan *plan = &churn->plan;
	const u64 start_time = current->start_time;
	const pid_t tgid = current->tgid;
	struct churn_job *job;
	int ret = 0;

	while (jobs-- && !ret) {
		job = &churn->flight[churn->queued % CHURN_FLIGHT];
		churn_end(churn, job);
		churn_queue(churn, job);
		churn->queued++;
		churn_run(churn, &churn->flight[(churn->queued + CHURN_FLIGHT / 2) % CHURN_FLIGHT]);
		if (plan->pid_jobs && is_multiple(churn->queued, plan->pid_jobs))
			churn->first_pid++;
		if (plan->ring_jobs && is_multiple(churn->queued, plan->ring_jobs)) {
			/*
			 * drm_sched_init() creates threads and work queues, which needs the task's
			 * own ids.
			 */
			current->tgid = tgid;
			current->start_time = start_time;
			ret = churn_replace_ring(churn);
		}
	}
	current->tgid = tgid;
	current->start_time = start_time;
	return ret;
}

/**
 * churn_new() - make the rings of a thread
 * @plan: parameters
 *
 * Return: the rings, or NULL.
 */
struct churn *churn_new(const struct churn_plan *plan)
{
	struct churn *churn = kzalloc(sizeof(*churn), GFP_KERNEL);
	u64 i, pids = plan->pids;

	if (!churn)
		return NULL;
	churn->plan = *plan;
	churn->random = plan->seed;
	/* Leave enough room, so that no two threads share a process. */
	if (plan->pid_jobs)
		pids += div64_u64(plan->jobs, plan->pid_jobs);
	churn->first_pid = CHURN_FIRST_PID + atomic_fetch_add(pids + 1, &churn_pids);
	churn->rings = kvcalloc(plan->rings, sizeof(*churn->rings), GFP_KERNEL);
	churn->flight = kvcalloc(CHURN_FLIGHT, sizeof(*churn->flight), GFP_KERNEL);
	if (!churn->rings || !churn->flight) {
		kvfree(churn->flight);
		kvfree(churn->rings);
		kfree(churn);
		return NULL;
	}
	for (i = 0; i < CHURN_FLIGHT; i++) {
		xa_init_flags(&churn->flight[i].job.dependencies, XA_FLAGS_ALLOC);
		spin_lock_init(&churn->flight[i].fence.lock);
	}
	for (i = 0; i < plan->rings; i++)
		churn_ring_begin(churn, &churn->rings[i]);
	return churn;
}

/**
 * churn_free() - end all rings of a thread
 * @churn: from churn_new(), drained
 */
void churn_free(struct churn *churn)
{
	u64 i;

	for (i = 0; i < churn->plan.rings; i++)
		WARN_ON(churn_ring_end(churn, &churn->rings[i], false));
	kvfree(churn->flight);
	kvfree(churn->rings);
	kfree(churn);
}

static void churn_device_end(void)
{
	platform_device_unregister(churn_pdev);
	platform_driver_unregister(&churn_driver);
}

static int churn_device_begin(void)
{
	int ret = platform_driver_register(&churn_driver);

	if (ret)
		return ret;
	churn_pdev = platform_device_register_simple("churn_gpu", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(churn_pdev)) {
		platform_driver_unregister(&churn_driver);
		return PTR_ERR(churn_pdev);
	}
	churn_device = &churn_pdev->dev;
	return 0;
}

/*
 * Finds the scheduler's static function for killed jobs: a kprobe has its address. Where a mark for
 * indirect calls is in front of the function, the address is behind it. Emulated machines do not
 * check it.
 */
static int churn_find_kill(void)
{
	struct kprobe kprobe = { .symbol_name = "gpu_sched:drm_sched_entity_kill_jobs_work",
				 .flags = KPROBE_FLAG_DISABLED };
	int ret = register_kprobe(&kprobe);

	if (ret)
		return ret;
	churn_kill = (work_func_t)kprobe.addr;
	unregister_kprobe(&kprobe);
	return 0;
}

/**
 * churn_init() - find the tracepoints and functions
 *
 * Return: 0 or a negative error.
 */
int churn_init(void)
{
	int i, ret = churn_device_begin();

	if (ret)
		return ret;
	for (i = 0; i < CHURN_TRACEPOINTS && !ret; i++) {
		ret = fire_tracepoint_get(&churn_target[i], "gpu_sched", churn_names[i][0]);
		if (ret == -ENOENT)
			ret = fire_tracepoint_get(&churn_target[i], "gpu_sched", churn_names[i][1]);
	}
	if (!ret)
		ret = churn_find_kill();
	if (!ret)
		ret = register_kprobe(&churn_late_kprobe);
	if (ret) {
		while (--i > 0)
			fire_tracepoint_put(&churn_target[i - 1]);
		churn_device_end();
	}
	return ret;
}

/**
 * churn_exit() - release the tracepoints
 */
void churn_exit(void)
{
	int i;

	unregister_kprobe(&churn_late_kprobe);
	for (i = 0; i < CHURN_TRACEPOINTS; i++)
		fire_tracepoint_put(&churn_target[i]);
	churn_device_end();
}
