/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_ATTACH_LIBRARY_H
#define GPUMON_RECORD_ATTACH_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "attach_remote.h"
#include "attach_target.h"

/* The library's file, as the process sees it, and the thread in it that opens that. */

/**
 * gpumon_attach_sees - does a process have the same file at the same path?
 * @root: prefix of /proc
 * @pid: process
 * @path: of the library here
 *
 * Otherwise it is in another mount namespace, or has another root: it gets a copy in memory.
 */
bool gpumon_attach_sees(const char *root, pid_t pid, const char *path);

/**
 * gpumon_attach_arguments - what the thread in the process gets
 * @target: process
 * @memory: address of the memory for it
 * @path: of the library
 * @in_memory: open a copy of it that is filled from here
 * @arguments: out
 */
void gpumon_attach_arguments(const struct gpumon_attach_target *target, uint64_t memory,
			     const char *path, bool in_memory,
			     struct gpumon_remote_arguments *arguments);

/**
 * gpumon_attach_talk - answer the thread in the process until the library is in, or cannot be
 * @target: process
 * @arguments: address of what the thread got
 * @path: of the library here
 * @err: out
 *
 * Return: 0; 1 with @err if the loader did not take the file; -1 with @err otherwise.
 */
int gpumon_attach_talk(const struct gpumon_attach_target *target, uint64_t arguments,
		       const char *path, struct gpumon_error *err);

#endif /* GPUMON_RECORD_ATTACH_LIBRARY_H */
