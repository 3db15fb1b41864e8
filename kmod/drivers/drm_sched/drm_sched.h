/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_DRM_SCHED_H
#define GPUMON_DRM_SCHED_H

#include "attach/probe.h"

extern struct gpumon_group gpumon_drm_sched;

#endif /* GPUMON_DRM_SCHED_H */
