// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <zstd.h>

#include "fatbin.h"
#include "layout.h"
#include "lz4.h"
#include "gpuprog/ptx/lex.h"

/* ".version 65535.65535\n" */
#define VERSION_ROOM 24

static int unpack_zstd(const struct gpumon_fatbin_image *image, uint8_t *to,
		       struct gpumon_error *err)
{
	size_t size =
		ZSTD_decompress(to, image->unpacked_size, image->payload, image->payload_size);

	if (ZSTD_isError(size))
		return GPUMON_FATBIN_REFUSE(err, "its zstd data is damaged: %s",
					    ZSTD_getErrorName(size));
	if (size != image->unpacked_size)
		return GPUMON_FATBIN_REFUSE(err, "an image of %zu bytes instead of %zu", size,
					    image->unpacked_size);
	return 0;
}

static int unpack_to(const struct gpumon_fatbin_image *image, uint8_t *to, struct gpumon_error *err)
{
	bool whole;

	switch (image->packing) {
	case GPUMON_FATBIN_PLAIN:
		memcpy(to, image->payload, image->payload_size);
		return 0;
	case GPUMON_FATBIN_LZ4:
		if (gpumon_lz4_unpack(image->payload, image->payload_size, to, image->unpacked_size,
				      &whole) == image->unpacked_size &&
		    whole)
			return 0;
		return GPUMON_FATBIN_REFUSE(err, "its LZ4 data is damaged");
	case GPUMON_FATBIN_ZSTD:
		return unpack_zstd(image, to, err);
	default:
		return GPUMON_FATBIN_REFUSE(err, "an image is packed in an unknown way");
	}
}

static size_t unpack_zstd_begin(const struct gpumon_fatbin_image *image, uint8_t *to, size_t room)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer from = { image->payload, image->payload_size, 0 };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t result = 1, before;

	/* 0: the end. Without progress the data is cut off. */
	while (context && result && out.pos < out.size) {
		before = from.pos + out.pos;
		result = ZSTD_decompressStream(context, &out, &from);
		if (ZSTD_isError(result) || from.pos + out.pos == before)
			break;
	}
	ZSTD_freeDCtx(context);
	return out.pos;
}

size_t gpumon_fatbin_unpack_begin(const struct gpumon_fatbin_image *image, uint8_t *to, size_t room)
{
	bool whole;

	if (room > image->unpacked_size)
		room = image->unpacked_size;
	switch (image->packing) {
	case GPUMON_FATBIN_PLAIN:
		memcpy(to, image->payload, room);
		return room;
	case GPUMON_FATBIN_LZ4:
		return gpumon_lz4_unpack(image->payload, image->payload_size, to, room, &whole);
	case GPUMON_FATBIN_ZSTD:
		return unpack_zstd_begin(image, to, room);
	default:
		return 0;
	}
}

/* It is the first that a text has, after comments. */
static bool has_version(const char *text, size_t size)
{
	struct gpumon_ptx_lexer lexer = { .at = text, .end = text + size };
	struct gpumon_error err;

	return !gpumon_ptx_next(&lexer, &err) && gpumon_ptx_is_word(&lexer, ".version");
}

int gpumon_fatbin_unpack(const struct gpumon_fatbin_image *image, uint8_t **data, size_t *size,
			 struct gpumon_error *err)
{
	char version[VERSION_ROOM] = "";
	uint8_t *to;
	size_t n;

	*data = NULL;
	*size = 0;
	if (image->unpacked_size > GPUMON_FATBIN_MAX_IMAGE)
		return GPUMON_FATBIN_REFUSE(err, "an image of %zu bytes: %u is the most",
					    image->unpacked_size, GPUMON_FATBIN_MAX_IMAGE);
	to = malloc(image->unpacked_size + VERSION_ROOM + 1);
	if (!to)
		return gpumon_error_memory(err);
	if (unpack_to(image, to, err)) {
		free(to);
		return -1;
	}
	*data = to;
	*size = image->unpacked_size;
	to[*size] = 0;
	if (image->kind != GPUMON_FATBIN_PTX)
		return 0;
	*size = strlen((char *)to);
	if (has_version((char *)to, *size))
		return 0;
	n = (size_t)snprintf(version, sizeof(version), ".version %u.%u\n", image->major,
			     image->minor);
	memmove(to + n, to, *size + 1);
	memcpy(to, version, n);
	*size += n;
	return 0;
}
