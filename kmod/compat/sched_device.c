// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which device belongs to a module, for kernels whose schedulers have no device (sched_device.h). The
 * buses that GPUs are on tell when a driver is bound and unbound. Devices and modules may go while a
 * probe looks: only addresses are compared here, and what comes of it is read like any pointer that
 * may be invalid.
 */
#include <linux/device.h>
#include <linux/device/bus.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#include "sched_device.h"

/* Devices of drivers that are modules: a server has about a hundred. Those beyond are not known. */
#define BOUND_MAX 512

/**
 * struct bound - a device that is bound to a driver
 * @dev: the device, NULL if the entry is free; written last, and cleared first
 * @begin: address of the module that its driver is in
 * @size: size of that module
 */
struct bound {
	const struct device *dev;
	unsigned long begin;
	unsigned long size;
};

static struct bound bound[BOUND_MAX];

/* For writers. */
static DEFINE_MUTEX(bound_lock);

static void bound_remove(const struct device *dev)
{
	struct bound *entry;

	for (entry = bound; entry < bound + BOUND_MAX; entry++)
		if (entry->dev == dev)
			WRITE_ONCE(entry->dev, NULL);
}

static void bound_add(const struct device *dev)
{
	const struct module *owner = dev->driver ? dev->driver->owner : NULL;
	struct bound *entry;

	bound_remove(dev);
	for (entry = bound; owner && entry < bound + BOUND_MAX; entry++) {
		if (entry->dev)
			continue;
		WRITE_ONCE(entry->begin, (unsigned long)owner->core_layout.base);
		WRITE_ONCE(entry->size, owner->core_layout.size);
		/* Pairs with gpumon_compat_sched_device(). */
		smp_store_release(&entry->dev, dev);
		return;
	}
}

/* A driver is bound before its probe function is called, which may already run jobs. */
static int bound_changes(struct notifier_block *unused, unsigned long action, void *data)
{
	mutex_lock(&bound_lock);
	switch (action) {
	case BUS_NOTIFY_BIND_DRIVER:
		bound_add(data);
		break;
	case BUS_NOTIFY_DRIVER_NOT_BOUND:
	case BUS_NOTIFY_UNBOUND_DRIVER:
	case BUS_NOTIFY_DEL_DEVICE:
		bound_remove(data);
		break;
	}
	mutex_unlock(&bound_lock);
	return NOTIFY_DONE;
}

static int bound_already(struct device *dev, void *unused)
{
	/* A driver is not unbound meanwhile. */
	device_lock(dev);
	mutex_lock(&bound_lock);
	bound_add(dev);
	mutex_unlock(&bound_lock);
	device_unlock(dev);
	return 0;
}

static struct {
	struct bus_type *bus;
	struct notifier_block changes;
} buses[] = {
	{ &platform_bus_type, { .notifier_call = bound_changes } },
#ifdef CONFIG_PCI
	{ &pci_bus_type, { .notifier_call = bound_changes } },
#endif
};

static void buses_leave(unsigned int count)
{
	while (count--)
		bus_unregister_notifier(buses[count].bus, &buses[count].changes);
}

/*
 * Follows the devices, before the first scheduler is looked at. May sleep. Returns 0 or a negative
 * error.
 */
int gpumon_compat_sched_devices_start(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(buses); i++) {
		ret = bus_register_notifier(buses[i].bus, &buses[i].changes);
		if (ret) {
			buses_leave(i);
			return ret;
		}
	}
	for (i = 0; i < ARRAY_SIZE(buses); i++)
		bus_for_each_dev(buses[i].bus, NULL, NULL, bound_already);
	return 0;
}

/* No device is looked for any more. May sleep. */
void gpumon_compat_sched_devices_stop(void)
{
	buses_leave(ARRAY_SIZE(buses));
}

/* The only device of the driver with these operations of a scheduler; NULL if it is unknown. */
const struct device *gpumon_compat_sched_device(const void *owner)
{
	const struct device *dev, *found = NULL;
	const struct bound *entry;

	for (entry = bound; entry < bound + BOUND_MAX; entry++) {
		/* Pairs with bound_add(). An entry that changes meanwhile is another device's. */
		dev = smp_load_acquire(&entry->dev);
		if (!dev || (unsigned long)owner - READ_ONCE(entry->begin) >= READ_ONCE(entry->size))
			continue;
		if (found)
			return NULL;
		found = dev;
	}
	return found;
}
