/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * perf-PID.map: the runtime's (Java, node, CPython's trampolines, ...) list of generated code, with
 * a line "START SIZE NAME" in hex for each function.
 */
#ifndef GPUMON_CAPTURE_PERF_MAP_H
#define GPUMON_CAPTURE_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gpumon_perf_map;

/* NULL without memory. The file is read on first use. */
struct gpumon_perf_map *gpumon_perf_map_new(const char *path);

/**
 * gpumon_perf_map_find - find the name of an address
 * @map: map
 * @address: address
 * @length: set to the length of the name
 *
 * A file that has grown is read again, at most once a second. If ranges overlap, the later line
 * counts, since new code replaces old code.
 *
 * Return: the name, not NUL-terminated, valid until the next call; NULL if there is none.
 */
const char *gpumon_perf_map_find(struct gpumon_perf_map *map, uint64_t address, size_t *length);

/**
 * gpumon_perf_map_open - open the file of a live process
 * @root: root of the process, as for gpumon_symbols_new()
 * @pid: pid in its own pid namespace, as in the file name
 * @owner: required owner, besides root; NULL: any owner
 *
 * Nothing leads out of @root, and links are not followed.
 *
 * Return: a descriptor; -ENOENT if there is none, -EPERM if it has another owner, or another
 * negative errno.
 */
int gpumon_perf_map_open(const char *root, unsigned int pid, const uid_t *owner);

/**
 * gpumon_perf_map_write - copy the valid lines of such a file
 * @from: descriptor, read from its beginning; its position stays
 * @make: creates the copy once there is a valid line: a descriptor, or -1 with errno
 * @data: passed to @make
 *
 * Only valid lines are copied. Otherwise a user with access to /tmp could make us copy files that
 * only we can read.
 *
 * Return: 1 if there is a copy, 0 if there was nothing to copy, or a negative errno, with a partial
 * copy left on a full disk. -EFBIG: the file is longer than 256 MiB, and the rest was left out.
 */
int gpumon_perf_map_write(int from, int (*make)(void *data), void *data);

void gpumon_perf_map_free(struct gpumon_perf_map *map);

#endif /* GPUMON_CAPTURE_PERF_MAP_H */
