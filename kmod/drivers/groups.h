/* SPDX-License-Identifier: GPL-2.0-only */
/* The groups of probes. A new driver is a folder beside this file, and a line here. */
#ifndef GPUMON_GROUPS_H
#define GPUMON_GROUPS_H

#include "attach/probe.h"

#ifdef GPUMON_DEBUG
#define GPUMON_DEBUG_GROUPS(X) X(debug, 0)
#else
#define GPUMON_DEBUG_GROUPS(X)
#endif

/* X(name, is it on at load?): there is a struct gpumon_group and a module parameter of the name. */
#define GPUMON_GROUPS(X)       \
	X(drm_sched, 1)        \
	X(amdgpu, 1)           \
	X(amdgpu_registers, 0) \
	X(drm_vblank, 1)       \
	X(i915, 1)             \
	X(nvidia, 1)           \
	X(nvidia_uvm, 1)       \
	GPUMON_DEBUG_GROUPS(X)

#define GPUMON_GROUP_DECLARE(_name, _on) extern struct gpumon_group gpumon_##_name;
GPUMON_GROUPS(GPUMON_GROUP_DECLARE)

#endif /* GPUMON_GROUPS_H */
