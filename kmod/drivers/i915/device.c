// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices of group i915. A device is identified by its name. The device of an address is remembered
 * until a device is probed, and then found again.
 */
#include <linux/string.h>

#include "common/device.h"
#include "core/key.h"
#include "internal.h"

/* The first entry is the unknown device. */
struct gpumon_i915_device gpumon_i915_devices[GPUMON_I915_DEVICES] = {
	{ .key = 1, .name = GPUMON_DEVICE_UNKNOWN },
};

/* Index of each device plus 1, by the address of its struct drm_device. */
struct gpumon_track gpumon_i915_known_devices = {
	.capacity = 8,
};

static u32 device_named(const char *name)
{
	/* The key is neither 0 nor that of the unknown device. */
	u64 key = gpumon_key_text(name) | 2, old;
	u32 i;

	for (i = 1; i < GPUMON_I915_DEVICES; i++) {
		old = gpumon_read_once64(gpumon_i915_devices[i].key);
		if (!old)
			old = gpumon_cmpxchg64(&gpumon_i915_devices[i].key, 0, key);
		if (!old || old == key) {
			/* Two CPUs that learn a device at once write the same. */
			strscpy(gpumon_i915_devices[i].name, name, GPUMON_LABEL_LEN);
			return i;
		}
	}
	return GPUMON_NONE;
}

/* gpumon_i915_device_of() for an address that is not known. */
noinline u32 gpumon_i915_device_learn(const struct drm_device *drm)
{
	char name[GPUMON_LABEL_LEN];
	u32 device;

	if (!gpumon_device_label_of_drm(name, drm))
		return 0;
	device = device_named(name);
	if (device != GPUMON_NONE)
		gpumon_track_remember(&gpumon_i915_known_devices, (unsigned long)drm, I915_KNOWN,
				      device + 1);
	return device;
}

/* gpumon_i915_row_of() for a device without a row. */
noinline u32 gpumon_i915_row_learn(struct gpumon_statistics *statistics,
				   enum gpumon_i915_table table, u32 device)
{
	struct gpumon_i915_device *known = &gpumon_i915_devices[device];
	u32 row;

	row = gpumon_row_learn(statistics, known->key, known->name, NULL, NULL);
	if (row != GPUMON_NONE)
		WRITE_ONCE(known->row[table], row + 1);
	return row;
}
