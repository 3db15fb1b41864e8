/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Unpacks a block of LZ4, without the frame that files have around blocks. */
#ifndef GPUMON_GPUPROG_IMAGE_LZ4_H
#define GPUMON_GPUPROG_IMAGE_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * gpumon_lz4_unpack - unpack a block, or the beginning of one
 * @from: block
 * @from_size: its bytes
 * @to: out
 * @to_size: bytes at most
 * @whole: out: the block ends with the last of them
 *
 * Return: how many bytes there are; less than @to_size if the block ends before, or is damaged there.
 */
size_t gpumon_lz4_unpack(const uint8_t *from, size_t from_size, uint8_t *to, size_t to_size,
			 bool *whole);

#endif /* GPUMON_GPUPROG_IMAGE_LZ4_H */
