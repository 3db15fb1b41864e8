// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>

#include "fatbin.h"
#include "layout.h"

/* Bytes of a new text with the zeroes behind it: at least one. */
static size_t padded(size_t size)
{
	return (size | 7) + 1;
}

static uint64_t new_size(const struct gpumon_fatbin_image *image,
			 const struct gpumon_fatbin_change *change)
{
	return change->leave_out ? 0 :
	       change->text	 ? image->head_size + padded(change->size) :
				   image->size;
}

static void put_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void put_u64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

/* The head of the image before, for another text that is not packed. */
static int write_text(const struct gpumon_fatbin_image *image,
		      const struct gpumon_fatbin_change *change, FILE *out)
{
	static const uint8_t zeroes[8];
	uint8_t *head = malloc(image->head_size);

	if (!head)
		return -1;
	memcpy(head, image->entry, image->head_size);
	put_u64(head + GPUMON_FATBIN_PAYLOAD, padded(change->size));
	put_u32(head + GPUMON_FATBIN_PACKED, 0);
	put_u64(head + GPUMON_FATBIN_FLAGS,
		gpumon_fatbin_u64(head + GPUMON_FATBIN_FLAGS) & ~GPUMON_FATBIN_FLAG_PACKED);
	put_u64(head + GPUMON_FATBIN_UNPACKED, 0);
	fwrite(head, 1, image->head_size, out);
	fwrite(change->text, 1, change->size, out);
	fwrite(zeroes, 1, padded(change->size) - change->size, out);
	free(head);
	return 0;
}

int gpumon_fatbin_write(const struct gpumon_fatbin *fatbin,
			const struct gpumon_fatbin_change *changes, FILE *out,
			struct gpumon_error *err)
{
	uint8_t head[GPUMON_FATBIN_HEAD];
	uint64_t bytes = 0;

	for (size_t i = 0; i < fatbin->images_n; i++)
		bytes += new_size(&fatbin->images[i], &changes[i]);
	memcpy(head, fatbin->data, sizeof(head));
	put_u64(head + GPUMON_FATBIN_HEAD_BYTES, bytes);
	fwrite(head, 1, sizeof(head), out);
	for (size_t i = 0; i < fatbin->images_n; i++) {
		const struct gpumon_fatbin_image *image = &fatbin->images[i];

		if (changes[i].leave_out)
			continue;
		if (!changes[i].text)
			fwrite(image->entry, 1, image->size, out);
		else if (write_text(image, &changes[i], out))
			return gpumon_error_memory(err);
	}
	if (fflush(out) || ferror(out))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"the changed fat binary cannot be written: %s",
					strerror(errno));
	return 0;
}
