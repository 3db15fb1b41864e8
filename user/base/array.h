/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Arrays that become longer, and copies of strings. */
#ifndef GPUMON_BASE_ARRAY_H
#define GPUMON_BASE_ARRAY_H

#include <stddef.h>

/* Make an array longer by one zeroed element; returns that, NULL without memory. */
void *gpumon_grow(void **array, size_t *n, size_t size);

#define GPUMON_GROW(array, n) gpumon_grow((void **)&(array), &(n), sizeof(*(array)))

/* NULL stays NULL; only a failed allocation is a failure. */
int gpumon_copy_string(char **to, const char *from);

#endif /* GPUMON_BASE_ARRAY_H */
