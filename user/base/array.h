/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Growing arrays and copied strings. */
#ifndef GPUMON_BASE_ARRAY_H
#define GPUMON_BASE_ARRAY_H

#include <stddef.h>

/* Extend an array by one zeroed element and return it, or NULL without memory. */
void *gpumon_grow(void **array, size_t *n, size_t size);

#define GPUMON_GROW(array, n) gpumon_grow((void **)&(array), &(n), sizeof(*(array)))

/* NULL stays NULL. Only a failed allocation is an error. */
int gpumon_copy_string(char **to, const char *from);

#endif /* GPUMON_BASE_ARRAY_H */
