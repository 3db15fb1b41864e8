/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the GPUs of this machine are called, beside the PCI addresses that tables have. Names come
 * from the driver, or from the list of PCI ids where it is installed. Nothing is guessed: what
 * nothing says is left out.
 */
#ifndef GPUMON_DRIVER_DEVICE_H
#define GPUMON_DRIVER_DEVICE_H

#include "model.h"

struct gpumon_devices;

/* @root: prefix of /sys, /proc and /usr: "", or a test's own tree; must outlive the cache. */
struct gpumon_devices *gpumon_devices_new(const char *root);
void gpumon_devices_free(struct gpumon_devices *devices);

/**
 * gpumon_devices_resolve() - fill in the devices of a reading
 * @devices: cache; NULL: there are none
 * @model: a reading
 *
 * These are the PCI functions that are displays or processing accelerators, and those that NVIDIA's
 * driver has. A function is looked at once, as long as it stays.
 */
void gpumon_devices_resolve(struct gpumon_devices *devices, struct gpumon_model *model);

/* The device with this address, or NULL. */
const struct gpumon_device *gpumon_model_device(const struct gpumon_model *model,
						const char *address);

#endif /* GPUMON_DRIVER_DEVICE_H */
