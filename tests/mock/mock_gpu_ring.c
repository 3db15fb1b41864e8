// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring of the mock GPU: callbacks for the real scheduler, and simulated hardware. The hardware
 * serves the jobs of a ring one after the other and ends each in a high-resolution timer, or inside
 * run_job().
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mock_gpu_compat.h"
#include "mock_gpu_priv.h"

/* splitmix64: any seed works, including 0, and each ring repeats its own sequence. */
static u64 mock_ring_random(struct mock_ring *ring)
{
	u64 x;

	lockdep_assert_held(&ring->lock);
	ring->random += 0x9e3779b97f4a7c15ULL;
	x = ring->random;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* -ln(x / 2^64) with 16 fractional bits, from the binary logarithm of x. */
static u64 mock_negative_log(u64 x)
{
	const u64 ln2 = 45426;	/* 2^16 ln 2 */
	int whole = fls64(x | 1) - 1;
	u64 m = ((x | 1) << (63 - whole)) >> 32;
	u64 fraction = 0;
	int bit;

	/*
	 * m is in [1, 2) with 31 fractional bits. Each square yields one more bit of the logarithm.
	 */
	for (bit = 15; bit >= 0; bit--) {
		m = (m * m) >> 31;
		if (m >> 32) {
			m >>= 1;
			fraction |= BIT_ULL(bit);
		}
	}
	return (((64ULL << 16) - (((u64)whole << 16) | fraction)) * ln2) >> 16;
}

/**
 * mock_ring_service_ns() - draw a service time
 * @ring: the ring, each has its own sequence
 *
 * Return: nanoseconds, at least 1.
 */
u64 mock_ring_service_ns(struct mock_ring *ring)
{
	u64 mean = mock_gpu.service_ns;
	unsigned long flags;
	u64 x, ns;

	if (mock_gpu.distribution == MOCK_FIXED)
		return max(mean, 1ULL);

	spin_lock_irqsave(&ring->lock, flags);
	x = mock_ring_random(ring);
	spin_unlock_irqrestore(&ring->lock, flags);

	if (mock_gpu.distribution == MOCK_UNIFORM)
		ns = mean / 2 + mul_u64_u64_shr(mean, x, 64);
	else
		ns = mul_u64_u64_shr(mean, mock_negative_log(x), 16);
	return max(ns, 1ULL);
}

static const char *mock_fence_driver_name(struct dma_fence *fence)
{
	return "mock_gpu";
}

static const char *mock_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct mock_fence, base)->ring->name;
}

static const struct dma_fence_ops mock_fence_ops = {
	.get_driver_name = mock_fence_driver_name,
	.get_timeline_name = mock_fence_timeline_name,
};

/*
 * Remove a job from the hardware. The caller signals the returned fence after releasing the lock
 * and does not use the job again: the scheduler may free it as soon as the fence is signalled.
 */
static struct dma_fence *mock_ring_retire(struct mock_ring *ring, struct mock_job *job, int error)
{
	struct dma_fence *fence = dma_fence_get(&job->fence->base);

	lockdep_assert_held(&ring->lock);
	list_del_init(&job->node);
	mock_account_done(ring, job, error);
	if (error)
		dma_fence_set_error(fence, error);
	return fence;
}

/*
 * End every job that is due and set the timer for the next one. Only one caller at a time does
 * this, or fences could signal out of order. It also handles jobs that others have added meanwhile.
 */
static void mock_ring_pump(struct mock_ring *ring)
{
	struct dma_fence *fence;
	struct mock_job *job;
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->pumping)
		goto out;
	ring->pumping = true;
	while (!ring->holds) {
		job = list_first_entry_or_null(&ring->hw, struct mock_job, node);
		if (!job || job->fail == MOCK_GPU_FAIL_HANG)
			break;
		if (job->service_ns) {
			now = ktime_get();
			if (!job->due)
				job->due = ktime_add_ns(now, job->service_ns);
			if (ktime_before(now, job->due)) {
				hrtimer_start(&ring->timer, job->due, HRTIMER_MODE_ABS);
				break;
			}
		}
		fence = mock_ring_retire(ring, job, job->fail == MOCK_GPU_FAIL_FENCE ? -EIO : 0);
		spin_unlock_irqrestore(&ring->lock, flags);

		dma_fence_signal(fence);
		dma_fence_put(fence);

		spin_lock_irqsave(&ring->lock, flags);
	}
	ring->pumping = false;
