/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is where in a container. All numbers are little-endian. */
#ifndef GPUMON_GPUPROG_IMAGE_LAYOUT_H
#define GPUMON_GPUPROG_IMAGE_LAYOUT_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "lib/error.h"

#define GPUMON_FATBIN_MAGIC 0xba55ed50u

/* A container: u32 magic, u16 version, u16 size of this head, u64 bytes of all entries. */
#define GPUMON_FATBIN_HEAD	 16
#define GPUMON_FATBIN_HEAD_BYTES 8

/* An entry: its head, then its payload, both multiples of 8 bytes. */
#define GPUMON_FATBIN_KIND	    0x00 /* u16 */
#define GPUMON_FATBIN_ENTRY_HEAD    0x04 /* u32 */
#define GPUMON_FATBIN_PAYLOAD	    0x08 /* u64 */
#define GPUMON_FATBIN_PACKED	    0x10 /* u32, 0: not packed */
#define GPUMON_FATBIN_MINOR	    0x18 /* u16 */
#define GPUMON_FATBIN_MAJOR	    0x1a /* u16 */
#define GPUMON_FATBIN_SM	    0x1c /* u32 */
#define GPUMON_FATBIN_FLAGS	    0x28 /* u64 */
#define GPUMON_FATBIN_UNPACKED	    0x38 /* u64 */
#define GPUMON_FATBIN_ENTRY_LEAST   0x40
#define GPUMON_FATBIN_FLAG_LZ4	    0x2000ull
#define GPUMON_FATBIN_FLAG_ZSTD	    0x8000ull
#define GPUMON_FATBIN_FLAG_PACKED   (GPUMON_FATBIN_FLAG_LZ4 | GPUMON_FATBIN_FLAG_ZSTD)
#define GPUMON_FATBIN_FLAG_SPECIFIC 0x100000ull

static inline uint16_t gpumon_fatbin_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t gpumon_fatbin_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t gpumon_fatbin_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

#define GPUMON_FATBIN_REFUSE(err, ...)                                     \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED, \
			 "fat binary: " __VA_ARGS__)

#endif /* GPUMON_GPUPROG_IMAGE_LAYOUT_H */
