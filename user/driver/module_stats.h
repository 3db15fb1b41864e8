/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the module's file in debugfs says, which needs no netlink. */
#ifndef GPUMON_DRIVER_MODULE_STATS_H
#define GPUMON_DRIVER_MODULE_STATS_H

#define GPUMON_MODULE_STATS "/sys/kernel/debug/gpumon/stats"

/**
 * gpumon_module_left_out() - what the loaded module was built without
 * @root: prefix of /sys
 *
 * Only its file in debugfs says so, which root can read.
 *
 * Return: parts and groups with commas between them, such as "netlink,events,nvidia", or "", to be freed;
 * NULL if the file cannot be read.
 */
char *gpumon_module_left_out(const char *root);

#endif /* GPUMON_DRIVER_MODULE_STATS_H */
