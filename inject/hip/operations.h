/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Kernels that were launched and whose end the library has not reported yet. */
#ifndef GPUMON_INJECT_HIP_OPERATIONS_H
#define GPUMON_INJECT_HIP_OPERATIONS_H

#include "hip.h"

/**
 * struct inject_hip_launch - of a kernel
 * @correlation: of its call, with the capture in the upper half; 0: none
 * @begin_ns: of its call
 * @name: string id
 * @device: HIP's number, -1 if not known
 * @grid: groups, 0 if not known
 * @local: work-items of a group, 0 if not known
 * @global: work-items
 */
struct inject_hip_launch {
	uint64_t correlation;
	uint64_t begin_ns;
	uint32_t name;
	int32_t device;
	uint32_t grid[3];
	uint32_t local[3];
	uint64_t global[3];
};

/* Memory for them, at most. */
void inject_hip_launches_reserve(uint32_t mib);

/* False: there is no room. */
bool inject_hip_launch_add(const struct inject_hip_launch *launch);

/* Takes that of a call out. False: there is none. */
bool inject_hip_launch_take(uint64_t correlation, struct inject_hip_launch *launch);

/* Names that of a call, if it is still there. */
void inject_hip_launch_name(uint64_t correlation, uint32_t name);

/* How many there are. */
size_t inject_hip_launches_count(void);

/* Takes any of them out. False: there is none. */
bool inject_hip_launch_take_any(struct inject_hip_launch *launch);

/* Called in a child after fork. */
void inject_hip_launches_forked(void);

/* Operations of devices, as the library reports them. */

/* The window begins or ends. */
void inject_hip_operations_window(bool on);

/*
 * Whether to report such an operation: it is launched, or ended, just now. Outside of the window only
 * as long as some of it may still run, because the library is slower where it measures.
 */
bool inject_hip_operation_is_wanted(uint32_t operation);

/* An operation has ended. Context: a thread of the library, or a thread of the program that waits. */
void inject_hip_operation_ended(const struct inject_hip_record *record);

/* Writes a kernel without times. @flags: GPUMON_WORK_*: why there are none. */
void inject_hip_operation_untimed(struct inject_thread *thread,
				  const struct inject_hip_launch *launch, uint16_t flags);

#endif /* GPUMON_INJECT_HIP_OPERATIONS_H */
