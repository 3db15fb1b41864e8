/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of group amdgpu share: fields of the driver's types, devices, rings. */
#ifndef GPUMON_AMDGPU_PRIV_H
#define GPUMON_AMDGPU_PRIV_H

#include <linux/device.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>

#include "attach/probe.h"
#include "common/device.h"
#include "core/field.h"
#include "core/gpumon.h"
#include "core/key.h"
#include "core/statistics.h"
#include "core/track.h"

struct amdgpu_bo;
struct amdgpu_bo_va;
struct amdgpu_bo_va_mapping;
struct amdgpu_cs_parser;
struct amdgpu_ib;
struct amdgpu_iv_entry;
struct amdgpu_job;
struct amdgpu_ring;
struct dma_fence;

/* Members of the driver's types, in gpumon_amdgpu_fields[]. */
enum gpumon_amdgpu_field {
	AMDGPU_BO_SIZE,
	AMDGPU_BO_DOMAINS,
	AMDGPU_BO_FLAGS,
	AMDGPU_BO_DRM,
	AMDGPU_VA_BO,
	AMDGPU_MAPPING_START,
	AMDGPU_MAPPING_LAST,
	AMDGPU_MAPPING_FLAGS,
	AMDGPU_JOB_IBS,
	AMDGPU_IB_LENGTH,
	AMDGPU_IV_CLIENT,
	AMDGPU_IV_SOURCE,
	AMDGPU_IV_RING,
	AMDGPU_IV_VMID,
	AMDGPU_RING_NAME,
	AMDGPU_RING_ADEV,
	AMDGPU_RING_HUB,
	AMDGPU_RING_FUNCS,
	AMDGPU_FUNCS_HUB,
	AMDGPU_ADEV_DEV,
	AMDGPU_FIELDS
};

/* What a probe is for; probes of one role are alternatives. */
enum gpumon_amdgpu_role {
	AMDGPU_ROLE_BO_CREATE,
	AMDGPU_ROLE_BO_MOVE,
	AMDGPU_ROLE_VM_MAP,
	AMDGPU_ROLE_VM_UNMAP,
	AMDGPU_ROLE_VM_FLUSH,
	AMDGPU_ROLE_CS,
	AMDGPU_ROLE_CS_IOCTL,
	AMDGPU_ROLE_RUN,
	AMDGPU_ROLE_PIPE_SYNC,
	AMDGPU_ROLE_DISPATCH,
	AMDGPU_ROLE_IV,
	AMDGPU_ROLE_FAULT_REPORTED,
	AMDGPU_ROLE_FAULT_RETRY,
	AMDGPU_ROLE_RECOVER,
	AMDGPU_ROLE_SOFT_RECOVERY
};

/* In the words of an event: not known. */
#define AMDGPU_EVENT_UNKNOWN U64_MAX

/* In keys, instead of the hash of a device that is unknown. No device has this hash. */
#define AMDGPU_DEVICE_NONE 1ULL

extern struct gpumon_field gpumon_amdgpu_fields[AMDGPU_FIELDS];

extern struct gpumon_statistics gpumon_amdgpu_domains;
extern struct gpumon_statistics gpumon_amdgpu_moves;
extern struct gpumon_statistics gpumon_amdgpu_vm;
extern struct gpumon_statistics gpumon_amdgpu_flushes;
extern struct gpumon_statistics gpumon_amdgpu_rings;
extern struct gpumon_statistics gpumon_amdgpu_interrupts;
extern struct gpumon_statistics gpumon_amdgpu_vm_faults;
extern struct gpumon_statistics gpumon_amdgpu_resets;

extern struct gpumon_track gpumon_amdgpu_devices;
extern struct gpumon_track gpumon_amdgpu_schedulers;
extern struct gpumon_track gpumon_amdgpu_jobs;

/* device.c */
u64 gpumon_amdgpu_device_learn(const struct device *dev, const char *name);

