/* SPDX-License-Identifier: GPL-2.0-only */
/* The files in debugfs, and how numbers are written there. */
#ifndef GPUMON_DEBUGFS_H
#define GPUMON_DEBUGFS_H

#include <linux/types.h>

struct gpumon_row_view;
struct seq_file;

void gpumon_debugfs_init(void);
void gpumon_debugfs_exit(void);

void gpumon_debugfs_show_name(struct seq_file *m, const char *name);
void gpumon_debugfs_show_u64(struct seq_file *m, u64 value, bool known);
void gpumon_debugfs_show_statistics(struct seq_file *m, struct gpumon_row_view *view);
int gpumon_debugfs_show_histograms(struct seq_file *m);

#endif /* GPUMON_DEBUGFS_H */
