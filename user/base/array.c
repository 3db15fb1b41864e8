// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "array.h"

void *gpumon_grow(void **array, size_t *n, size_t size)
{
	void *bigger;

	/* The capacity is always the next power of two, so it needs no field of its own. */
	if ((*n & (*n - 1)) == 0) {
		size_t capacity = *n ? *n * 2 : 1;

		bigger = reallocarray(*array, capacity, size);
		if (!bigger)
			return NULL;
		*array = bigger;
	}
	bigger = (char *)*array + *n * size;
	memset(bigger, 0, size);
	(*n)++;
	return bigger;
}

int gpumon_copy_string(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -1 : 0;
}
