/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Finds the library that sleeps in a process until somebody wants to record it. */
#ifndef GPUMON_RECORD_DORMANT_H
#define GPUMON_RECORD_DORMANT_H

#include <sys/types.h>

#include "base/error.h"

/**
 * gpumon_dormant_connect - connect to the library in a process
 * @root: prefix of /proc
 * @pid: process, in this pid namespace
 * @socket: set to a socket that does not block
 * @err: why not
 *
 * Return: 0; 1 where the process has no such library, with @err; -1 on failure: no such
 * process, another user's, or somebody else records it.
 */
int gpumon_dormant_connect(const char *root, pid_t pid, int *socket, struct gpumon_error *err);

#endif /* GPUMON_RECORD_DORMANT_H */
