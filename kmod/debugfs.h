/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_DEBUGFS_H
#define GPUMON_DEBUGFS_H

void gpumon_debugfs_init(void);
void gpumon_debugfs_exit(void);

#endif /* GPUMON_DEBUGFS_H */
