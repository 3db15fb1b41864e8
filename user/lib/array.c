// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "array.h"
#include "memory.h"

void *gpumon_grow(void **array, size_t *n, size_t size)
{
	void *bigger;

	/* The capacity is always the next power of two, so it needs no field of its own. */
	if ((*n & (*n - 1)) == 0) {
		size_t capacity = *n ? *n * 2 : 1;

		*array = gpumon_reallocarray(*array, capacity, size);
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

		/* A number of 32 bits counts no more of them. */
		if (more < *room)
			gpumon_memory_failed(SIZE_MAX);
		*array = gpumon_reallocarray(*array, more, size);
		*room = more;
	}
	at = (char *)*array + (size_t)(*used)++ * size;
	memset(at, 0, size);
	return at;
}

void gpumon_queue_room(void **array, uint32_t *first, uint32_t used, uint32_t *room, size_t size)
{
	uint32_t end = *first + used;

	if (end < *room)
		return;
	/* Seldom enough that moving costs little for each element. */
	if (*first > *room / 8) {
		memmove(*array, (char *)*array + (size_t)*first * size, (size_t)used * size);
		*first = 0;
		return;
	}
	gpumon_array_add(array, &end, room, size);
}
