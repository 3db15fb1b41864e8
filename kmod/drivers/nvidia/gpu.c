// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: the GPUs. Events name a GPU by a pointer of the driver's, a PCI device or a minor
 * number; these are looked up here and never followed.
 *
 * The pointer that the driver passes to its interrupt handlers is also the drvdata of the PCI
 * device. It leads to the minor number, at an offset that only BTF has.
 */
#include <linux/ctype.h>
#include <linux/pci.h>

#include "common/device.h"
#include "internal.h"

#define GPUS   64
#define MINORS 256

struct gpumon_field gpumon_nvidia_fields[NVIDIA_FIELDS] = {
	[NVIDIA_FIELD_MINOR] = GPUMON_FIELD("nvidia", "nv_linux_state_s", "minor_num", 4),
};

/* GPUs by drvdata. Written without a lock, also in probes. */
static u64 gpu_keys[GPUS + GPUMON_TABLE_WAYS - 1];
static struct gpumon_table gpu_table = {
	.keys = gpu_keys,
	.slots = ARRAY_SIZE(gpu_keys),
	.ways = GPUMON_TABLE_WAYS,
	.homes = GPUS,
};
static struct nvidia_gpu gpus[ARRAY_SIZE(gpu_keys)];

/* Slot of the GPU plus 1, by minor number; 0 for none. */
static u8 gpu_of_minor[MINORS];

/* An event named a GPU that is not known. */
static bool gpu_wanted;

static const struct nvidia_gpu *gpu_at(u32 slot)
{
	/* Pairs with gpu_learn(). */
	return slot < ARRAY_SIZE(gpus) && smp_load_acquire(&gpus[slot].ready) ? &gpus[slot] : NULL;
}

/* GPU of an interrupt handler's argument. An unknown GPU is looked for before long. */
const struct nvidia_gpu *gpumon_nvidia_gpu_of_arg(const void *arg)
{
	u64 key = (unsigned long)arg;
	const struct nvidia_gpu *gpu = NULL;

	if (key)
		gpu = gpu_at(gpumon_table_find(&gpu_table, gpumon_table_home(&gpu_table, key), key,
					       GPUMON_TABLE_WAYS));
	if (unlikely(!gpu))
		WRITE_ONCE(gpu_wanted, true);
	return gpu;
}

/*
 * GPU of a device, which may be any value. Called seldom: by Xids, power transitions, mappings for
 * peers.
 */
const struct nvidia_gpu *gpumon_nvidia_gpu_of_dev(const void *dev)
{
	const struct nvidia_gpu *gpu;
	u32 slot;

	for (slot = 0; slot < ARRAY_SIZE(gpus); slot++) {
		gpu = gpu_at(slot);
		if (gpu && gpu->dev == dev)
			return gpu;
	}
	return NULL;
}

/* GPU of a minor number, NULL if there is none or it is unknown. */
const struct nvidia_gpu *gpumon_nvidia_gpu_of_minor(u32 minor)
{
	const struct nvidia_gpu *gpu;
	u32 slot;

	if (minor >= MINORS)
		return NULL;
	slot = READ_ONCE(gpu_of_minor[minor]);
	gpu = slot ? gpu_at(slot - 1) : NULL;
	if (!gpu && minor < NVIDIA_MINOR_MODESET)
		WRITE_ONCE(gpu_wanted, true);
	return gpu;
}

/* Is a text a bus address? Others, read through a pointer that may be invalid, are not used. */
static bool is_bus_address(const char *name)
{
	for (; *name; name++)
		if (!isxdigit(*name) && *name != ':' && *name != '.')
			return false;
	return true;
}

/* Bus address of a device, which may be any value; GPUMON_DEVICE_UNKNOWN if it cannot be read. */
void gpumon_nvidia_device_name(char name[NVIDIA_NAME_LEN], const struct device *dev)
{
	if (gpumon_device_name(name, dev) && !is_bus_address(name))
		strscpy(name, GPUMON_DEVICE_UNKNOWN, NVIDIA_NAME_LEN);
}

