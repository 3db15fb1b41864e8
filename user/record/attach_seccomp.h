/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_ATTACH_SECCOMP_H
#define GPUMON_RECORD_ATTACH_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach_remote.h"

/* What a process has forbidden itself by seccomp, read from its filters. */

/**
 * gpumon_seccomp_run - what a filter says of a system call
 * @filter: its instructions
 * @count: of them
 * @data: the call
 * @result: out: SECCOMP_RET_*
 *
 * Return: false for a filter that the kernel would not have taken.
 */
bool gpumon_seccomp_run(const struct sock_filter *filter, size_t count,
			const struct seccomp_data *data, uint32_t *result);

/**
 * gpumon_seccomp_allows - does a thread's sandbox allow what bringing the library in needs?
 * @remote: stopped thread
 * @why: out: why not, or why that is not known
 * @room: of @why
 */
bool gpumon_seccomp_allows(const struct gpumon_remote *remote, char *why, size_t room);

#endif /* GPUMON_RECORD_ATTACH_SECCOMP_H */
