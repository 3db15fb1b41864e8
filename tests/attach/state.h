/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef TEST_ATTACH_STATE_H
#define TEST_ATTACH_STATE_H

/*
 * Fill all registers and the red zone, count for a while, and compare.
 * @rounds: to count
 * @wide: 0: SSE, 1: AVX, 2: AVX-512
 * Returns 0, or the number of what has changed.
 */
long state_check(unsigned long rounds, long wide);

/* What a number is. */
const char *state_name(long number);

#endif /* TEST_ATTACH_STATE_H */
