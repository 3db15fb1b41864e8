/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Replaces the module's core/nofault.h for kmod/btf/. */
#ifndef GPUMON_FUZZ_SHIM_NOFAULT_H
#define GPUMON_FUZZ_SHIM_NOFAULT_H

#define GPUMON_NOFAULT_H

#include <linux/types.h>

static inline bool gpumon_read_nofault(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return true;
}

#endif /* GPUMON_FUZZ_SHIM_NOFAULT_H */
