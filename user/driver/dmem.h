/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Device memory by cgroup, as the kernel charges it (dmem.current, Linux 6.14): what the driver of a
 * GPU has allocated for the processes of a cgroup and of those below it. The kernel counts it, not gpumon.
 */
#ifndef GPUMON_DRIVER_DMEM_H
#define GPUMON_DRIVER_DMEM_H

#include "model.h"

/**
 * gpumon_dmem_resolve() - fill in the device memory of the cgroups of a reading
 * @model: a reading whose processes and cgroups have their paths and containers
 * @hierarchy: descriptor of the folder where cgroup version 2 is mounted
 *
 * Of a container it is the memory of its own cgroup, which includes what it nests; otherwise that of
 * the process's cgroup. Nothing is added where the kernel has no such file, where the controller is
 * not on for the cgroup, and where the cgroup is gone.
 */
void gpumon_dmem_resolve(struct gpumon_model *model, int hierarchy);

#endif /* GPUMON_DRIVER_DMEM_H */
