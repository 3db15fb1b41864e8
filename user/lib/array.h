/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Growing arrays and copied strings. Without memory the program ends: memory.h. */
#ifndef GPUMON_LIB_ARRAY_H
#define GPUMON_LIB_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Extend an array by one zeroed element and return it. @n may have fallen since. */
void *gpumon_grow(void **array, size_t *n, size_t size) __attribute__((returns_nonnull));

#define GPUMON_GROW(array, n) gpumon_grow((void **)&(array), &(n), sizeof(*(array)))

/* Append one zeroed element and count it. */
void *gpumon_array_add(void **array, uint32_t *used, uint32_t *room, size_t size)
	__attribute__((returns_nonnull));
#define GPUMON_ARRAY_ADD(array, used, room) \
	gpumon_array_add((void **)&(array), &(used), &(room), sizeof(*(array)))

/**
 * gpumon_queue_room - have room for one more element in an array with a moving beginning
 * @array: array
 * @first: where its elements begin; changes when they are moved to the beginning
 * @used: number of elements
 * @room: elements that it has room for
 * @size: bytes of an element
 */
void gpumon_queue_room(void **array, uint32_t *first, uint32_t used, uint32_t *room, size_t size);
#define GPUMON_QUEUE_ROOM(array, first, used, room) \
	gpumon_queue_room((void **)&(array), &(first), used, &(room), sizeof(*(array)))

#endif /* GPUMON_LIB_ARRAY_H */
