/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Processes that a program left running when it ended. */
#ifndef GPUMON_PROCESS_LEFT_BEHIND_H
#define GPUMON_PROCESS_LEFT_BEHIND_H

#include <sys/types.h>

/**
 * gpumon_left_behind - processes that were started with a variable in their environment
 * @root: prefix of /proc, "" here
 * @variable: "NAME=value", that no other program has
 * @first: set to one of them, where there is one
 *
 * The caller itself does not count, nor do processes that cannot be looked into.
 *
 * Return: how many there are.
 */
unsigned int gpumon_left_behind(const char *root, const char *variable, pid_t *first);

#endif /* GPUMON_PROCESS_LEFT_BEHIND_H */