static void gpu_learn(const struct pci_dev *pdev)
{
	char name[NVIDIA_NAME_LEN];
	struct nvidia_gpu *gpu;
	void *arg = NULL;
	u64 minor;
	bool created;
	u32 slot;

	if (!pdev || get_kernel_nofault(arg, &pdev->dev.driver_data) || !arg)
		return;
	gpumon_nvidia_device_name(name, &pdev->dev);
	if (!strcmp(name, GPUMON_DEVICE_UNKNOWN))
		return;
	slot = gpumon_table_claim(&gpu_table, (unsigned long)arg, &created);
	if (slot == GPUMON_NONE)
		return;
	gpu = &gpus[slot];
	if (READ_ONCE(gpu->ready) && gpu->dev == &pdev->dev)
		return;
	WRITE_ONCE(gpu->ready, false);
	strscpy(gpu->name, name, sizeof(gpu->name));
	gpu->hash = gpumon_key_text(gpu->name);
	gpu->dev = &pdev->dev;
	if (!gpumon_field_read(&gpumon_nvidia_fields[NVIDIA_FIELD_MINOR], arg, &minor) ||
	    minor >= MINORS)
		minor = NVIDIA_MINOR_UNKNOWN;
	gpu->minor = minor;
	/* Pairs with gpu_at(). */
	smp_store_release(&gpu->ready, true);
	if (gpu->minor != NVIDIA_MINOR_UNKNOWN)
		WRITE_ONCE(gpu_of_minor[gpu->minor], slot + 1);
}

static void gpu_forget(u32 slot)
{
	struct nvidia_gpu *gpu = &gpus[slot];

	if (!READ_ONCE(gpu->ready))
		return;
	WRITE_ONCE(gpu->ready, false);
	if (gpu->minor != NVIDIA_MINOR_UNKNOWN && gpu_of_minor[gpu->minor] == slot + 1)
		WRITE_ONCE(gpu_of_minor[gpu->minor], 0);
	gpumon_table_release(&gpu_table, slot);
}

/*
 * Is a PCI device bound to the driver? The audio function of a GPU is NVIDIA's too, with another
 * driver, and may go at any time. A GPU that is being bound has its drvdata already, and its minor
 * number not yet.
 */
static bool is_bound(const struct pci_dev *pdev)
{
	const struct device_driver *driver = READ_ONCE(pdev->dev.driver);
	const char *from;
	char name[8];

	return READ_ONCE(pdev->dev.links.status) == DL_DEV_DRIVER_BOUND && driver &&
	       !get_kernel_nofault(from, &driver->name) &&
	       gpumon_read_string_nofault(name, sizeof(name), from) >= 0 && !strcmp(name, "nvidia");
}

/* Learns all GPUs that the driver has now; may sleep. */
void gpumon_nvidia_gpus_look(void)
{
	struct pci_dev *pdev = NULL;

	WRITE_ONCE(gpu_wanted, false);
	while ((pdev = pci_get_device(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID, pdev)))
		if (is_bound(pdev))
			gpu_learn(pdev);
}

/* Forgets all GPUs; no probe of the group runs. */
void gpumon_nvidia_gpus_forget(void)
{
	u32 slot;

	for (slot = 0; slot < ARRAY_SIZE(gpus); slot++)
		gpu_forget(slot);
}

/* Looks for GPUs again if an event named an unknown one. */
void gpumon_nvidia_refresh(void)
{
	if (!READ_ONCE(gpu_wanted))
		return;
	mutex_lock(&gpumon_probe_lock);
	gpumon_nvidia_gpus_look();
	mutex_unlock(&gpumon_probe_lock);
}

/* kretprobe on nv_pci_probe(pci_dev, id): a GPU comes. */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_gpu_probe_returned)
{
	if (!(int)regs_return_value(regs))
		gpu_learn((void *)gpumon_call(instance)->argument[0]);
	gpumon_probe_recorded(ctx);
}

/* kprobe on nv_pci_remove(pci_dev): another GPU may get its drvdata. */
GPUMON_KPROBE_BODY(gpumon_nvidia_gpu_remove_called)
{
	const struct pci_dev *pdev = (void *)gpumon_compat_kernel_argument(regs, 0);
	const struct nvidia_gpu *gpu = gpumon_nvidia_gpu_of_dev(&pdev->dev);

	if (gpu)
		gpu_forget(gpu - gpus);
	gpumon_probe_recorded(ctx);
}
