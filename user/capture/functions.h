/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Names of API functions, which have many variants: cudaLaunchKernel is cudaLaunchKernel_ptsz in a
 * program built for per-thread streams, cudaLaunchKernel_v7000 in CUPTI, and __cudaLaunchKernel in
 * nvcc 13.
 */
#ifndef GPUMON_CAPTURE_FUNCTIONS_H
#define GPUMON_CAPTURE_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/map.h"

/* Longer names are not API functions. */
#define GPUMON_FUNCTION_MAX 96

/**
 * gpumon_function_base - find the common name of all variants
 * @name: name of a function
 * @length: in: its length; out: length of the result
 *
 * Return: beginning of the result in @name.
 */
const char *gpumon_function_base(const char *name, size_t *length);

/* Identifies equal functions in the strings of many processes. A zeroed table is empty. */
struct gpumon_functions {
	struct gpumon_map by_name; /* from the hash of a text to its number */
	char (*names)[GPUMON_FUNCTION_MAX];
	uint32_t used;
	uint32_t room;
};

/**
 * gpumon_functions_number - get the number of a function
 * @functions: table
 * @name: text, any variant
 * @length: its length
 *
 * Return: a number from 1 on, the same for all variants; 0 for other texts; -1 without memory.
 */
int64_t gpumon_functions_number(struct gpumon_functions *functions, const char *name,
				size_t length);
void gpumon_functions_clear(struct gpumon_functions *functions);

#endif /* GPUMON_CAPTURE_FUNCTIONS_H */
