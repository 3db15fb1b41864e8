// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dice.h"

uint64_t dice_seed(void)
{
	const char *given = getenv("GPUMON_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	printf("# GPUMON_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

struct dice dice_make(uint64_t seed)
{
	return (struct dice){ .state = seed * 0x9e3779b97f4a7c15ull + 1 };
}

/* A counter whose bits are mixed by two rounds of multiplication. */
uint64_t dice_any(struct dice *dice)
{
	uint64_t x = dice->state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 29) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

uint32_t dice_below(struct dice *dice, uint32_t n)
{
	return (uint32_t)(dice_any(dice) >> 32) % n;
}

bool dice_once_in(struct dice *dice, uint32_t n)
{
	return !dice_below(dice, n);
}

uint64_t dice_number(struct dice *dice)
{
	switch (dice_below(dice, 6)) {
	case 0:
		return dice_below(dice, 10);
	case 1:
		return dice_below(dice, 300);
	case 2:
		return (1ull << dice_below(dice, 64)) + dice_below(dice, 3) - 1;
	case 3:
		return -(uint64_t)dice_below(dice, 100);
	case 4:
		return (uint32_t)dice_any(dice);
	default:
		return dice_any(dice);
	}
}
