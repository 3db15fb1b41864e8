/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups nvidia and nvidia_uvm: NVIDIA's own driver. */
#ifndef GPUMON_NVIDIA_H
#define GPUMON_NVIDIA_H

struct gpumon_group;

extern struct gpumon_group gpumon_nvidia, gpumon_nvidia_uvm;

void gpumon_nvidia_refresh(void);

#endif /* GPUMON_NVIDIA_H */
