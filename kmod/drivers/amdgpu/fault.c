// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: what goes wrong. The driver has no tracepoint for faults of the
 * GPU's address spaces, nor for resets: these are kprobes on functions that
 * are not static and that every fault or reset of their kind goes through.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>

#include "common/alert.h"
#include "internal.h"

enum {
	FAULT_REPORTED,
	FAULT_RETRIES
};

static const struct gpumon_column fault_columns[] = {
	[FAULT_REPORTED] = { .name = "reported", .roles = BIT(AMDGPU_ROLE_FAULT_REPORTED) },
	[FAULT_RETRIES] = { .name = "retries", .roles = BIT(AMDGPU_ROLE_FAULT_RETRY) },
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
	[RESET_RESETS] = { .name = "resets", .roles = BIT(AMDGPU_ROLE_RECOVER) },
	[RESET_FAILED] = { .name = "failed", .roles = BIT(AMDGPU_ROLE_RECOVER) },
	[RESET_DURATION_NS] = { .name = "duration_ns",
				.kind = GPUMON_COLUMN_KIND_HISTOGRAM,
				.roles = BIT(AMDGPU_ROLE_RECOVER) },
	[RESET_SOFT_RECOVERIES] = { .name = "soft_recoveries",
				    .roles = BIT(AMDGPU_ROLE_SOFT_RECOVERY) },
	[RESET_SOFT_FAILED] = { .name = "soft_failed", .roles = BIT(AMDGPU_ROLE_SOFT_RECOVERY) },
};

struct gpumon_statistics gpumon_amdgpu_resets = {
	.name = "resets",
	.labels = { "device" },
	GPUMON_COLUMNS(reset_columns),
	.capacity = 64,
};

/* Row of a device in a table that has one for each. */
static u32 device_row(struct gpumon_statistics *statistics, const struct device *dev)
{
	u64 key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), 0);
	u32 row = gpumon_row_find(statistics, key);
	char label[GPUMON_LABEL_LEN];

	if (likely(row != GPUMON_NONE))
		return row;
	gpumon_device_name(label, dev);
	return gpumon_row_learn(statistics, key, label, NULL, NULL);
}

static int count_fault(struct kprobe *kprobe, struct pt_regs *regs, unsigned int column)
{
	struct gpumon_event_context ctx;
	const struct device *dev;

	if (!gpumon_kprobe_enter(&ctx, kprobe))
		return 0;
	dev = gpumon_amdgpu_adev_device((void *)regs_get_kernel_argument(regs, 0));
	gpumon_row_count(&ctx, &gpumon_amdgpu_vm_faults, device_row(&gpumon_amdgpu_vm_faults, dev),
			 column);
	gpumon_probe_leave(&ctx);
	return 0;
}

/* Kprobe on amdgpu_vm_update_fault_cache(adev, ...) */
GPUMON_KPROBE(gpumon_amdgpu_fault_reported)
{
	return count_fault(kprobe, regs, FAULT_REPORTED);
}

/* Kprobe on amdgpu_vm_handle_fault(adev, ...) */
GPUMON_KPROBE(gpumon_amdgpu_fault_retry)
{
	return count_fault(kprobe, regs, FAULT_RETRIES);
}

/* Kretprobe on amdgpu_device_gpu_recover(adev, ...) */
GPUMON_KRETPROBE(gpumon_amdgpu_recover_begin)
{
	struct gpumon_amdgpu_recovery *recovery = (void *)instance->data;

	recovery->begin_ns = ktime_get_mono_fast_ns();
	recovery->dev = gpumon_amdgpu_adev_device((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

static noinline void alert_reset(u64 now, const struct device *dev, u64 elapsed, int error)
{
	char device[GPUMON_LABEL_LEN], message[64];

	gpumon_device_name(device, dev);
	if (error)
		snprintf(message, sizeof(message), "GPU reset failed after %llu ms, error %d",
			 elapsed / NSEC_PER_MSEC, error);
	else
		snprintf(message, sizeof(message), "GPU was reset in %llu ms",
			 elapsed / NSEC_PER_MSEC);
	gpumon_alert_raise(now, "amdgpu", "reset", device, error ? -error : 0, message);
}

/* End of amdgpu_device_gpu_recover() */
GPUMON_KRETPROBE(gpumon_amdgpu_recover_end)
{
	const struct gpumon_amdgpu_recovery *recovery = (void *)instance->data;
	u64 now = ktime_get_mono_fast_ns();
	struct gpumon_event_context ctx;
	int error = (int)regs_return_value(regs);
	local64_t *words;
	u64 elapsed;
	u32 row;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	row = device_row(&gpumon_amdgpu_resets, recovery->dev);
	elapsed = max_t(s64, now - recovery->begin_ns, 0);
	/* Also if no row is free. */
	alert_reset(now, recovery->dev, elapsed, error);
	if (!gpumon_row_begin(&ctx, &gpumon_amdgpu_resets, row, RESET_RESETS, &words))
		goto leave;
	if (error)
		gpumon_row_add(words, RESET_FAILED, 1);
	gpumon_row_observe(&gpumon_amdgpu_resets, words, RESET_DURATION_NS, elapsed);
leave:
	gpumon_probe_leave(&ctx);
	return 0;
}

/* Kretprobe on amdgpu_ring_soft_recovery(ring, ...) */
GPUMON_KRETPROBE(gpumon_amdgpu_soft_recovery_begin)
{
	struct gpumon_amdgpu_recovery *recovery = (void *)instance->data;
	const void *ring = (void *)regs_get_kernel_argument(regs, 0);

	recovery->dev = gpumon_amdgpu_adev_device(
		gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_RING_ADEV], ring));
	return 0;
}

/* End of amdgpu_ring_soft_recovery() */
GPUMON_KRETPROBE(gpumon_amdgpu_soft_recovery_end)
{
	const struct gpumon_amdgpu_recovery *recovery = (void *)instance->data;
	struct gpumon_event_context ctx;
	local64_t *words;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	/* A bool: only the low byte is the callee's. */
	if (gpumon_row_begin(&ctx, &gpumon_amdgpu_resets,
			     device_row(&gpumon_amdgpu_resets, recovery->dev),
			     RESET_SOFT_RECOVERIES, &words) &&
	    !(u8)regs_return_value(regs))
		gpumon_row_add(words, RESET_SOFT_FAILED, 1);
	gpumon_probe_leave(&ctx);
	return 0;
}
