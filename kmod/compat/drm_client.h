/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The DRM client of a job, since 6.17: 2956554823ce ("drm/sched: Store the drm client_id in
 * drm_sched_fence").
 */
#ifndef GPUMON_COMPAT_DRM_CLIENT_H
#define GPUMON_COMPAT_DRM_CLIENT_H

#include <drm/gpu_scheduler.h>

#ifdef GPUMON_HAVE_DRM_CLIENT
#define GPUMON_COMPAT_DRM_CLIENT_FIELD \
	GPUMON_FIELD_BUILT("gpu_sched", drm_sched_fence, drm_client_id),
#else
#define GPUMON_COMPAT_DRM_CLIENT_FIELD
#endif

/* DRM client of a job, by its finished fence; 0 if it is unknown. */
static inline u64 gpumon_compat_drm_client(const struct dma_fence *finished)
{
#ifdef GPUMON_HAVE_DRM_CLIENT
	return container_of(finished, struct drm_sched_fence, finished)->drm_client_id;
#else
	return 0;
#endif
}

#endif /* GPUMON_COMPAT_DRM_CLIENT_H */
