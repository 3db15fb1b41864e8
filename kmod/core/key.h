/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys of tables, from texts and numbers. */
#ifndef GPUMON_KEY_H
#define GPUMON_KEY_H

#include <linux/hash.h>
#include <linux/types.h>

/**
 * gpumon_key_text - a text as a number
 * @text: text
 *
 * Return: its FNV-1a hash, to be made a key of with gpumon_key_mix().
 */
static inline u64 gpumon_key_text(const char *text)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (*text)
		hash = (hash ^ (u8)*text++) * 0x100000001b3ULL;
	return hash;
}

/**
 * gpumon_key_mix - key of a row
 * @one: what it is known by
 * @other: and what else
 *
 * Return: never 0, nor GPUMON_TABLE_RECYCLING.
 */
static __always_inline u64 gpumon_key_mix(u64 one, u64 other)
{
	/* Small numbers differ in their low bits, which the result does not have. */
	return (((one * GOLDEN_RATIO_64 + other) * GOLDEN_RATIO_64) >> 1) | 1;
}

#endif /* GPUMON_KEY_H */
