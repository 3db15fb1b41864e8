// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: suspend, resume and the runtime transitions of a GPU.
 *
 * nvidia_suspend() and nvidia_resume() are what both the kernel's power
 * management and the driver's own /proc/driver/nvidia/suspend come to. Where
 * the compiler has changed one of them, its arguments are believed only if one
 * is the device of a GPU that is known, or its drvdata: nvidia_resume.isra.0()
 * gets members of the device instead of the device.
 */
#include <linux/device.h>

#include "internal.h"

/* A function that the compiler has changed need not return what it did. */
static bool suspend_result_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_group_trusts(group, NVIDIA_SUSPEND);
}

static bool resume_result_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_group_trusts(group, NVIDIA_RESUME);
}

/* Columns of each transition: how many, how many of them failed, how long they took. */
enum {
	POWER_SUSPEND = 0,
	POWER_RESUME = 3,
	POWER_RUNTIME_SUSPEND = 6,
	POWER_RUNTIME_RESUME = 9
};

enum {
	POWER_COUNT,
	POWER_FAILED,
	POWER_NS
};

#define TRANSITION(_at, _counts, _failed, _ns, _role, _result_known)                      \
	[(_at) + POWER_COUNT] = GPUMON_COUNTER(_counts, .roles = BIT(_role)),             \
		 [(_at) + POWER_FAILED] = GPUMON_COUNTER(_failed, .roles = BIT(_role),    \
							 .known = _result_known),         \
		 [(_at) + POWER_NS] = GPUMON_HISTOGRAM(_ns, .roles = BIT(_role))

static const struct gpumon_column power_columns[] = {
	TRANSITION(POWER_SUSPEND, "suspends", "suspends_failed", "suspend_ns", NVIDIA_SUSPEND,
		   suspend_result_known),
	TRANSITION(POWER_RESUME, "resumes", "resumes_failed", "resume_ns", NVIDIA_RESUME,
		   resume_result_known),
	TRANSITION(POWER_RUNTIME_SUSPEND, "runtime_suspends", "runtime_suspends_failed",
		   "runtime_suspend_ns", NVIDIA_RUNTIME_SUSPEND, NULL),
	TRANSITION(POWER_RUNTIME_RESUME, "runtime_resumes", "runtime_resumes_failed",
		   "runtime_resume_ns", NVIDIA_RUNTIME_RESUME, NULL),
};

struct gpumon_statistics gpumon_nvidia_power = {
	.name = "power",
	.labels = { "device" },
	GPUMON_COLUMNS(power_columns),
	.capacity = 64,
};

static u32 power_row(const struct gpumon_call *call, bool trusted)
{
	const void *dev = (void *)call->argument[0];
	const struct nvidia_gpu *gpu = gpumon_nvidia_gpu_of_dev(dev);
	char name[NVIDIA_NAME_LEN] = GPUMON_DEVICE_UNKNOWN;

	if (!gpu && !trusted)
		gpu = gpumon_nvidia_gpu_of_arg((void *)call->argument[1]);
	if (gpu)
		strscpy(name, gpu->name, sizeof(name));
	else if (trusted)
		gpumon_nvidia_device_name(name, dev);
	return gpumon_row_learn(&gpumon_nvidia_power, gpumon_key_mix(gpumon_key_text(name), 0),
				name, NULL, NULL);
}

static void count_transition(struct gpumon_event_context *ctx, bool trusted,
			     struct kretprobe_instance *instance, struct pt_regs *regs,
			     unsigned int column, int event)
{
	const struct gpumon_call *call = gpumon_call(instance);
	u64 now = ktime_get_mono_fast_ns(), elapsed = gpumon_call_ns(call, now);
	/* The result is an NV_STATUS or an errno; 0 is success in both. */
	int ret = trusted ? regs_return_value(regs) : 0;
	u32 row = power_row(call, trusted);
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_power, row, column + POWER_COUNT, &words))
		return;
	if (ret)
		gpumon_row_add(words, column + POWER_FAILED, 1);
	gpumon_row_observe(&gpumon_nvidia_power, words, column + POWER_NS, elapsed);
	if (event && gpumon_event_ring_on())
		gpumon_event_ring_words(event, now, row, trusted ? ret : GPUMON_WORD_UNKNOWN, 0,
					elapsed, 0);
}

/* kretprobe on nvidia_suspend(dev, ...), nvidia_resume(dev, ...), nv_pmops_*(dev) */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_suspend_returned)
{
	count_transition(ctx, probe->arguments_trusted, instance, regs, POWER_SUSPEND,
			 GPUMON_EVENT_SUSPEND);
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_resume_returned)
{
	count_transition(ctx, probe->arguments_trusted, instance, regs, POWER_RESUME,
			 GPUMON_EVENT_RESUME);
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_runtime_suspend_returned)
{
	count_transition(ctx, probe->arguments_trusted, instance, regs, POWER_RUNTIME_SUSPEND, 0);
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_runtime_resume_returned)
{
	count_transition(ctx, probe->arguments_trusted, instance, regs, POWER_RUNTIME_RESUME, 0);
}
