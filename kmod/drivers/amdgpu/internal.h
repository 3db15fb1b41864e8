/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of group amdgpu: fields of the driver's types, devices, rings. */
#ifndef GPUMON_AMDGPU_PRIV_H
#define GPUMON_AMDGPU_PRIV_H

#include <linux/device.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>

#include "attach/probe.h"
#include "common/device.h"
#include "compat/sched_device.h"
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
#define AMDGPU_FIELDS(X)                                               \
	X(BO_SIZE, "amdgpu_bo", "tbo.base.size", sizeof(size_t))       \
	X(BO_DOMAINS, "amdgpu_bo", "preferred_domains", 4)             \
	X(BO_FLAGS, "amdgpu_bo", "flags", 8)                           \
	X(BO_DRM, "amdgpu_bo", "tbo.base.dev", sizeof(void *))         \
	X(BO_RESOURCE, "amdgpu_bo", "tbo.resource", sizeof(void *))    \
	X(RESOURCE_PLACEMENT, "ttm_resource", "mem_type", 4)           \
	X(VA_BO, "amdgpu_bo_va", "base.bo", sizeof(void *))            \
	X(MAPPING_START, "amdgpu_bo_va_mapping", "start", 8)           \
	X(MAPPING_LAST, "amdgpu_bo_va_mapping", "last", 8)             \
	/* It has 8 bytes, from 7.x on 4. */                                  \
	X(MAPPING_FLAGS, "amdgpu_bo_va_mapping", "flags", 0)           \
	X(JOB_IBS, "amdgpu_job", "num_ibs", 4)                         \
	X(IB_LENGTH, "amdgpu_ib", "length_dw", 4)                      \
	X(IV_CLIENT, "amdgpu_iv_entry", "client_id", 4)                \
	X(IV_SOURCE, "amdgpu_iv_entry", "src_id", 4)                   \
	X(IV_RING, "amdgpu_iv_entry", "ring_id", 4)                    \
	X(IV_VMID, "amdgpu_iv_entry", "vmid", 4)                       \
	X(RING_NAME, "amdgpu_ring", "name", 16)                        \
	X(RING_ADEV, "amdgpu_ring", "adev", sizeof(void *))            \
	/* A kernel has either: the hub moved from the ring's functions to the ring. */ \
	X(RING_HUB, "amdgpu_ring", "vm_hub", 4)                        \
	X(RING_FUNCS, "amdgpu_ring", "funcs", sizeof(void *))          \
	X(FUNCS_HUB, "amdgpu_ring_funcs", "vmhub", 4)                  \
	X(ADEV_DEV, "amdgpu_device", "dev", sizeof(void *))

/* Members that are read at the headers' offsets. The driver may have been built with others. */
#define AMDGPU_BUILT_FIELDS(X)          \
	X(drm_sched_job, sched)         \
	X(drm_sched_job, s_fence)       \
	X(drm_sched_job, entity)        \
	X(drm_sched_entity, rq)         \
	X(drm_sched_rq, sched)          \
	X(drm_sched_fence, finished)    \
	X(drm_gpu_scheduler, name)      \
	GPUMON_COMPAT_SCHED_OWNER(X)    \
	X(drm_device, dev)

enum {
#define AMDGPU_FIELD_ENUM(_name, ...) AMDGPU_FIELD_##_name,
	AMDGPU_FIELDS(AMDGPU_FIELD_ENUM)
#define AMDGPU_BUILT_ENUM(_type, _member) AMDGPU_BUILT_##_type##_##_member,
	AMDGPU_BUILT_FIELDS(AMDGPU_BUILT_ENUM)
	AMDGPU_FIELD_COUNT
};

#define AMDGPU_FIELD(_name) (&gpumon_amdgpu_fields[AMDGPU_FIELD_##_name])

/* Purpose of a probe; probes of one role are alternatives. */
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

/* Stands in keys for the hash of an unknown device. No device has this hash. */
#define AMDGPU_DEVICE_NONE 1ULL

extern struct gpumon_field gpumon_amdgpu_fields[AMDGPU_FIELD_COUNT];

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
extern struct gpumon_track gpumon_amdgpu_buffers;

/* device.c */
u64 gpumon_amdgpu_device_learn(const struct device *dev, const char *name);
u32 gpumon_amdgpu_device_row_learn(struct gpumon_statistics *statistics, u64 key,
				   const struct device *dev);

/* memory.c */
void gpumon_amdgpu_bo_create(void *data, struct amdgpu_bo *bo);
void gpumon_amdgpu_bo_move(void *data, struct amdgpu_bo *bo, u32 to, u32 from);
void gpumon_amdgpu_vm_map(void *data, struct amdgpu_bo_va *bo_va,
			  struct amdgpu_bo_va_mapping *mapping);
void gpumon_amdgpu_vm_unmap(void *data, struct amdgpu_bo_va *bo_va,
			    struct amdgpu_bo_va_mapping *mapping);
void gpumon_amdgpu_vm_flush(void *data, struct amdgpu_ring *ring, unsigned int vmid,
			    u64 page_directory);
void gpumon_amdgpu_memory_start(void);
bool gpumon_amdgpu_ends_seen(void);

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
GPUMON_KRETPROBE(gpumon_amdgpu_recover_end);
GPUMON_KRETPROBE(gpumon_amdgpu_soft_recovery_end);

/*
 * Hash of a device's name, AMDGPU_DEVICE_NONE if it cannot be read. A name is hashed once; the
 * addresses of the device and of its name say that it is still the same one.
 */
static __always_inline u64 gpumon_amdgpu_device_hash(const struct device *dev)
{
	const char *name;
	u64 hash;

	if (!dev || !gpumon_read_nofault(&name, &dev->kobj.name, sizeof(name)) || !name)
		return AMDGPU_DEVICE_NONE;
	hash = gpumon_track_known(&gpumon_amdgpu_devices, (unsigned long)dev, (unsigned long)name);
	return likely(hash) ? hash : gpumon_amdgpu_device_learn(dev, name);
}

/* Row of a device in a table with one row for each device. */
static __always_inline u32 gpumon_amdgpu_device_row(struct gpumon_statistics *statistics,
						    const struct device *dev)
{
	u64 key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), 0);
	u32 row = gpumon_row_find(statistics, key);

	return likely(row != GPUMON_NONE) ? row :
					    gpumon_amdgpu_device_row_learn(statistics, key, dev);
}

/* The struct device of a struct amdgpu_device, NULL if it cannot be read. */
static __always_inline const struct device *gpumon_amdgpu_adev_device(const void *adev)
{
	return gpumon_field_pointer(AMDGPU_FIELD(ADEV_DEV), adev);
}

#endif /* GPUMON_AMDGPU_PRIV_H */
