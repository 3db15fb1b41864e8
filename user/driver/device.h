/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What this machine's files say about its GPUs: what they are called, beside the PCI addresses that
 * tables have, and the policy of the scheduler that they share. Names come from the driver, or from the
 * list of PCI ids where it is installed. Nothing is guessed: what nothing says is left out.
 */
#ifndef GPUMON_DRIVER_DEVICE_H
#define GPUMON_DRIVER_DEVICE_H

#include "model.h"

struct gpumon_devices;

/* @root: prefix of /sys, /proc and /usr: "", or a test's own tree; must outlive the cache. */
struct gpumon_devices *gpumon_devices_new(const char *root);
void gpumon_devices_free(struct gpumon_devices *devices);

/**
 * gpumon_devices_resolve() - fill in the devices of a reading, and the scheduler's policy
 * @devices: cache; NULL: there are none
 * @model: a reading
 *
 * These are the PCI functions that are displays or processing accelerators, and those that NVIDIA's
 * driver has. A function is looked at once, as long as it stays.
 */
void gpumon_devices_resolve(struct gpumon_devices *devices, struct gpumon_model *model);

#endif /* GPUMON_DRIVER_DEVICE_H */
