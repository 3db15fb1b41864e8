/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys of tables, from texts and numbers. */
#ifndef GPUMON_KEY_H
#define GPUMON_KEY_H

#include <linux/hash.h>
#include <linux/types.h>

/* FNV-1a hash of a text, for gpumon_key_mix(). */
static inline u64 gpumon_key_text(const char *text)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (*text)
		hash = (hash ^ (u8)*text++) * 0x100000001b3ULL;
	return hash;
}

/* Key of a row that has two numbers; neither 0 nor GPUMON_TABLE_RECYCLING. */
static __always_inline u64 gpumon_key_mix(u64 one, u64 other)
{
	/* Small numbers differ in their low bits, which the result does not have. */
	return (((one * GOLDEN_RATIO_64 + other) * GOLDEN_RATIO_64) >> 1) | 1;
}

/*
 * Hash of a key; its highest bits are the number of the key's home slot. Keys may be the addresses
 * of objects of one size. They lie at a stride, and products of such numbers crowd in some places: so
 * half of the bits are mixed with the others in between.
 */
static __always_inline u32 gpumon_key_spread(u64 key)
{
	key *= GOLDEN_RATIO_64;
	return (key ^ key >> 32) * GOLDEN_RATIO_64 >> 32;
}

#endif /* GPUMON_KEY_H */
