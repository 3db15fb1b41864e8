// SPDX-License-Identifier: GPL-2.0-only
/*
 * A GPU without hardware for gpumon's tests. It drives the real gpu_sched.ko through the interface
 * of DRM drivers, and keeps an exact account of its own in debugfs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mock_gpu_compat.h"
#include "mock_gpu_priv.h"

#define MOCK_MAX_DEVICES	64
#define MOCK_MAX_RINGS		512

struct mock_gpu mock_gpu;

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 64 (default 1)");

static unsigned int rings = 2;
module_param(rings, uint, 0444);
MODULE_PARM_DESC(rings, "number of rings of each device, 1 to 512 (default 2)");

static unsigned long long seed = 1;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "seed of the service times (default 1)");

static char *completion = "timer";
module_param(completion, charp, 0444);
MODULE_PARM_DESC(completion, "how jobs complete, timer or inline (default timer)");

static char *names = "ring";
module_param(names, charp, 0444);
MODULE_PARM_DESC(names, "of rings, ring (ring0, ring1, ...), xe (rcs0, bcs1, ...) or amdxdna (hwctx.1000.0, hwctx.1001.1, ...), of a driver of that name (default ring)");

static char *distribution = "fixed";
module_param(distribution, charp, 0444);
MODULE_PARM_DESC(distribution, "of service times, fixed, uniform or exponential (default fixed)");

static unsigned long long service_ns = 100000;
module_param(service_ns, ullong, 0444);
MODULE_PARM_DESC(service_ns, "mean service time in ns, 1 to 10000000000 (default 100000)");

static unsigned int hw_limit = 4;
module_param(hw_limit, uint, 0444);
MODULE_PARM_DESC(hw_limit, "jobs on the hardware of a ring, 1 to 4096 (default 4)");

static unsigned int timeout_ms = 2000;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "the scheduler's timeout in ms, up to 600000, 0 is none (default 2000)");

static unsigned int flush_ms = 100;
module_param(flush_ms, uint, 0444);
MODULE_PARM_DESC(flush_ms, "how long an exiting process waits for its queued jobs in ms, up to 60000 (default 100)");

static unsigned int prepare_us;
module_param(prepare_us, uint, 0444);
MODULE_PARM_DESC(prepare_us, "how long prepare_job() takes in us, where the scheduler asks it, up to 1000000 (default 0)");

static bool twin;
module_param(twin, bool, 0444);
MODULE_PARM_DESC(twin, "schedulers of the last device are of one on another bus, with the name of the first (default 0)");

static int __init mock_parameters(void)
{
	static const char *const completions[] = { "timer", "inline" };
	static const char *const namings[] = { "ring", "xe", "amdxdna" };
	static const char *const distributions[] = { "fixed", "uniform", "exponential" };
	const char *bad = NULL;
	int how, dist, named;

	how = match_string(completions, ARRAY_SIZE(completions), completion);
	named = match_string(namings, ARRAY_SIZE(namings), names);
	dist = match_string(distributions, ARRAY_SIZE(distributions), distribution);
	if (how < 0)
		bad = "completion";
	else if (named < 0)
		bad = "names";
	else if (dist < 0)
		bad = "distribution";
	else if (!devices || devices > MOCK_MAX_DEVICES)
		bad = "devices";
	else if (!rings || rings > MOCK_MAX_RINGS)
		bad = "rings";
	else if (!service_ns || service_ns > MOCK_GPU_MAX_SERVICE_NS)
		bad = "service_ns";
	else if (!hw_limit || hw_limit > 4096)
		bad = "hw_limit";
	else if (timeout_ms > 600000)
		bad = "timeout_ms";
	else if (flush_ms > 60000)
		bad = "flush_ms";
	else if (prepare_us > 1000000)
		bad = "prepare_us";
	if (bad) {
		pr_err("parameter %s is out of range, see modinfo\n", bad);
		return -EINVAL;
	}

	mock_gpu.devices = devices;
	mock_gpu.rings = rings;
	mock_gpu.hw_limit = hw_limit;
	mock_gpu.timeout_ms = timeout_ms;
	mock_gpu.flush_ms = flush_ms;
	mock_gpu.prepare_us = prepare_us;
	mock_gpu.service_ns = service_ns;
	mock_gpu.inline_completion = how == 1;
	mock_gpu.distribution = dist;
	mock_gpu.driver = named ? namings[named] : NULL;
	return 0;
}

static const struct platform_device_id mock_ids[] = { { .name = "mock_gpu" }, {} };

/* Where a scheduler does not know its device, gpumon finds that by its driver. */
#ifdef MOCK_HAVE_SCHED_DEV
#define MOCK_NEEDS_DRIVER	(mock_gpu.driver)
#else
#define MOCK_NEEDS_DRIVER	true
#endif

