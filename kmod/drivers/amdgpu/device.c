// SPDX-License-Identifier: GPL-2.0-only
/* Group amdgpu: what devices are known by in keys. */
#include "internal.h"

/* Entries: value is the address of the name, owner the hash of the name. */
struct gpumon_track gpumon_amdgpu_devices = {
	.name = "devices",
	.capacity = 64,
};

/* gpumon_amdgpu_device_hash() of a device that is new, or has another name. */
noinline u64 gpumon_amdgpu_device_learn(const struct device *dev, const char *name)
{
	char text[GPUMON_LABEL_LEN];
	struct gpumon_tracked *entry;
	bool known;
	u64 hash;

	if (gpumon_read_string_nofault(text, sizeof(text), name) <= 0 || !*text)
		return AMDGPU_DEVICE_NONE;
	hash = gpumon_key_text(text) | 2;
	entry = gpumon_track_begin(&gpumon_amdgpu_devices, (unsigned long)dev, &known);
	if (entry) {
		/* Two CPUs that learn it at once write the same. */
		WRITE_ONCE(entry->value, 0);
		/* No reader takes the new hash for that of the previous name. */
		smp_wmb();
		WRITE_ONCE(entry->owner, hash);
		/* Pairs with gpumon_amdgpu_device_hash(). */
		smp_store_release(&entry->value, (unsigned long)name);
	}
	return hash;
}