out:
	spin_unlock_irqrestore(&ring->lock, flags);
}

static enum hrtimer_restart mock_ring_timer(struct hrtimer *timer)
{
	mock_ring_pump(container_of(timer, struct mock_ring, timer));
	return HRTIMER_NORESTART;
}

/**
 * mock_ring_hold() - stop the hardware of a ring, or let it continue
 * @ring: the ring
 * @hold: true to stop it
 */
void mock_ring_hold(struct mock_ring *ring, bool hold)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	if (hold)
		ring->holds++;
	else
		ring->holds--;
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!hold)
		mock_ring_pump(ring);
}

/**
 * mock_ring_stop() - keep the scheduler from popping and freeing jobs, until mock_ring_go_on()
 * @ring: the ring
 *
 * Use it around killing an entity. The scheduler's worker pops a job and then re-inserts the entity
 * into the tree of the run queue, even if the entity was killed at that moment and has just left
 * the tree. Then the worker and the killing task pop from it at the same time: a job can be freed
 * twice, and the freed entity stays in the tree. KASAN reports this for gpu_sched of 6.12 and 7.3,
 * without gpumon. It is not used on 6.1: there the killing task waits for jobs of other rings that
 * other tasks may be about to kill, which would deadlock with a lock.
 *
 * Context: may sleep.
 */
void mock_ring_stop(struct mock_ring *ring)
{
#ifdef MOCK_HAVE_WQUEUE_STOP
	mutex_lock(&ring->stopping);
	drm_sched_wqueue_stop(&ring->sched);
#endif
}

/**
 * mock_ring_go_on() - undo mock_ring_stop()
 * @ring: the ring
 */
void mock_ring_go_on(struct mock_ring *ring)
{
#ifdef MOCK_HAVE_WQUEUE_STOP
	drm_sched_wqueue_start(&ring->sched);
	mutex_unlock(&ring->stopping);
#endif
}

#ifdef MOCK_HAVE_PREPARE_JOB
/* Called after an entity was chosen and before its job is popped. */
static struct dma_fence *mock_prepare_job(struct drm_sched_job *base,
					  struct drm_sched_entity *entity)
{
	if (mock_gpu.prepare_us)
		usleep_range(mock_gpu.prepare_us, 2 * mock_gpu.prepare_us);
	return NULL;
}
#endif

#ifndef MOCK_HAVE_JOB_DEPENDENCIES
/* The scheduler's thread asks until there is none. A task that kills the job asks as well, and keeps what it gets. */
static struct dma_fence *mock_dependency(struct drm_sched_job *base,
					 struct drm_sched_entity *entity)
{
	struct mock_job *job = to_mock_job(base);
	struct dma_fence *dependency = job->dependency;

	job->dependency = NULL;
	if (dependency && current != base->sched->thread) {
		dma_fence_wait(dependency, false);
		dma_fence_put(dependency);
		return NULL;
	}
	return dependency;
}
#endif

static struct dma_fence *mock_run_job(struct drm_sched_job *base)
{
	struct mock_job *job = to_mock_job(base);
	struct mock_ring *ring = job->entity->ring;
	struct dma_fence *fence = &job->fence->base;
	unsigned long flags;

	/*
	 * Recovery passes the jobs behind the one that hung to run_job() again. They never left the
	 * hardware.
	 */
	if (job->has_fence)
		return dma_fence_get(fence);

	if (job->fail == MOCK_GPU_FAIL_RUN) {
		spin_lock_irqsave(&ring->lock, flags);
		mock_account_run(ring, job);
		mock_account_done(ring, job, -EIO);
		spin_unlock_irqrestore(&ring->lock, flags);
		return ERR_PTR(-EIO);
	}

	/* One reference belongs to the job, the other one to the scheduler. */
	dma_fence_init(fence, &mock_fence_ops, &ring->fence_lock, ring->fence_context,
		       ++ring->fence_seqno);
	job->has_fence = true;
	dma_fence_get(fence);

	spin_lock_irqsave(&ring->lock, flags);
	mock_account_run(ring, job);
	list_add_tail(&job->node, &ring->hw);
	spin_unlock_irqrestore(&ring->lock, flags);
	mock_ring_pump(ring);

	return fence;
}

/*
 * Recovery as in a simple driver: the job that timed out ends with an error, the ring is stopped,
 * and the jobs behind it continue.
 */
