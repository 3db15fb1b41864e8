// SPDX-License-Identifier: GPL-2.0-only
/* Group amdgpu: the names of devices, as far as the arguments of a probe lead to one. */
#include "internal.h"

/* Entries: value is the address of the name, owner the hash of the name. */
struct gpumon_track gpumon_amdgpu_devices = {
	.name = "devices",
	.capacity = 64,
};

/**
 * gpumon_amdgpu_hash - a number for a text
 * @text: text
 *
 * Return: number that gpumon_amdgpu_mix() makes keys of, never AMDGPU_DEVICE_NONE.
 */
u64 gpumon_amdgpu_hash(const char *text)
{
	/* FNV-1a. */
	u64 hash = 0xcbf29ce484222325ULL;

	while (*text)
		hash = (hash ^ (u8)*text++) * 0x100000001b3ULL;
	return hash | 2;
}

/**
 * gpumon_amdgpu_device_label - name of a device
 * @dev: device, may be any value
 * @label: filled in, GPUMON_DEVICE_UNKNOWN if it cannot be told
 *
 * Context: any.
 */
void gpumon_amdgpu_device_label(const struct device *dev, char label[GPUMON_LABEL_LEN])
{
	const char *name;

	if (dev && gpumon_read_nofault(&name, &dev->kobj.name, sizeof(name)) && name &&
	    gpumon_read_string_nofault(label, GPUMON_LABEL_LEN, name) > 0 && *label)
		return;
	strscpy(label, GPUMON_DEVICE_UNKNOWN, GPUMON_LABEL_LEN);
}

/**
 * gpumon_amdgpu_device_learn - hash of a device that is new, or has another name
 * @dev: device
 * @name: address of its name
 *
 * Context: probe, preemption off.
 * Return: hash of its name, AMDGPU_DEVICE_NONE if that cannot be read.
 */
noinline u64 gpumon_amdgpu_device_learn(const struct device *dev, const char *name)
{
	char text[GPUMON_LABEL_LEN];
	struct gpumon_tracked *entry;
	bool known;
	u64 hash;

	if (gpumon_read_string_nofault(text, sizeof(text), name) <= 0 || !*text)
		return AMDGPU_DEVICE_NONE;
	hash = gpumon_amdgpu_hash(text);
	entry = gpumon_track_begin(&gpumon_amdgpu_devices, (unsigned long)dev, &known);
	if (entry) {
		/* Two CPUs that learn it at once write the same. */
		WRITE_ONCE(entry->value, 0);
		/* Nobody takes the new hash for that of the name before. */
		smp_wmb();
		WRITE_ONCE(entry->owner, hash);
		/* Pairs with gpumon_amdgpu_device_hash(). */
		smp_store_release(&entry->value, (unsigned long)name);
	}
	return hash;
}
