/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_BASE_READ_AT_H
#define GPUMON_BASE_READ_AT_H

#include <stdint.h>
#include <sys/types.h>

/* Read @size bytes, or as many as there are to the end of the file. Returns how many, or -1 with errno. */
ssize_t gpumon_read_at(int fd, void *to, size_t size, uint64_t at);

#endif /* GPUMON_BASE_READ_AT_H */
