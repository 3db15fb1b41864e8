/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Random numbers that are the same for the same seed. */
#ifndef GPUMON_TESTS_PROBE_DICE_H
#define GPUMON_TESTS_PROBE_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* GPUMON_SEED, or one from the clock. It is printed, so that a run can be repeated. */
uint64_t dice_seed(void);
struct dice dice_make(uint64_t seed);

uint64_t dice_any(struct dice *dice);
/* 0 to @n - 1. */
uint32_t dice_below(struct dice *dice, uint32_t n);
/* Once in @n times. */
bool dice_once_in(struct dice *dice, uint32_t n);
/* A number as programs have them: small ones, powers of two and their neighbours, any others. */
uint64_t dice_number(struct dice *dice);

#endif /* GPUMON_TESTS_PROBE_DICE_H */
