// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices of group i915. A device is known by its name; which device an
 * address belongs to is remembered until a device is probed, and found again then.
 */
#include <linux/string.h>

#include "common/device.h"
#include "core/key.h"
#include "internal.h"

/* The first is the unknown device. */
struct gpumon_i915_device gpumon_i915_devices[GPUMON_I915_DEVICES] = {
	{ .key = 1, .name = GPUMON_DEVICE_UNKNOWN },
};

/* By the address of their struct drm_device. */
struct gpumon_track gpumon_i915_known_devices = {
	.capacity = 8,
};

static u32 device_named(const char *name)
{
	/* Neither 0 nor the key of the unknown device. */
	u64 key = gpumon_key_text(name) | 2, old;
	u32 i;

	for (i = 1; i < GPUMON_I915_DEVICES; i++) {
		old = READ_ONCE(gpumon_i915_devices[i].key);
		if (!old)
			old = cmpxchg64(&gpumon_i915_devices[i].key, 0, key);
		if (!old || old == key) {
			/* Two CPUs that learn it at once write the same. */
			strscpy(gpumon_i915_devices[i].name, name, GPUMON_LABEL_LEN);
			return i;
		}
	}
	return GPUMON_NONE;
}

/* gpumon_i915_device_of() one that is not known by its address. */
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

/* gpumon_i915_row_of() a device that has none yet. */
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
