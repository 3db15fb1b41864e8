/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How alike two names are, for a hint at the one that was meant. */
#ifndef GPUMON_GPUPROG_IMAGE_NEAR_H
#define GPUMON_GPUPROG_IMAGE_NEAR_H

#include <stddef.h>

#define GPUMON_NEAR_LETTERS 64 /* of a name that is compared */
#define GPUMON_NEAR_CHANGES 3  /* in a name that is near */

/**
 * gpumon_near - count the letters to change, add or leave out to get from one name to the other
 * @one: name
 * @n: letters of it
 * @other: the other name
 * @m: letters of it
 *
 * Return: the number; GPUMON_NEAR_CHANGES + 1 if there are more, or a name is longer than
 * GPUMON_NEAR_LETTERS.
 */
unsigned int gpumon_near(const char *one, size_t n, const char *other, size_t m);

#endif /* GPUMON_GPUPROG_IMAGE_NEAR_H */
