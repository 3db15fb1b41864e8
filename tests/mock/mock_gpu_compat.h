/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels' scheduler interfaces. MOCK_HAVE_* come from
 * mock_gpu_conftest.sh, which compiles a test for each against the headers. Version numbers do not
 * help: Debian's 6.1.192 has a struct drm_sched_init_args that 6.12.107 lacks.
 */
#ifndef MOCK_GPU_COMPAT_H
#define MOCK_GPU_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/pid.h>
#include <linux/sched.h>

#include <drm/gpu_scheduler.h>

#include "mock_gpu_conftest.h"

/* What timedout_job() returns: nothing on 5.10. */
#ifdef MOCK_HAVE_SCHED_STAT
#define MOCK_TIMEDOUT	enum drm_gpu_sched_stat
#else
#define MOCK_TIMEDOUT	void
#endif
#if !defined(MOCK_HAVE_SCHED_STAT)
#define MOCK_STAT_RECOVERED
#elif defined(MOCK_HAVE_STAT_RESET)
#define MOCK_STAT_RECOVERED	DRM_GPU_SCHED_STAT_RESET
#else
#define MOCK_STAT_RECOVERED	DRM_GPU_SCHED_STAT_NOMINAL
#endif

/**
 * mock_compat_sched_init() - drm_sched_init() with one run queue per priority
 * @sched: the scheduler
 * @ops: its callbacks
 * @hw_limit: jobs that the hardware accepts
 * @timeout: in jiffies
 * @name: name of the ring
 * @dev: the device, which the scheduler of 5.10 does not know
 *
 * Return: 0 or a negative error.
 */
static inline int mock_compat_sched_init(struct drm_gpu_scheduler *sched,
					 const struct drm_sched_backend_ops *ops,
					 unsigned int hw_limit, long timeout, const char *name,
					 struct device *dev)
{
#if defined(MOCK_HAVE_SCHED_INIT_ARGS)
	const struct drm_sched_init_args args = {
		.ops = ops,
#ifdef MOCK_HAVE_SCHED_INIT_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = hw_limit,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#elif defined(MOCK_HAVE_SCHED_INIT_POSITIONAL_RQS)
	return drm_sched_init(sched, ops, NULL, DRM_SCHED_PRIORITY_COUNT, hw_limit, 0, timeout,
			      NULL, NULL, name, dev);
#elif defined(MOCK_HAVE_SCHED_INIT_SHORT)
	return drm_sched_init(sched, ops, hw_limit, 0, timeout, name);
#else
	return drm_sched_init(sched, ops, hw_limit, 0, timeout, NULL, NULL, name, dev);
#endif
}

/**
 * mock_compat_job_init() - drm_sched_job_init() for a job of one credit
 * @job: the job
 * @entity: its entity
 * @owner: its owner
 *
 * Return: 0 or a negative error.
 */
static inline int mock_compat_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				       void *owner)
{
#if defined(MOCK_HAVE_JOB_INIT_CLIENT_ID)
	/* A client id that the tests find again. */
	return drm_sched_job_init(job, entity, 1, owner, task_tgid_nr(current) + (1ULL << 40));
#elif defined(MOCK_HAVE_JOB_INIT_CREDITS)
	return drm_sched_job_init(job, entity, 1, owner);
#else
	return drm_sched_job_init(job, entity, owner);
#endif
}

/**
 * mock_compat_job_arm() - drm_sched_job_arm(), which drm_sched_job_init() of 5.10 does
 * @job: the job
 */
static inline void mock_compat_job_arm(struct drm_sched_job *job)
{
#ifdef MOCK_HAVE_JOB_ARM
	drm_sched_job_arm(job);
#endif
}

/**
 * mock_compat_job_push() - drm_sched_entity_push_job()
 * @job: the job
 * @entity: its entity
 */
static inline void mock_compat_job_push(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
#ifdef MOCK_HAVE_PUSH_JOB_ENTITY
	drm_sched_entity_push_job(job, entity);
#else
	drm_sched_entity_push_job(job);
#endif
}

/**
 * mock_compat_sched_start() - drm_sched_start() after a full recovery
 * @sched: the scheduler
 */
static inline void mock_compat_sched_start(struct drm_gpu_scheduler *sched)
{
#if defined(MOCK_HAVE_SCHED_START_BOOL)
	drm_sched_start(sched, true);
#elif defined(MOCK_HAVE_SCHED_START_ERRNO)
	drm_sched_start(sched, 0);
#else
	drm_sched_start(sched);
#endif
}

/**
 * mock_compat_hrtimer_setup() - a timer on the monotonic clock, absolute times
 * @timer: the timer
 * @function: its callback
 */
static inline void mock_compat_hrtimer_setup(struct hrtimer *timer,
					     enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef MOCK_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = function;
#endif
}

#endif /* MOCK_GPU_COMPAT_H */
