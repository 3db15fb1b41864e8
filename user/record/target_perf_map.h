/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_TARGET_PERF_MAP_H
#define GPUMON_RECORD_TARGET_PERF_MAP_H

#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "lib/error.h"

/*
 * /tmp/perf-PID.map of a process. It is copied into the capture, since addresses of generated code
 * mean nothing once the process is gone.
 */

/**
 * struct gpumon_runtime_map - where to find the map
 * @root: root directory of the process, stays open after its end; -1 without permission
 * @file: the map, or -1 until there is one
 * @pid: pid in the process's own pid namespace
 * @owner: owner of the process
 * @next_ns: when to look again
 */
struct gpumon_runtime_map {
	int root;
	int file;
	unsigned int pid;
	uid_t owner;
	uint64_t next_ns;
};

/* Start with a live process; @root is a prefix of /proc. */
void gpumon_runtime_map_begin(struct gpumon_runtime_map *map, const char *root, pid_t pid);

/* Look for the map, at most once a second: a container's /tmp goes with its last process. */
void gpumon_runtime_map_look(struct gpumon_runtime_map *map);

/* Copy the map of a live process, as it is now, into a capture in @directory. */
void gpumon_runtime_map_copy(const struct gpumon_runtime_map *map,
			     const struct gpumon_capture_file *file, int directory);

/**
 * gpumon_runtime_map_end - copy the map into the capture, if there is one
 * @map: map
 * @file: file of the process, not ended yet; NULL: copy nothing
 * @pid: pid for messages
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_runtime_map_end(struct gpumon_runtime_map *map, struct gpumon_capture_file *file,
			   pid_t pid, struct gpumon_error *err);

#endif /* GPUMON_RECORD_TARGET_PERF_MAP_H */
