// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Makes bytes look like files of a capture. */
#include <string.h>

#include "capture/capture_internal.h"
#include "chunks.h"

size_t fuzz_right_chunks(uint8_t *data, size_t size)
{
	size_t half = size / 2;

	for (size_t at = 0; at + sizeof(struct gpumon_chunk) <= size;) {
		struct gpumon_chunk chunk;

		memcpy(&chunk, data + at, sizeof(chunk));
		if (chunk.magic != GPUMON_CHUNK_MAGIC || chunk.size > size - at - sizeof(chunk)) {
			at++;
			continue;
		}
		if (at + sizeof(chunk) + chunk.size <= size / 2 + 64)
			half = at + sizeof(chunk) + chunk.size;
		chunk.crc = gpumon_chunk_crc(&chunk, data + at + sizeof(chunk));
		memcpy(data + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + chunk.size;
	}
	return half;
}
