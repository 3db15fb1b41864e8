/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Brings the injection library into a process that runs and was not prepared. A thread of the process is
 * stopped for some hundred microseconds, in which it makes another one. That one opens the library, which then
 * listens for a recorder as it does where CUDA has loaded it (dormant.h).
 */
#ifndef GPUMON_RECORD_ATTACH_H
#define GPUMON_RECORD_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"

/**
 * struct gpumon_attach - bringing it into one process, by a child that ptrace binds to it
 * @pid: process
 * @child: -1: there is none
 * @result: readable when the child has a result
 * @until_ns: so long it may take
 */
struct gpumon_attach {
	pid_t pid;
	pid_t child;
	int result;
	uint64_t until_ns;
};

/**
 * gpumon_attach_begin - begin, without waiting
 * @attach: out
 * @root: prefix of /proc
 * @pid: process, which has no library
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_attach_begin(struct gpumon_attach *attach, const char *root, pid_t pid,
			struct gpumon_error *err);

/**
 * gpumon_attach_end - take the result
 * @attach: begun
 * @wait: wait for it, at most until @attach->until_ns
 * @err: out
 *
 * Return: 0 if the library listens; 1 if there is no result yet; -1 with @err: GPUMON_EXIT_IMPOSSIBLE if it
 * cannot be brought into this process, as it is now.
 */
int gpumon_attach_end(struct gpumon_attach *attach, bool wait, struct gpumon_error *err);

#endif /* GPUMON_RECORD_ATTACH_H */
