// SPDX-License-Identifier: GPL-2.0-only
/* Suspend, resume and the runtime transitions, without a system that sleeps. */
#include <linux/device.h>
#include <linux/ktime.h>

#include "mock_nvidia_priv.h"

/*
 * In real builds the compiler replaces nvidia_resume() by a function that gets members of the
 * device instead of the device. If it inlines nvidia_suspend(), there is no symbol at all.
 */
#ifdef MOCK_INLINED
#define mock_suspend_probed __always_inline
#else
#define mock_suspend_probed mock_probed
#endif

static struct mock_gpu *gpu_of_device(struct device *dev)
{
	return to_mock_gpu(dev_get_drvdata(dev));
}

static void count_pm(struct mock_gpu *gpu, enum mock_counter_id counter, s64 n)
{
	mock_count(MOCK_TOTAL, 0, counter, n);
	mock_count(MOCK_GPU, gpu->index, counter, n);
}

static NV_STATUS transition(struct mock_gpu *gpu, enum mock_counter_id calls,
			    enum mock_counter_id ns, enum mock_counter_id errors)
{
	u64 start = ktime_get_ns();

	mock_wait(gpu->pm_ns);
	count_pm(gpu, calls, 1);
	count_pm(gpu, ns, ktime_get_ns() - start);
	if (!gpu->pm_fails)
		return NV_OK;
	count_pm(gpu, errors, 1);
	return NV_ERR_GENERIC;
}

static mock_suspend_probed NV_STATUS nvidia_suspend(struct device *dev, nv_pm_action_t pm_action,
						    NvBool is_procfs_suspend)
{
	return transition(gpu_of_device(dev), MOCK_SUSPENDS, MOCK_SUSPEND_NS, MOCK_SUSPEND_ERRORS);
}

#ifdef MOCK_SUFFIXED
static NV_STATUS resume_isra(const struct bus_type *bus, nv_linux_state_t *nvl,
			     nv_pm_action_t pm_action) __asm__("nvidia_resume.isra.0");

static mock_probed NV_STATUS resume_isra(const struct bus_type *bus, nv_linux_state_t *nvl,
					 nv_pm_action_t pm_action)
{
	return transition(to_mock_gpu(nvl), MOCK_RESUMES, MOCK_RESUME_NS, MOCK_RESUME_ERRORS);
}

#define nvidia_resume(dev, pm_action) resume_isra((dev)->bus, dev_get_drvdata(dev), pm_action)
#else
static mock_probed NV_STATUS nvidia_resume(struct device *dev, nv_pm_action_t pm_action)
{
	return transition(gpu_of_device(dev), MOCK_RESUMES, MOCK_RESUME_NS, MOCK_RESUME_ERRORS);
}
#endif

static mock_probed int nv_pmops_suspend(struct device *dev)
{
	return nvidia_suspend(dev, NV_PM_ACTION_STANDBY, NV_FALSE) == NV_OK ? 0 : -EIO;
}

static mock_probed int nv_pmops_resume(struct device *dev)
{
	return nvidia_resume(dev, NV_PM_ACTION_RESUME) == NV_OK ? 0 : -EIO;
}

/* The driver's transition of dynamic power is inlined into these two. */
static int runtime_transition(struct device *dev, enum mock_counter_id calls,
			      enum mock_counter_id ns)
{
	struct mock_gpu *gpu = gpu_of_device(dev);
	u64 start = ktime_get_ns();

	mock_wait(gpu->pm_ns);
	count_pm(gpu, calls, 1);
	count_pm(gpu, ns, ktime_get_ns() - start);
	return gpu->pm_fails ? -EIO : 0;
}

static mock_probed int nv_pmops_runtime_suspend(struct device *dev)
{
	return runtime_transition(dev, MOCK_RUNTIME_SUSPENDS, MOCK_RUNTIME_SUSPEND_NS);
}

static mock_probed int nv_pmops_runtime_resume(struct device *dev)
{
	return runtime_transition(dev, MOCK_RUNTIME_RESUMES, MOCK_RUNTIME_RESUME_NS);
}

const struct dev_pm_ops nv_pm_ops = {
	.suspend = nv_pmops_suspend,
	.resume = nv_pmops_resume,
	.runtime_suspend = nv_pmops_runtime_suspend,
	.runtime_resume = nv_pmops_runtime_resume,
};

/**
 * mock_pm_procfs_suspend() - suspend like a write to /proc/driver/nvidia/suspend
 * @gpu: GPU
 *
 * Return: 0 or -EIO.
 */
int mock_pm_procfs_suspend(struct mock_gpu *gpu)
{
	return nvidia_suspend(gpu->nvl.dev, NV_PM_ACTION_HIBERNATE, NV_TRUE) == NV_OK ? 0 : -EIO;
}
