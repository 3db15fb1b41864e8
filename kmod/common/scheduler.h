/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_SCHEDULER_H
#define GPUMON_SCHEDULER_H

struct drm_gpu_scheduler;
struct drm_sched_fence;

const char *gpumon_scheduler_differs(const struct drm_gpu_scheduler *sched,
				     const struct drm_sched_fence *s_fence);

#endif /* GPUMON_SCHEDULER_H */
