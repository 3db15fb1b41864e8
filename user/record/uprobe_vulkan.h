/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The functions that a Vulkan program calls without passing the loader. */
#ifndef GPUMON_RECORD_UPROBE_VULKAN_H
#define GPUMON_RECORD_UPROBE_VULKAN_H

#include "uprobe_process.h"

/**
 * gpumon_uprobe_vulkan_devices - find the functions of a process's Vulkan devices
 * @process: process; the functions become sites of their files, which are open afterwards
 * @kinds: leave out functions that are of none of these, GPUMON_FUNCTION_*
 *
 * vkGetDeviceProcAddr() returns addresses in the driver, or in a layer, so such a program does not
 * call the loader's functions. But the loader keeps the same addresses in a table for each device,
 * which begins with a known number: this function searches the memory of the process for it.
 *
 * Return: number of devices found, or a negative errno: -ENOENT without the loader.
 */
int gpumon_uprobe_vulkan_devices(struct gpumon_uprobe_process *process, unsigned int kinds);

#endif /* GPUMON_RECORD_UPROBE_VULKAN_H */
