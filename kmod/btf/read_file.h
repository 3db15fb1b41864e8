/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_READ_FILE_H
#define GPUMON_READ_FILE_H

#include <linux/types.h>

struct file;

struct file *gpumon_file_open(const char *path);
size_t gpumon_file_size(const struct file *file);
ssize_t gpumon_file_read(struct file *file, void *to, size_t size, loff_t at);
void gpumon_file_close(struct file *file);
ssize_t gpumon_read_file(const char *path, void *to, size_t size);

#endif /* GPUMON_READ_FILE_H */
