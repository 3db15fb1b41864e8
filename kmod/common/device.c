// SPDX-License-Identifier: GPL-2.0-only
/* Names of devices, read through pointers that may be invalid. */
#include <linux/device.h>
#include <linux/platform_device.h>
#include <linux/string.h>
#include <drm/drm_device.h>

#include "device.h"

/**
 * gpumon_is_device - is there a device at this address
 * @dev: any value
 *
 * All devices are objects of one type of sysfs, which nothing else has.
 *
 * Context: any.
 * Return: false if there is none, or the memory cannot be read.
 */
bool gpumon_is_device(const struct device *dev)
{
	const void *type;

	return dev && gpumon_read_nofault(&type, &dev->kobj.ktype, sizeof(type)) &&
	       type == platform_bus.kobj.ktype;
}

/**
 * gpumon_device_name - dev_name() through a pointer that may be invalid
 * @name: set to it, GPUMON_DEVICE_UNKNOWN if it cannot be read
 * @dev: device, may be any value
 *
 * It is that of the hardware, as in /sys. Where there is no device, no text is read.
 *
 * Context: any.
 * Return: false if it cannot be read.
 */
bool gpumon_device_name(char name[GPUMON_LABEL_LEN], const struct device *dev)
{
	const char *text = NULL;

	if (gpumon_is_device(dev) && gpumon_read_nofault(&text, &dev->init_name, sizeof(text)) &&
	    (text || gpumon_read_nofault(&text, &dev->kobj.name, sizeof(text))) && text &&
	    gpumon_read_string_nofault(name, GPUMON_LABEL_LEN, text) > 0)
		return true;
	strscpy(name, GPUMON_DEVICE_UNKNOWN, GPUMON_LABEL_LEN);
	return false;
}

/**
 * gpumon_device_name_of_drm - gpumon_device_name() of the device below a DRM device
 * @name: set to it, GPUMON_DEVICE_UNKNOWN if it cannot be read
 * @drm: DRM device, may be any value
 *
 * Not that of the card: those change with each boot.
 *
 * Context: any.
 * Return: false if it cannot be read.
 */
bool gpumon_device_name_of_drm(char name[GPUMON_LABEL_LEN], const struct drm_device *drm)
{
	const struct device *dev;

	if (!gpumon_read_nofault(&dev, &drm->dev, sizeof(dev)))
		dev = NULL;
	return gpumon_device_name(name, dev);
}
