/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_READ_FILE_H
#define GPUMON_READ_FILE_H

#include <linux/types.h>

ssize_t gpumon_read_file(const char *path, void *to, size_t size);
ssize_t gpumon_read_whole_file(const char *path, void **data, size_t most);

#endif /* GPUMON_READ_FILE_H */
