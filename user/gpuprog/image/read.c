// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "lib/array.h"
#include "fatbin.h"
#include "layout.h"

enum gpumon_fatbin_form gpumon_fatbin_form(const void *data)
{
	const uint8_t *at = data;

	if (!memcmp(at, "\177ELF", 4))
		return GPUMON_FATBIN_ELF_FILE;
	if (gpumon_fatbin_u32(at) == GPUMON_FATBIN_MAGIC)
		return GPUMON_FATBIN_CONTAINER;
	for (int i = 0; i < 4; i++)
		if ((at[i] < ' ' && !strchr("\t\n\r", at[i])) || at[i] > '~')
			return GPUMON_FATBIN_UNKNOWN;
	return GPUMON_FATBIN_TEXT;
}

uint64_t gpumon_fatbin_container_size(const void *data)
{
	const uint8_t *at = data;
	uint64_t bytes = gpumon_fatbin_u64(at + GPUMON_FATBIN_HEAD_BYTES);

	if (gpumon_fatbin_u32(at) != GPUMON_FATBIN_MAGIC || gpumon_fatbin_u16(at + 4) != 1 ||
	    gpumon_fatbin_u16(at + 6) != GPUMON_FATBIN_HEAD ||
	    bytes > UINT64_MAX - GPUMON_FATBIN_HEAD)
		return 0;
	return GPUMON_FATBIN_HEAD + bytes;
}

/* Sizes of the payload, packed and unpacked. */
static int read_payload(struct gpumon_fatbin_image *image, uint64_t stored,
			struct gpumon_error *err)
{
	const uint8_t *head = image->entry;
	uint64_t flags = gpumon_fatbin_u64(head + GPUMON_FATBIN_FLAGS);
	uint32_t packed = gpumon_fatbin_u32(head + GPUMON_FATBIN_PACKED);
	uint64_t unpacked = gpumon_fatbin_u64(head + GPUMON_FATBIN_UNPACKED);

	image->specific = flags & GPUMON_FATBIN_FLAG_SPECIFIC;
	image->payload = head + image->head_size;
	image->payload_size = (size_t)stored;
	image->unpacked_size = (size_t)stored;
	if (!packed)
		return 0;
	image->packing = (flags & GPUMON_FATBIN_FLAG_PACKED) == GPUMON_FATBIN_FLAG_LZ4 ?
				 GPUMON_FATBIN_LZ4 :
			 (flags & GPUMON_FATBIN_FLAG_PACKED) == GPUMON_FATBIN_FLAG_ZSTD ?
				 GPUMON_FATBIN_ZSTD :
				 GPUMON_FATBIN_OTHER;
	if (packed > stored)
		return GPUMON_FATBIN_REFUSE(err, "an image of %u packed bytes in %llu", packed,
					    (unsigned long long)stored);
	image->payload_size = packed;
	image->unpacked_size = unpacked < SIZE_MAX ? (size_t)unpacked : SIZE_MAX;
	return 0;
}

static int read_image(struct gpumon_fatbin *fatbin, size_t offset, struct gpumon_error *err)
{
	const uint8_t *head = fatbin->data + offset;
	size_t left = fatbin->size - offset;
	struct gpumon_fatbin_image *image;
	uint64_t stored;

	if (left < GPUMON_FATBIN_ENTRY_LEAST)
		return GPUMON_FATBIN_REFUSE(err, "%zu bytes at %zu are no image", left, offset);
	image = GPUMON_GROW(fatbin->images, fatbin->images_n);
	if (!image)
		return gpumon_error_memory(err);
	image->entry = head;
	image->kind = gpumon_fatbin_u16(head + GPUMON_FATBIN_KIND);
	image->head_size = gpumon_fatbin_u32(head + GPUMON_FATBIN_ENTRY_HEAD);
	image->major = gpumon_fatbin_u16(head + GPUMON_FATBIN_MAJOR);
	image->minor = gpumon_fatbin_u16(head + GPUMON_FATBIN_MINOR);
	image->sm = gpumon_fatbin_u32(head + GPUMON_FATBIN_SM);
	stored = gpumon_fatbin_u64(head + GPUMON_FATBIN_PAYLOAD);
	if (image->head_size < GPUMON_FATBIN_ENTRY_LEAST || image->head_size > left ||
	    stored > left - image->head_size)
		return GPUMON_FATBIN_REFUSE(err, "the image at %zu needs %zu + %llu bytes of %zu",
					    offset, image->head_size, (unsigned long long)stored,
					    left);
	image->size = image->head_size + (size_t)stored;
	return read_payload(image, stored, err);
}

int gpumon_fatbin_open(const void *data, size_t size, struct gpumon_fatbin *fatbin,
		       struct gpumon_error *err)
{
	uint64_t bytes = size < GPUMON_FATBIN_HEAD ? 0 : gpumon_fatbin_container_size(data);

	memset(fatbin, 0, sizeof(*fatbin));
	if (!bytes)
		return GPUMON_FATBIN_REFUSE(err, "this is none, or one of an unknown version");
	if (bytes > size)
		return GPUMON_FATBIN_REFUSE(err, "it is cut off: %zu of %llu bytes are there", size,
					    (unsigned long long)bytes);
	fatbin->data = data;
	fatbin->size = (size_t)bytes;
	for (size_t at = GPUMON_FATBIN_HEAD; at < fatbin->size;
	     at += fatbin->images[fatbin->images_n - 1].size) {
		if (read_image(fatbin, at, err)) {
			gpumon_fatbin_close(fatbin);
			return -1;
		}
	}
	return 0;
}

void gpumon_fatbin_close(struct gpumon_fatbin *fatbin)
{
	free(fatbin->images);
	memset(fatbin, 0, sizeof(*fatbin));
}
