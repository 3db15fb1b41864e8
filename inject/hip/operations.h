/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the library reports of its devices' work. */
#ifndef GPUMON_INJECT_HIP_OPERATIONS_H
#define GPUMON_INJECT_HIP_OPERATIONS_H

#include "launches.h"

/* The window begins or ends. */
void inject_hip_operations_window(bool on);

/*
 * Whether to report such an operation: it is launched, or ended, just now. Outside of the window only
 * as long as some of it may still run, because the library is slower where it measures.
 */
bool inject_hip_operation_is_wanted(uint32_t operation);

/* One has ended. In a thread of the library, or one of the program's that waits. */
void inject_hip_operation_ended(const struct inject_hip_record *record);

/* Writes a kernel without times. @flags: GPUMON_WORK_*: why there are none. */
void inject_hip_operation_untimed(struct inject_thread *thread,
				  const struct inject_hip_launch *launch, uint16_t flags);

#endif /* GPUMON_INJECT_HIP_OPERATIONS_H */