/* memory.c */
void gpumon_amdgpu_bo_create(void *data, struct amdgpu_bo *bo);
void gpumon_amdgpu_bo_move(void *data, struct amdgpu_bo *bo, u32 to, u32 from);
void gpumon_amdgpu_vm_map(void *data, struct amdgpu_bo_va *bo_va,
			  struct amdgpu_bo_va_mapping *mapping);
void gpumon_amdgpu_vm_unmap(void *data, struct amdgpu_bo_va *bo_va,
			    struct amdgpu_bo_va_mapping *mapping);
void gpumon_amdgpu_vm_flush(void *data, struct amdgpu_ring *ring, unsigned int vmid,
			    u64 page_directory);

/* job.c */
void gpumon_amdgpu_cs(void *data, struct amdgpu_cs_parser *parser, struct amdgpu_job *job,
		      struct amdgpu_ib *ib);
void gpumon_amdgpu_cs_ioctl(void *data, struct amdgpu_job *job);
void gpumon_amdgpu_run(void *data, struct amdgpu_job *job);
void gpumon_amdgpu_pipe_sync(void *data, struct amdgpu_job *job, struct dma_fence *fence);

/* irq.c */
GPUMON_KPROBE(gpumon_amdgpu_dispatch);
void gpumon_amdgpu_iv(void *data, unsigned int ih, struct amdgpu_iv_entry *iv);
void gpumon_amdgpu_irq_forget(void);

/* fault.c */
GPUMON_KPROBE(gpumon_amdgpu_fault_reported);
GPUMON_KPROBE(gpumon_amdgpu_fault_retry);
GPUMON_KRETPROBE(gpumon_amdgpu_recover_begin);
GPUMON_KRETPROBE(gpumon_amdgpu_recover_end);
GPUMON_KRETPROBE(gpumon_amdgpu_soft_recovery_begin);
GPUMON_KRETPROBE(gpumon_amdgpu_soft_recovery_end);

/**
 * struct gpumon_amdgpu_recovery - what a recovery carries from its begin to its end
 * @begin_ns: when it began
 * @dev: the device, never followed without care; NULL if unknown
 */
struct gpumon_amdgpu_recovery {
	u64 begin_ns;
	const struct device *dev;
};

/*
 * Value of a field, 0 if it is unknown on this machine. False if it is known and cannot be read:
 * the object is none.
 */
static __always_inline bool gpumon_amdgpu_get(enum gpumon_amdgpu_field field, const void *object,
					      u64 *value)
{
	*value = 0;
	return gpumon_field_read(&gpumon_amdgpu_fields[field], object, value) ||
	       !gpumon_field_known(&gpumon_amdgpu_fields[field]);
}

/* Is a field known on this machine? */
static __always_inline bool gpumon_amdgpu_known(enum gpumon_amdgpu_field field)
{
	return gpumon_field_known(&gpumon_amdgpu_fields[field]);
}

/*
 * Hash of a device's name, AMDGPU_DEVICE_NONE if it cannot be read. A name is hashed once; the
 * addresses of the device and of its name say that it is still the same one.
 */
static __always_inline u64 gpumon_amdgpu_device_hash(const struct device *dev)
{
	const struct gpumon_tracked *known;
	const char *name;

	if (!dev || !gpumon_read_nofault(&name, &dev->kobj.name, sizeof(name)) || !name)
		return AMDGPU_DEVICE_NONE;
	known = gpumon_track_find(&gpumon_amdgpu_devices, (unsigned long)dev);
	/* Pairs with gpumon_amdgpu_device_learn(): the hash is there with the name. */
	if (likely(known && smp_load_acquire(&known->value) == (unsigned long)name))
		return READ_ONCE(known->owner);
	return gpumon_amdgpu_device_learn(dev, name);
}

/* The struct device of a struct amdgpu_device, NULL if it cannot be read. */
static __always_inline const struct device *gpumon_amdgpu_adev_device(const void *adev)
{
	return gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_ADEV_DEV], adev);
}

#endif /* GPUMON_AMDGPU_PRIV_H */
