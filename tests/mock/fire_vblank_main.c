// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM devices without hardware whose vblanks a test controls: parameters, devices, load and unload.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_mode_config.h>
#include <drm/drm_modes.h>
#include <drm/drm_vblank.h>

#include "fire_compat.h"
#include "fire_vblank.h"

struct fire_vblank fire_vblank;

static unsigned int devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 16 (default 2)");

static unsigned int crtcs = 2;
module_param(crtcs, uint, 0444);
MODULE_PARM_DESC(crtcs, "number of displays of each device, 1 to 32 (default 2)");

static unsigned int refresh_hz = 60;
module_param(refresh_hz, uint, 0444);
MODULE_PARM_DESC(refresh_hz, "refresh rate in Hz, 1 to 10000 (default 60)");

static bool high_prec = true;
module_param(high_prec, bool, 0444);
MODULE_PARM_DESC(high_prec, "the hardware knows the time of a vblank (default yes)");

static bool immediate = true;
module_param(immediate, bool, 0444);
MODULE_PARM_DESC(immediate, "the interrupt goes off as soon as nobody wants it, not after drm.vblankoffdelay (default yes)");

static bool paused;
module_param(paused, bool, 0444);
MODULE_PARM_DESC(paused, "no frames pass until a command says so (default no)");

static unsigned int log_size = 65536;
module_param_named(log, log_size, uint, 0444);
MODULE_PARM_DESC(log, "vblanks in the log, 1 to 10000000 (default 65536)");

static const struct file_operations fire_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

static struct drm_driver fire_driver = {
	.driver_features = DRIVER_MODESET,
	.fops = &fire_fops,
	.name = "fire_vblank",
	.desc = "displays without hardware, for tests",
#ifdef MOCK_HAVE_DRM_DRIVER_DATE
	.date = "20260101",
#endif
	.major = 1,
};

static const struct drm_mode_config_funcs fire_mode_config_funcs = { };

static int __init fire_parameters(void)
{
	const char *bad = NULL;

	if (!devices || devices > FIRE_MAX_DEVICES)
		bad = "devices";
	else if (!crtcs || crtcs > FIRE_MAX_CRTCS)
		bad = "crtcs";
	else if (!refresh_hz || refresh_hz > FIRE_MAX_HZ)
		bad = "refresh_hz";
	else if (!log_size || log_size > 10000000)
		bad = "log";
	if (bad) {
		pr_err("parameter %s is out of range, see modinfo\n", bad);
		return -EINVAL;
	}
	fire_vblank.devices = devices;
	fire_vblank.crtcs = crtcs;
	fire_vblank.high_prec = high_prec;
	return 0;
}

/* A mode with that rate, from which the core computes the duration of a frame. */
static void fire_set_mode(struct fire_crtc *crtc)
{
	struct drm_display_mode mode = {
		.crtc_clock = refresh_hz,
		.crtc_hdisplay = 800,
		.crtc_htotal = 1000,
		.crtc_vdisplay = 1,
		.crtc_vtotal = 1,
	};

	drm_calc_timestamping_constants(&crtc->base, &mode);
}

static int fire_device_fill(struct fire_device *device)
{
	struct drm_device *drm = &device->drm;
	unsigned int i;
	int ret;

	device->crtc = drmm_kcalloc(drm, crtcs, sizeof(*device->crtc), GFP_KERNEL);
	if (!device->crtc)
		return -ENOMEM;
	ret = drmm_mode_config_init(drm);
	if (ret)
		return ret;
	drm->mode_config.funcs = &fire_mode_config_funcs;
	drm->mode_config.max_width = 8192;
	drm->mode_config.max_height = 8192;
	drm->max_vblank_count = U32_MAX;
	drm->vblank_disable_immediate = immediate;

	for (i = 0; i < crtcs; i++) {
		ret = fire_crtc_init(device, i, refresh_hz);
		if (ret)
			return ret;
	}
	ret = drm_vblank_init(drm, crtcs);
	if (ret)
		return ret;
	ret = drm_dev_register(drm, 0);
	if (ret)
		return ret;

	for (i = 0; i < crtcs; i++) {
		fire_set_mode(&device->crtc[i]);
		drm_crtc_vblank_on(&device->crtc[i].base);
		if (!paused)
			fire_crtc_start(&device->crtc[i]);
	}
	return 0;
}

static struct fire_device *fire_device_new(unsigned int index)
{
	struct platform_device *pdev;
	struct fire_device *device;
	int ret;

	pdev = platform_device_register_simple("fire_vblank", index, NULL, 0);
	if (IS_ERR(pdev))
		return ERR_CAST(pdev);
	/* No driver is bound, so this group frees the devm_ allocations. */
	if (!devres_open_group(&pdev->dev, NULL, GFP_KERNEL)) {
		ret = -ENOMEM;
		goto err_pdev;
	}
	device = devm_drm_dev_alloc(&pdev->dev, &fire_driver, struct fire_device, drm);
	if (IS_ERR(device)) {
		ret = PTR_ERR(device);
		goto err_group;
	}
	device->pdev = pdev;
#ifdef MOCK_HAVE_DRM_IRQ_ENABLED
	/* Without it, the vblank ioctls of 5.10 are not supported. */
	device->drm.irq_enabled = true;
#endif
	ret = fire_device_fill(device);
	if (ret)
		goto err_group;
	return device;

err_group:
	devres_release_group(&pdev->dev, NULL);
err_pdev:
	platform_device_unregister(pdev);
	return ERR_PTR(ret);
}

static void fire_device_delete(struct fire_device *device)
{
	struct platform_device *pdev = device->pdev;
	unsigned int i;

	drm_dev_unplug(&device->drm);
	for (i = 0; i < crtcs; i++) {
		fire_crtc_stop(&device->crtc[i]);
		drm_crtc_vblank_off(&device->crtc[i].base);
	}
	/* Drops the last reference. Open files keep the module loaded. */
	devres_release_group(&pdev->dev, NULL);
	platform_device_unregister(pdev);
}

static void fire_devices_delete(unsigned int count)
{
	while (count)
		fire_device_delete(fire_vblank.device[--count]);
	kfree(fire_vblank.device);
}

static int __init fire_init(void)
{
	struct fire_device *device;
	unsigned int i;
	int ret;

	ret = fire_parameters();
	if (ret)
		return ret;
	ret = fire_log_init(log_size);
	if (ret)
		return ret;
	fire_vblank.device = kcalloc(devices, sizeof(*fire_vblank.device), GFP_KERNEL);
	if (!fire_vblank.device) {
		ret = -ENOMEM;
		goto err_log;
	}
	for (i = 0; i < devices; i++) {
		device = fire_device_new(i);
		if (IS_ERR(device)) {
			ret = PTR_ERR(device);
			fire_devices_delete(i);
			goto err_log;
		}
		fire_vblank.device[i] = device;
	}
	ret = fire_command_init();
	if (ret) {
		fire_devices_delete(devices);
		goto err_log;
	}
	return 0;

err_log:
	fire_log_exit();
	return ret;
}

static void __exit fire_exit(void)
{
	fire_command_exit();
	fire_devices_delete(devices);
	fire_log_exit();
}

module_init(fire_init);
module_exit(fire_exit);

MODULE_DESCRIPTION("Displays without hardware whose vblanks come as commanded, for tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
