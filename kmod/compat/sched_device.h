/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device of a scheduler. It is a member since 5.18: 8ab62eda177b ("drm/sched: Add device pointer to
 * drm_gpu_scheduler"). Before, a scheduler has no way to its device, but its operations are in its
 * driver: where one device is bound to the drivers of that module, it is the scheduler's. Where
 * several are, or the driver is built into the kernel, the device is unknown.
 */
#ifndef GPUMON_COMPAT_SCHED_DEVICE_H
#define GPUMON_COMPAT_SCHED_DEVICE_H

#include <drm/gpu_scheduler.h>

struct device;

/* The member that tells the device: it stays the same as long as the scheduler. */
#ifdef GPUMON_HAVE_SCHED_DEV
#define gpumon_compat_sched_owner	    dev
#define GPUMON_COMPAT_SCHED_OWNER_IS_DEVICE 1
#define GPUMON_COMPAT_SCHED_OWNER(X)	    X(drm_gpu_scheduler, dev)
#define GPUMON_COMPAT_SCHED_OWNER_FIELD	    GPUMON_FIELD_BUILT("gpu_sched", drm_gpu_scheduler, dev),

/* The device, by what that member is; may be any value, like it. */
static __always_inline const struct device *gpumon_compat_sched_device(const void *owner)
{
	return owner;
}

static inline int gpumon_compat_sched_devices_start(void)
{
	return 0;
}

static inline void gpumon_compat_sched_devices_stop(void)
{
}
#else
#define gpumon_compat_sched_owner	    ops
#define GPUMON_COMPAT_SCHED_OWNER_IS_DEVICE 0
#define GPUMON_COMPAT_SCHED_OWNER(X)	    X(drm_gpu_scheduler, ops)
#define GPUMON_COMPAT_SCHED_OWNER_FIELD	    GPUMON_FIELD_BUILT("gpu_sched", drm_gpu_scheduler, ops),

const struct device *gpumon_compat_sched_device(const void *owner);
int gpumon_compat_sched_devices_start(void);
void gpumon_compat_sched_devices_stop(void);
#endif

#endif /* GPUMON_COMPAT_SCHED_DEVICE_H */