static MOCK_TIMEDOUT mock_timedout_job(struct drm_sched_job *base)
{
	struct mock_job *job = to_mock_job(base);
	struct mock_ring *ring = job->entity->ring;
	struct drm_gpu_scheduler *sched = &ring->sched;
	struct dma_fence *fence = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	/* The job may have just ended by itself. */
	if (!list_empty(&job->node))
		fence = mock_ring_retire(ring, job, -ETIMEDOUT);
	spin_unlock_irqrestore(&ring->lock, flags);

	/*
	 * The scheduler's callback is still attached, so signalling the fence finishes the job like
	 * any other. drm_sched_stop() then releases it for freeing, even if it had ended before.
	 */
	if (fence) {
		dma_fence_signal(fence);
		dma_fence_put(fence);
	}
	mutex_lock(&ring->stopping);
	drm_sched_stop(sched, base);
	drm_sched_resubmit_jobs(sched);
	mock_compat_sched_start(sched);
	mutex_unlock(&ring->stopping);
	mock_ring_pump(ring);
	return MOCK_STAT_RECOVERED;
}

/**
 * mock_job_free() - free a job that was pushed
 * @base: the job
 */
void mock_job_free(struct drm_sched_job *base)
{
	struct mock_job *job = to_mock_job(base);
	struct mock_entity *entity = job->entity;
	struct mock_ring *ring = entity->ring;
	bool ran = job->ran;

	if (!ran)
		mock_account_killed(ring, job);
	drm_sched_job_cleanup(base);
	if (job->has_fence)
		dma_fence_put(&job->fence->base);
	else
		kfree(job->fence);
	dma_fence_put(job->dependency);
	kfree(job);
	mock_entity_put(entity);
	mock_account_freed(ring, ran);
}

static const struct drm_sched_backend_ops mock_sched_ops = {
#ifdef MOCK_HAVE_PREPARE_JOB
	.prepare_job = mock_prepare_job,
#endif
#ifndef MOCK_HAVE_JOB_DEPENDENCIES
	.dependency = mock_dependency,
#endif
	.run_job = mock_run_job,
	.timedout_job = mock_timedout_job,
	.free_job = mock_job_free,
};

/**
 * mock_ring_init() - initialise a ring
 * @ring: zeroed memory
 * @pdev: its device
 * @dev: device that its scheduler names, whose name gpumon shows: that of @pdev, or a twin of the first
 * @index: its index in the device
 * @seed: seed of its service times
 *
 * Return: 0 or a negative error.
 */
int mock_ring_init(struct mock_ring *ring, struct platform_device *pdev, struct device *dev,
		   unsigned int index, u64 seed)
{
	static const char *const classes[] = { "rcs", "bcs", "vcs", "ccs" };
	long timeout = MAX_SCHEDULE_TIMEOUT;

	if (mock_gpu.timeout_ms)
		timeout = msecs_to_jiffies(mock_gpu.timeout_ms);

	ring->pdev = pdev;
	ring->sched_list[0] = &ring->sched;
	if (!mock_gpu.driver)
		/* Ring names with more than 16 numbers would be taken for those of queues. */
		snprintf(ring->name, sizeof(ring->name), index < 16 ? "ring%u" : "ring%ux", index);
	else if (!strcmp(mock_gpu.driver, "xe"))
		snprintf(ring->name, sizeof(ring->name), "%s%u",
			 classes[index % ARRAY_SIZE(classes)], index);
	else
		snprintf(ring->name, sizeof(ring->name), "hwctx.%u.%u", 1000 + index, index);
	spin_lock_init(&ring->lock);
	spin_lock_init(&ring->fence_lock);
	mutex_init(&ring->stopping);
	INIT_LIST_HEAD(&ring->hw);
	mock_compat_hrtimer_setup(&ring->timer, mock_ring_timer);
	ring->random = seed;
	ring->fence_context = dma_fence_context_alloc(1);
	return mock_compat_sched_init(&ring->sched, &mock_sched_ops, mock_gpu.hw_limit, timeout,
				      ring->name, dev);
}

/**
 * mock_ring_fini() - undo mock_ring_init() after all jobs have ended
 * @ring: the ring
 */
void mock_ring_fini(struct mock_ring *ring)
{
	drm_sched_fini(&ring->sched);
	hrtimer_cancel(&ring->timer);
	mutex_destroy(&ring->stopping);
}
