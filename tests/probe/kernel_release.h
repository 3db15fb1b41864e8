/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_TESTS_PROBE_KERNEL_RELEASE_H
#define GPUMON_TESTS_PROBE_KERNEL_RELEASE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

/* Whether the kernel that runs is older than this release. */
static inline bool kernel_is_before(unsigned int major, unsigned int minor)
{
	struct utsname name;
	unsigned int is_major, is_minor;

	if (uname(&name) || sscanf(name.release, "%u.%u", &is_major, &is_minor) != 2)
		return false;
	return is_major < major || (is_major == major && is_minor < minor);
}

#endif /* GPUMON_TESTS_PROBE_KERNEL_RELEASE_H */
