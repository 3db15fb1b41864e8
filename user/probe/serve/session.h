/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Runs a program with programs in its GPU kernels. */
#ifndef GPUMON_PROBE_SESSION_H
#define GPUMON_PROBE_SESSION_H

#include "server.h"

/**
 * gpumon_probe_session_run - run a program until it has ended
 * @server: open
 * @argv: the program, ends with NULL
 * @status: out: its exit status, as a shell has it
 * @err: why it could not be started
 *
 * Processes that it leaves running are waited for, too; Ctrl-C ends the wait.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_session_run(struct gpumon_probe_server *server, char *const *argv, int *status,
			     struct gpumon_error *err);

#endif /* GPUMON_PROBE_SESSION_H */
