/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * perf-PID.map: what a runtime (Java, node, CPython's trampolines, ...) says of
 * the code that it made: a line "START SIZE NAME" for each piece, in hex.
 */
#ifndef GPUMON_PERF_MAP_H
#define GPUMON_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gpumon_perf_map;

/* NULL without memory. The file is read when it is asked for. */
struct gpumon_perf_map *gpumon_perf_map_new(const char *path);

/**
 * gpumon_perf_map_find - the name of an address
 * @map: map
 * @address: address
 * @length: set to the bytes of the name
 *
 * A file that grew since is read again, at most once a second. Where pieces
 * overlap the line further down holds: code is made over where old one was.
 *
 * Return: name, without an end, good until the next call; NULL if there is none.
 */
const char *gpumon_perf_map_find(struct gpumon_perf_map *map, uint64_t address, size_t *length);

/**
 * gpumon_perf_map_problem - what was wrong with the file
 * @map: map
 *
 * Return: a sentence, NULL if nothing was; a file that is not there is nothing wrong.
 */
const char *gpumon_perf_map_problem(const struct gpumon_perf_map *map);

/**
 * gpumon_perf_map_open - the file of a live process
 * @root: of the process, as gpumon_symbols_new()
 * @pid: in its own pid namespace: what it calls its file by
 * @owner: whose the file has to be, root's is good, too; NULL: anybody's
 *
 * Nothing leads out of @root, and links there are not followed.
 *
 * Return: a descriptor; -ENOENT where there is none, -EPERM where it is somebody else's, or another
 * -errno.
 */
int gpumon_perf_map_open(const char *root, unsigned int pid, const uid_t *owner);

/**
 * gpumon_perf_map_write - copy what is understood of such a file
 * @from: descriptor, read from its begin
 * @make: makes the copy, once there is something to go into it: a descriptor, or -1 with errno
 * @data: for @make
 *
 * Only lines that are understood are copied: who may write to /tmp could else have us copy
 * what only we may read.
 *
 * Return: 1 if there is a copy, 0 if there is nothing, -errno, with what got onto a full disk kept;
 * -EFBIG: the file is longer than 256 MiB, what is behind that is left out.
 */
int gpumon_perf_map_write(int from, int (*make)(void *data), void *data);

/**
 * gpumon_perf_map_copy - keep what a runtime said for later
 * @root: of the process, as gpumon_symbols_new()
 * @pid: in its own pid namespace: what it calls its file by
 * @to: path of the copy; there is none where there is nothing to copy
 *
 * Return: as gpumon_perf_map_write().
 */
int gpumon_perf_map_copy(const char *root, unsigned int pid, const char *to);

void gpumon_perf_map_free(struct gpumon_perf_map *map);

#endif /* GPUMON_PERF_MAP_H */
