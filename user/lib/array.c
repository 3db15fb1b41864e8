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

void *gpumon_array_add(void **array, uint32_t *used, uint32_t *room, size_t size)
{
	char *at;

	if (*used == *room) {
		uint32_t more = *room ? *room * 2 : 16;
		void *grown = more > *room ? reallocarray(*array, more, size) : NULL;

		if (!grown)
			return NULL;
		*array = grown;
		*room = more;
	}
	at = (char *)*array + (size_t)(*used)++ * size;
	memset(at, 0, size);
	return at;
}

int gpumon_queue_room(void **array, uint32_t *first, uint32_t used, uint32_t *room, size_t size)
{
	uint32_t end = *first + used;

	if (end < *room)
		return 0;
	/* Seldom enough that moving costs little for each element. */
	if (*first > *room / 8) {
		memmove(*array, (char *)*array + (size_t)*first * size, (size_t)used * size);
		*first = 0;
		return 0;
	}
	return gpumon_array_add(array, &end, room, size) ? 0 : -1;
}

int gpumon_copy_string(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -1 : 0;
}
