// SPDX-License-Identifier: GPL-2.0-only
/* Group amdgpu: the members of the driver's types. */
#include "internal.h"

#define FIELD(_type, _member, _size)                                                \
	{                                                                           \
		.module = "amdgpu", .type = _type, .member = _member, .size = _size \
	}

struct gpumon_field gpumon_amdgpu_fields[AMDGPU_FIELDS] = {
	[AMDGPU_BO_SIZE] = FIELD("amdgpu_bo", "tbo.base.size", sizeof(size_t)),
	[AMDGPU_BO_DOMAINS] = FIELD("amdgpu_bo", "preferred_domains", 4),
	[AMDGPU_BO_FLAGS] = FIELD("amdgpu_bo", "flags", 8),
	[AMDGPU_BO_DRM] = FIELD("amdgpu_bo", "tbo.base.dev", sizeof(void *)),
	[AMDGPU_VA_BO] = FIELD("amdgpu_bo_va", "base.bo", sizeof(void *)),
	[AMDGPU_MAPPING_START] = FIELD("amdgpu_bo_va_mapping", "start", 8),
	[AMDGPU_MAPPING_LAST] = FIELD("amdgpu_bo_va_mapping", "last", 8),
	/* 8 bytes, 4 from 7.x on. */
	[AMDGPU_MAPPING_FLAGS] = FIELD("amdgpu_bo_va_mapping", "flags", 0),
	[AMDGPU_JOB_IBS] = FIELD("amdgpu_job", "num_ibs", 4),
	[AMDGPU_IB_LENGTH] = FIELD("amdgpu_ib", "length_dw", 4),
	[AMDGPU_IV_CLIENT] = FIELD("amdgpu_iv_entry", "client_id", 4),
	[AMDGPU_IV_SOURCE] = FIELD("amdgpu_iv_entry", "src_id", 4),
	[AMDGPU_IV_RING] = FIELD("amdgpu_iv_entry", "ring_id", 4),
	[AMDGPU_IV_VMID] = FIELD("amdgpu_iv_entry", "vmid", 4),
	[AMDGPU_RING_NAME] = FIELD("amdgpu_ring", "name", 16),
	[AMDGPU_RING_ADEV] = FIELD("amdgpu_ring", "adev", sizeof(void *)),
	/* One or the other: it moved from the ring's functions to the ring. */
	[AMDGPU_RING_HUB] = FIELD("amdgpu_ring", "vm_hub", 4),
	[AMDGPU_RING_FUNCS] = FIELD("amdgpu_ring", "funcs", sizeof(void *)),
	[AMDGPU_FUNCS_HUB] = FIELD("amdgpu_ring_funcs", "vmhub", 4),
	[AMDGPU_ADEV_DEV] = FIELD("amdgpu_device", "dev", sizeof(void *)),
};
