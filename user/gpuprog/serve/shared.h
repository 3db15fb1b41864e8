/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Memory that is shared with processes under probe: they may write it, but not take it away. */
#ifndef GPUMON_GPUPROG_SERVE_SHARED_H
#define GPUMON_GPUPROG_SERVE_SHARED_H

#include <stddef.h>

/**
 * gpumon_probe_shared_make - shared memory of a fixed size
 * @name: for people
 * @bytes: size
 * @memory: out: it, zeroed, to be unmapped
 *
 * Return: a descriptor for the other side, to be closed; -1.
 */
int gpumon_probe_shared_make(const char *name, size_t bytes, void **memory);

/**
 * gpumon_probe_shared_read - read what a process has sent
 * @fd: memfd of the process, or -1
 * @size: bytes that it says are in there
 *
 * A copy: the process may write its memory, or make it shorter, at any time.
 *
 * Return: @size bytes, to be freed; NULL: fewer are there, or no memory.
 */
void *gpumon_probe_shared_read(int fd, size_t size);

#endif /* GPUMON_GPUPROG_SERVE_SHARED_H */
