/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_DEVICE_H
#define GPUMON_DEVICE_H

#include "core/statistics.h"

struct device;
struct drm_device;
struct drm_gpu_scheduler;
struct drm_sched_fence;

bool gpumon_is_device(const struct device *dev);
bool gpumon_device_label(char label[GPUMON_LABEL_LEN], const struct device *dev);
bool gpumon_device_name(char name[GPUMON_LABEL_LEN], const struct device *dev);
bool gpumon_device_label_of_drm(char label[GPUMON_LABEL_LEN], const struct drm_device *drm);
const char *gpumon_scheduler_differs(const struct drm_gpu_scheduler *sched,
				     const struct drm_sched_fence *s_fence);

#endif /* GPUMON_DEVICE_H */
