/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Names of API functions. One function has many: the header's cudaLaunchKernel is
 * cudaLaunchKernel_ptsz in a program built for per-thread streams,
 * cudaLaunchKernel_v7000 to CUPTI, and __cudaLaunchKernel to nvcc 13.
 */
#ifndef GPUMON_CORRELATE_FUNCTIONS_H
#define GPUMON_CORRELATE_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Longer names are no API functions. */
#define GPUMON_FUNCTION_MAX 96

/**
 * gpumon_function_base - the name that all variants have in common
 * @name: name of a function
 * @length: of it; set to that of the result
 *
 * Return: where in @name the result begins.
 */
const char *gpumon_function_base(const char *name, size_t *length);

/* Which functions are the same, for strings of many processes. All zero is an empty one. */
struct gpumon_functions {
	struct gpumon_map by_name; /* hash of the text to its number */
	char (*names)[GPUMON_FUNCTION_MAX];
	uint32_t used;
	uint32_t room;
};

/**
 * gpumon_functions_number - a number for a function
 * @functions: known ones
 * @name: text, any variant
 * @length: of it
 *
 * Return: the same for all variants, from 1 on; 0 if it is none; -1 without memory.
 */
int64_t gpumon_functions_number(struct gpumon_functions *functions, const char *name,
				size_t length);
void gpumon_functions_clear(struct gpumon_functions *functions);

#endif /* GPUMON_CORRELATE_FUNCTIONS_H */
