/* SPDX-License-Identifier: GPL-2.0-only */
/* Types and functions of amdgpu for mock_amdgpu.c, with a layout of their own. */
#ifndef MOCK_AMDGPU_H
#define MOCK_AMDGPU_H

#include <linux/types.h>

struct device;
struct dma_fence;

struct amdgpu_device {
	u64 number;
	struct device *dev;
};

struct amdgpu_ih_ring {
	unsigned int number;
};

struct amdgpu_iv_entry {
	u64 timestamp;
	unsigned int vmid;
	unsigned int ring_id;
	unsigned int src_id;
	unsigned int client_id;
};

struct amdgpu_ring {
	char name[16];
	struct amdgpu_device *adev;
	unsigned int vm_hub;
};

struct amdgpu_job {
	int number;
};

struct amdgpu_reset_context {
	int error;
	unsigned int ms;
};

void amdgpu_irq_dispatch(struct amdgpu_device *adev, struct amdgpu_ih_ring *ih);
void amdgpu_vm_update_fault_cache(struct amdgpu_device *adev, unsigned int pasid, u64 addr,
				  u32 status, unsigned int vmhub);
bool amdgpu_vm_handle_fault(struct amdgpu_device *adev, u32 pasid, u32 vmid, u32 node_id, u64 addr,
			    u64 ts, bool write_fault);
int amdgpu_device_gpu_recover(struct amdgpu_device *adev, struct amdgpu_job *job,
			      struct amdgpu_reset_context *reset_context);
bool amdgpu_ring_soft_recovery(struct amdgpu_ring *ring, unsigned int vmid,
			       struct dma_fence *fence);

#endif /* MOCK_AMDGPU_H */
