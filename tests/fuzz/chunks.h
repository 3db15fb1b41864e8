/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_FUZZ_CHUNKS_H
#define GPUMON_FUZZ_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

/**
 * fuzz_right_chunks() - correct the CRCs of chunks, so that their records are reached
 * @data: bytes of two files of a capture
 * @size: their number
 *
 * Return: the beginning of the second file: after a chunk near the middle, so that it begins with
 * one, too; the middle if there is none.
 */
size_t fuzz_right_chunks(uint8_t *data, size_t size);

#endif /* GPUMON_FUZZ_CHUNKS_H */
