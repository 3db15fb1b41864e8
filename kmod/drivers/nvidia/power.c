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

/* Of each transition: how many, how many of these failed, how long they took. */
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

#define TRANSITION(_at, _counts, _failed, _ns, _role, _result_known)              \
	[(_at) + POWER_COUNT] = NVIDIA_COUNTER(_counts, BIT(_role)),              \
		 [(_at) + POWER_FAILED] = { .name = _failed,                      \
					    .kind = GPUMON_COLUMN_KIND_COUNTER,   \
					    .roles = BIT(_role),                  \
					    .known = _result_known },             \
		 [(_at) + POWER_NS] = { .name = _ns,                              \
					.kind = GPUMON_COLUMN_KIND_HISTOGRAM,     \
					.roles = BIT(_role) }

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

/* kretprobe on nvidia_suspend(dev, ...), nvidia_resume(dev, ...), nv_pmops_*(dev) */
GPUMON_KRETPROBE(gpumon_nvidia_power_entered)
{
	struct nvidia_power_data *power = (void *)instance->data;

	power->dev = (void *)regs_get_kernel_argument(regs, 0);
	power->drvdata = (void *)regs_get_kernel_argument(regs, 1);
	power->time_ns = ktime_get_mono_fast_ns();
	return 0;
}

static u32 power_row(const struct nvidia_power_data *power, bool trusted)
{
	const struct nvidia_gpu *gpu = gpumon_nvidia_gpu_of_dev(power->dev);
	char name[NVIDIA_NAME_LEN] = GPUMON_DEVICE_UNKNOWN;
	u64 key;
	u32 row;

	if (!gpu && !trusted)
		gpu = gpumon_nvidia_gpu_of_arg(power->drvdata);
	if (gpu)
		strscpy(name, gpu->name, sizeof(name));
	else if (trusted)
		gpumon_nvidia_device_name(name, power->dev);
	key = gpumon_key_mix(gpumon_key_text(name), 0);
	row = gpumon_row_find(&gpumon_nvidia_power, key);
	return likely(row != GPUMON_NONE) ? row :
					    gpumon_row_learn(&gpumon_nvidia_power, key, name, NULL, NULL);
}

static int power_returned(struct kretprobe_instance *instance, struct pt_regs *regs,
			  unsigned int column, int event)
{
	u64 now = ktime_get_mono_fast_ns();
	const struct gpumon_probe *probe = gpumon_probe_of_instance(instance);
	const struct nvidia_power_data *power = (void *)instance->data;
	struct gpumon_event_context ctx;
	local64_t *words;
	u64 elapsed;
	u32 row;
	int ret;

	if (!probe || !gpumon_probe_enter(&ctx, gpumon_probe_data(probe)))
		return 0;
	row = power_row(power, probe->arguments_trusted);
	if (!gpumon_probe_found(&ctx, row))
		goto leave;
	/* An NV_STATUS or an errno, 0 is success in both. */
	ret = probe->arguments_trusted ? regs_return_value(regs) : 0;
	elapsed = nvidia_since(now, power->time_ns);
	words = gpumon_row_words(&gpumon_nvidia_power, row);
	gpumon_row_add(words, column + POWER_COUNT, 1);
	if (ret)
		gpumon_row_add(words, column + POWER_FAILED, 1);
	gpumon_row_observe(&gpumon_nvidia_power, words, column + POWER_NS, elapsed);
	gpumon_probe_recorded(&ctx);
	if (event && gpumon_event_ring_on())
		gpumon_event_ring_words(event, now, row, ret, 0, elapsed, 0);
leave:
	gpumon_probe_leave(&ctx);
	return 0;
}

GPUMON_KRETPROBE(gpumon_nvidia_suspend_returned)
{
	return power_returned(instance, regs, POWER_SUSPEND, GPUMON_EVENT_SUSPEND);
}

GPUMON_KRETPROBE(gpumon_nvidia_resume_returned)
{
	return power_returned(instance, regs, POWER_RESUME, GPUMON_EVENT_RESUME);
}

GPUMON_KRETPROBE(gpumon_nvidia_runtime_suspend_returned)
{
	return power_returned(instance, regs, POWER_RUNTIME_SUSPEND, 0);
}

GPUMON_KRETPROBE(gpumon_nvidia_runtime_resume_returned)
{
	return power_returned(instance, regs, POWER_RUNTIME_RESUME, 0);
}
