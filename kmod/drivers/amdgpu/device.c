// SPDX-License-Identifier: GPL-2.0-only
/* Group amdgpu: hashes of device names, for keys. */
#include "internal.h"

/*
 * Hash of each device's name, by the address of the device. The address of the name is its
 * identity.
 */
struct gpumon_track gpumon_amdgpu_devices = {
	.capacity = 64,
};

/* gpumon_amdgpu_device_hash() of a device that is new or has another name. */
noinline u64 gpumon_amdgpu_device_learn(const struct device *dev, const char *name)
{
	char text[GPUMON_LABEL_LEN];
	u64 hash;

	if (gpumon_read_string_nofault(text, sizeof(text), name) <= 0 || !*text)
		return AMDGPU_DEVICE_NONE;
	hash = gpumon_key_text(text) | 2;
	gpumon_track_remember(&gpumon_amdgpu_devices, (unsigned long)dev, (unsigned long)name, hash);
	return hash;
}

/* gpumon_amdgpu_device_row() of a device that has none yet. */
noinline u32 gpumon_amdgpu_device_row_learn(struct gpumon_statistics *statistics, u64 key,
					    const struct device *dev)
{
	char label[GPUMON_LABEL_LEN];

	gpumon_device_name(label, dev);
	return gpumon_row_learn(statistics, key, label, NULL, NULL);
}
