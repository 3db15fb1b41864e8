/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_MODULE_FILE_H
#define GPUMON_LIB_MODULE_FILE_H

#include <stddef.h>

/* The bytes of a kernel module, to be freed. NULL: it cannot be read, or not unpacked. */
char *gpumon_module_file_read(const char *path, size_t *size);

#endif /* GPUMON_LIB_MODULE_FILE_H */
