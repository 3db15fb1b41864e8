// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: faults and resets. The driver has no tracepoint for faults of the GPU's address
 * spaces, nor for resets: these are kprobes on functions that are not static and that every fault
 * or reset of their kind goes through.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "common/alert.h"
#include "common/call.h"
#include "internal.h"

enum {
	FAULT_REPORTED,
	FAULT_RETRIES
};

static const struct gpumon_column fault_columns[] = {
	[FAULT_REPORTED] = GPUMON_COUNTER("reported", .roles = BIT(AMDGPU_ROLE_FAULT_REPORTED)),
	[FAULT_RETRIES] = GPUMON_COUNTER("retries", .roles = BIT(AMDGPU_ROLE_FAULT_RETRY)),
};

struct gpumon_statistics gpumon_amdgpu_vm_faults = {
	.name = "vm_faults",
	.labels = { "device" },
	GPUMON_COLUMNS(fault_columns),
	.capacity = 64,
};

enum {
	RESET_RESETS,
	RESET_FAILED,
	RESET_DURATION_NS,
	RESET_SOFT_RECOVERIES,
	RESET_SOFT_FAILED
};

static const struct gpumon_column reset_columns[] = {
	[RESET_RESETS] = GPUMON_COUNTER("resets", .roles = BIT(AMDGPU_ROLE_RECOVER)),
	[RESET_FAILED] = GPUMON_COUNTER("failed", .roles = BIT(AMDGPU_ROLE_RECOVER)),
	[RESET_DURATION_NS] = GPUMON_HISTOGRAM("duration_ns", .roles = BIT(AMDGPU_ROLE_RECOVER)),
	[RESET_SOFT_RECOVERIES] =
		GPUMON_COUNTER("soft_recoveries", .roles = BIT(AMDGPU_ROLE_SOFT_RECOVERY)),
	[RESET_SOFT_FAILED] =
		GPUMON_COUNTER("soft_failed", .roles = BIT(AMDGPU_ROLE_SOFT_RECOVERY)),
};

struct gpumon_statistics gpumon_amdgpu_resets = {
	.name = "resets",
	.labels = { "device" },
	GPUMON_COLUMNS(reset_columns),
	.capacity = 64,
};

static void vm_fault_count(struct gpumon_event_context *ctx, struct pt_regs *regs, unsigned int column)
{
	const struct device *dev =
		gpumon_amdgpu_adev_device((void *)gpumon_compat_kernel_argument(regs, 0));

	gpumon_row_count(ctx, &gpumon_amdgpu_vm_faults,
			 gpumon_amdgpu_device_row(&gpumon_amdgpu_vm_faults, dev), column);
}

/* Kprobe on amdgpu_vm_update_fault_cache(adev, ...) */
GPUMON_KPROBE_BODY(gpumon_amdgpu_fault_reported)
{
	vm_fault_count(ctx, regs, FAULT_REPORTED);
}

/* Kprobe on amdgpu_vm_handle_fault(adev, ...) */
GPUMON_KPROBE_BODY(gpumon_amdgpu_fault_retry)
{
	vm_fault_count(ctx, regs, FAULT_RETRIES);
}

static noinline void reset_alert(u64 now, const struct device *dev, u64 elapsed, int error)
{
	char device[GPUMON_LABEL_LEN], message[64];

	gpumon_device_name(device, dev);
	if (error)
		snprintf(message, sizeof(message), "GPU reset failed after %llu ms, error %d",
			 div_u64(elapsed, NSEC_PER_MSEC), error);
	else
		snprintf(message, sizeof(message), "GPU was reset in %llu ms",
			 div_u64(elapsed, NSEC_PER_MSEC));
	gpumon_alert_raise(now, "amdgpu", "reset", device, error ? -error : 0, message);
}

/* Kretprobe on amdgpu_device_gpu_recover(adev, ...) */
GPUMON_KRETPROBE_BODY(gpumon_amdgpu_recover_end)
{
	const struct gpumon_call *call = gpumon_call(instance);
	u64 now = ktime_get_mono_fast_ns(), elapsed = gpumon_call_ns(call, now);
	const struct device *dev = gpumon_amdgpu_adev_device((void *)call->argument[0]);
	u32 row = gpumon_amdgpu_device_row(&gpumon_amdgpu_resets, dev);
	int error = regs_return_value(regs);
	local64_t *words;

	/* Raised also if no row is free. */
	reset_alert(now, dev, elapsed, error);
	if (!gpumon_row_begin(ctx, &gpumon_amdgpu_resets, row, RESET_RESETS, &words))
		return;
	if (error)
		gpumon_row_add(words, RESET_FAILED, 1);
	gpumon_row_observe(&gpumon_amdgpu_resets, words, RESET_DURATION_NS, elapsed);
}

/* Kretprobe on amdgpu_ring_soft_recovery(ring, ...) */
GPUMON_KRETPROBE_BODY(gpumon_amdgpu_soft_recovery_end)
{
	const void *ring = (void *)gpumon_call(instance)->argument[0];
	const struct device *dev =
		gpumon_amdgpu_adev_device(gpumon_field_pointer(AMDGPU_FIELD(RING_ADEV), ring));
	u32 row = gpumon_amdgpu_device_row(&gpumon_amdgpu_resets, dev);
	local64_t *words;

	/* The result is a bool: the function has set its low byte only. */
	if (gpumon_row_begin(ctx, &gpumon_amdgpu_resets, row, RESET_SOFT_RECOVERIES, &words) &&
	    !(u8)regs_return_value(regs))
		gpumon_row_add(words, RESET_SOFT_FAILED, 1);
}
