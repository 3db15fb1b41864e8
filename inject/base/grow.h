/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_GROW_H
#define GPUMON_INJECT_GROW_H

#include <stdbool.h>
#include <stddef.h>

/**
 * inject_grow - room in an array, by inject_memory_take(): malloc() is the program's
 * @array: array, may move; NULL as long as it has no room
 * @room: elements that it has room for, doubled as often as necessary
 * @needed: elements that there must be room for
 * @size: bytes of an element
 *
 * Return: false without memory; the array is as it was then.
 */
bool inject_grow(void **array, size_t *room, size_t needed, size_t size);

#endif /* GPUMON_INJECT_GROW_H */