/* Driver that the devices are bound to; only its name is used. */
static struct platform_driver mock_driver = {
	.id_table = mock_ids,
};

static struct bus_type mock_bus = { .name = "mock_bus" };

static void mock_twin_release(struct device *dev)
{
	kfree(dev);
}

static int __init mock_twin_init(void)
{
	int ret = bus_register(&mock_bus);

	if (ret)
		return ret;
	mock_gpu.twin = kzalloc(sizeof(*mock_gpu.twin), GFP_KERNEL);
	if (mock_gpu.twin) {
		mock_gpu.twin->bus = &mock_bus;
		mock_gpu.twin->release = mock_twin_release;
		dev_set_name(mock_gpu.twin, "mock_gpu.0");
		ret = device_register(mock_gpu.twin);
		if (!ret)
			return 0;
		put_device(mock_gpu.twin);
		mock_gpu.twin = NULL;
	}
	bus_unregister(&mock_bus);
	return ret ?: -ENOMEM;
}

static void mock_twin_exit(void)
{
	if (!mock_gpu.twin)
		return;
	device_unregister(mock_gpu.twin);
	bus_unregister(&mock_bus);
}

static void mock_devices_exit(unsigned int ring_count, unsigned int device_count)
{
	while (ring_count)
		mock_ring_fini(&mock_gpu.ring[--ring_count]);
	while (device_count)
		platform_device_unregister(mock_gpu.pdevs[--device_count]);
	kvfree(mock_gpu.ring);
	kfree(mock_gpu.pdevs);
}

static int __init mock_devices_init(void)
{
	unsigned int device, i, ring_count = 0;
	struct platform_device *pdev;
	int ret;

	mock_gpu.pdevs = kcalloc(devices, sizeof(*mock_gpu.pdevs), GFP_KERNEL);
	mock_gpu.ring = kvcalloc(devices * rings, sizeof(*mock_gpu.ring), GFP_KERNEL);
	if (!mock_gpu.pdevs || !mock_gpu.ring) {
		mock_devices_exit(0, 0);
		return -ENOMEM;
	}

	for (device = 0; device < devices; device++) {
		pdev = platform_device_register_simple("mock_gpu", device, NULL, 0);
		if (IS_ERR(pdev)) {
			mock_devices_exit(ring_count, device);
			return PTR_ERR(pdev);
		}
		mock_gpu.pdevs[device] = pdev;
		for (i = 0; i < rings; i++) {
			ret = mock_ring_init(&mock_gpu.ring[ring_count], pdev,
					     mock_gpu.twin && device == devices - 1 ?
						     mock_gpu.twin :
						     &pdev->dev, i,
					     seed + ring_count * 0x632be59bd9b4e019ULL);
			if (ret) {
				mock_devices_exit(ring_count, device + 1);
				return ret;
			}
			ring_count++;
		}
	}
	return 0;
}

static int __init mock_init(void)
{
	int ret;

	ret = mock_parameters();
	if (ret)
		return ret;
	atomic_set(&mock_gpu.alive, 0);
	init_waitqueue_head(&mock_gpu.idle);

	ret = twin ? mock_twin_init() : 0;
	if (ret)
		return ret;
	if (MOCK_NEEDS_DRIVER) {
		mock_driver.driver.name = mock_gpu.driver ?: KBUILD_MODNAME;
		ret = platform_driver_register(&mock_driver);
		if (ret)
			goto err_twin;
	}
	ret = mock_devices_init();
	if (ret)
		goto err_driver;
	ret = mock_account_init();
	if (ret)
		goto err_devices;
	ret = mock_file_init();
	if (ret)
		goto err_account;
	return 0;

err_account:
	mock_account_exit();
err_devices:
	mock_devices_exit(devices * rings, devices);
err_driver:
	if (MOCK_NEEDS_DRIVER)
		platform_driver_unregister(&mock_driver);
err_twin:
	mock_twin_exit();
	return ret;
}

static void __exit mock_exit(void)
{
	mock_file_exit();
	/* Jobs of closed files may still be on the hardware, or being killed. */
	wait_event(mock_gpu.idle, !atomic_read(&mock_gpu.alive));
	mock_account_exit();
	mock_devices_exit(devices * rings, devices);
	if (MOCK_NEEDS_DRIVER)
		platform_driver_unregister(&mock_driver);
	mock_twin_exit();
	/*
	 * A killed job is freed by a work item of the kernel, which may still be returning from our
	 * last function. The others are freed where drm_sched_fini() has waited.
	 */
	if (atomic_read(&mock_gpu.killed))
		synchronize_rcu_tasks();
}

module_init(mock_init);
module_exit(mock_exit);

MODULE_DESCRIPTION("A GPU without hardware on the real DRM scheduler, for tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
