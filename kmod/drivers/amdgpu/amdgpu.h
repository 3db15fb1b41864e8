/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_AMDGPU_H
#define GPUMON_AMDGPU_H

#include "attach/probe.h"

extern struct gpumon_group gpumon_amdgpu;
extern struct gpumon_group gpumon_amdgpu_registers;

#endif /* GPUMON_AMDGPU_H */
