/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Finds a dormant library in a process, which waits for a recorder. */
#ifndef GPUMON_RECORD_DORMANT_H
#define GPUMON_RECORD_DORMANT_H

#include <sys/types.h>

#include "lib/error.h"

/**
 * gpumon_dormant_connect - connect to the library in a process
 * @root: prefix of /proc
 * @pid: process, in this pid namespace
 * @socket: set to a non-blocking socket
 * @err: out
 *
 * Return: 0; 1 with @err if the process has no such library; -1 with @err if there is no such
 * process, it is another user's, or it is already being recorded.
 */
int gpumon_dormant_connect(const char *root, pid_t pid, int *socket, struct gpumon_error *err);

#endif /* GPUMON_RECORD_DORMANT_H */
