/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs in kernels by patches of their machine code: NVIDIA's sanitizer instead of CUPTI. */
#ifndef GPUMON_INJECT_PROBE_SASS_H
#define GPUMON_INJECT_PROBE_SASS_H

#include <stdbool.h>

/**
 * inject_probe_sass_begin - subscribe to the sanitizer
 * @why: out: why not; valid until the next call
 *
 * The sanitizer and CUPTI exclude each other in a process.
 *
 * Return: false where that is not possible.
 */
bool inject_probe_sass_begin(const char **why);

#endif /* GPUMON_INJECT_PROBE_SASS_H */
