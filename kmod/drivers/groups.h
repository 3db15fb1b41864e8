/* SPDX-License-Identifier: GPL-2.0-only */
/* The groups of probes. A new driver is a folder beside this file, and a line here. */
#ifndef GPUMON_GROUPS_H
#define GPUMON_GROUPS_H

#include "attach/probe.h"

/* What follows the name of a folder beside this file, unless `make modules DRIVERS=` leaves it out. */
#define GPUMON_DRIVER(_folder, ...) __PASTE(GPUMON_DRIVER_, GPUMON_HAS_##_folder)(__VA_ARGS__)
#define GPUMON_DRIVER_0(...)
#define GPUMON_DRIVER_1(...) __VA_ARGS__

/*
 * The groups of each folder, X(name, is it on at load?): there is a struct gpumon_group and a module
 * parameter of the name.
 */
#define GPUMON_GROUPS(X)                                           \
	GPUMON_DRIVER(drm_sched, X(drm_sched, 1))                  \
	GPUMON_DRIVER(amdgpu, X(amdgpu, 1) X(amdgpu_registers, 0)) \
	GPUMON_DRIVER(drm_vblank, X(drm_vblank, 1))                \
	GPUMON_DRIVER(i915, X(i915, 1))                            \
	GPUMON_DRIVER(nvidia, X(nvidia, 1) X(nvidia_uvm, 1))       \
	GPUMON_DRIVER(debug, X(debug, 0))

#define GPUMON_GROUP_DECLARE(_name, _on) extern struct gpumon_group gpumon_##_name;
GPUMON_GROUPS(GPUMON_GROUP_DECLARE)

#endif /* GPUMON_GROUPS_H */
