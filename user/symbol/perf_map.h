/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * perf-PID.map: what a runtime (Java, node, CPython's trampolines, ...) says of
 * the code that it made: a line "START SIZE NAME" for each piece, in hex.
 */
#ifndef GPUMON_PERF_MAP_H
#define GPUMON_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

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
 * gpumon_perf_map_copy - keep what a runtime said for later
 * @root: of the process, as gpumon_symbols_new()
 * @pid: in its own pid namespace: what it calls its file by
 * @to: path of the copy; there is none where there is nothing to copy
 *
 * Only lines that are understood are copied: who may write to /tmp could else have us copy
 * what only we may read.
 *
 * Return: 1 if there is a copy, 0 if there is nothing, -errno, with what got onto a full disk kept.
 */
int gpumon_perf_map_copy(const char *root, unsigned int pid, const char *to);

void gpumon_perf_map_free(struct gpumon_perf_map *map);

#endif /* GPUMON_PERF_MAP_H */
