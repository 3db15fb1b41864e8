/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which kernels are meant by patterns. */
#ifndef GPUMON_PROBE_WANTED_H
#define GPUMON_PROBE_WANTED_H

#include <stdbool.h>

/**
 * struct gpumon_probe_name - a kernel's names
 * @mangled: as in the image
 * @demangled: with its parameters; the same as @mangled where there is no other
 * @plain: @demangled without its parameters
 */
struct gpumon_probe_name {
	const char *mangled;
	char *demangled;
	char *plain;
};

/* Return: 0, or -1 without memory. To be cleared in both cases. */
int gpumon_probe_name_init(struct gpumon_probe_name *name, const char *mangled);
void gpumon_probe_name_clear(struct gpumon_probe_name *name);

/* Whether a pattern (* and ?) is one of the names. */
bool gpumon_probe_name_is(const struct gpumon_probe_name *name, const char *pattern);

/* The same for patterns with commas in between, "": all names. Commas within parentheses do not part. */
bool gpumon_probe_name_is_listed(const struct gpumon_probe_name *name, const char *list);

#endif /* GPUMON_PROBE_WANTED_H */
