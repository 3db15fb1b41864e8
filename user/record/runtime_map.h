/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * /tmp/perf-PID.map of a process: kept beside its records, since addresses of code that was
 * made at run time are nobody's as soon as the process is gone.
 */
#ifndef GPUMON_RECORD_RUNTIME_MAP_H
#define GPUMON_RECORD_RUNTIME_MAP_H

#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "base/error.h"

/**
 * struct gpumon_runtime_map - where it would be
 * @root: directory that is the process's root, also when it has ended; -1 where we may not look
 * @file: the map, once there is one; -1
 * @pid: in the process's own pid namespace
 * @owner: of the process
 * @next_ns: when to look again
 */
struct gpumon_runtime_map {
	int root;
	int file;
	unsigned int pid;
	uid_t owner;
	uint64_t next_ns;
};

/* Remember where a live process looks for it; @root is a prefix of /proc. */
void gpumon_runtime_map_begin(struct gpumon_runtime_map *map, const char *root, pid_t pid);

/* Called often, does something once a second: a container's /tmp goes with its last process. */
void gpumon_runtime_map_look(struct gpumon_runtime_map *map);

/**
 * gpumon_runtime_map_end - copy it into the capture, if there is one
 * @map: begun
 * @file: of the process, not ended yet; NULL: nothing is copied
 * @pid: as a person knows it
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_runtime_map_end(struct gpumon_runtime_map *map, struct gpumon_capture_file *file,
			   pid_t pid, struct gpumon_error *err);

#endif /* GPUMON_RECORD_RUNTIME_MAP_H */
