/* SPDX-License-Identifier: GPL-2.0-only */
/* Group drm_vblank: vertical blanks of displays, and the events that wait for them. */
#ifndef GPUMON_DRM_VBLANK_H
#define GPUMON_DRM_VBLANK_H

extern struct gpumon_group gpumon_drm_vblank;

#endif /* GPUMON_DRM_VBLANK_H */
