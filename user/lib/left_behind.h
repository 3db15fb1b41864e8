/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Processes that a program left running when it ended. */
#ifndef GPUMON_LIB_LEFT_BEHIND_H
#define GPUMON_LIB_LEFT_BEHIND_H

#include <sys/types.h>

/**
 * gpumon_left_behind - count the processes that have a variable in their environment
 * @root: prefix of /proc, normally ""
 * @variable: "NAME=value", unique to this program
 * @first: set to one of them, if there are any
 *
 * Does not count the caller, nor processes whose environment cannot be read.
 *
 * Return: the number of processes.
 */
unsigned int gpumon_left_behind(const char *root, const char *variable, pid_t *first);

#endif /* GPUMON_LIB_LEFT_BEHIND_H */
