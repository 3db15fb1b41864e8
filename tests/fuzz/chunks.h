/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_FUZZ_CHUNKS_H
#define GPUMON_FUZZ_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

/**
 * fuzz_right_chunks() - put the CRCs of chunks right, so that what is behind them is reached
 * @data: bytes of two files of a capture
 * @size: their number
 *
 * Return: where the second file begins: behind a chunk near the middle, so that it too
 * begins with one; the middle where there is none.
 */
size_t fuzz_right_chunks(uint8_t *data, size_t size);

#endif /* GPUMON_FUZZ_CHUNKS_H */
