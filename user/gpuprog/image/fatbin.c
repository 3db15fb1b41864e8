// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "gpuprog/ptx/statement.h"
#include "fatbin.h"

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
#define GPUMON_FATBIN_FLAG_LZ4	    0x2000ull
#define GPUMON_FATBIN_FLAG_ZSTD	    0x8000ull
#define GPUMON_FATBIN_FLAG_PACKED   (GPUMON_FATBIN_FLAG_LZ4 | GPUMON_FATBIN_FLAG_ZSTD)
#define GPUMON_FATBIN_FLAG_SPECIFIC 0x100000ull

static inline uint64_t gpumon_fatbin_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

#define GPUMON_FATBIN_REFUSE(err, ...)                                     \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED, \
			 "fat binary: " __VA_ARGS__)

/* Matches have at least this many bytes. */
#define MATCH_LEAST 4

/* A length of 15 goes on in further bytes, up to one that is not 255. */
static bool read_length(const uint8_t **from, const uint8_t *end, size_t *length)
{
	uint8_t more;

	if (*length != 15)
		return true;
	do {
		if (*from == end)
			return false;
		more = *(*from)++;
		*length += more;
	} while (more == 255);
	return true;
}

/* Source and target may overlap: then the bytes repeat. */
static void copy_match(uint8_t *to, size_t distance, size_t length)
{
	const uint8_t *from = to - distance;

	while (length > distance) {
		memcpy(to, from, distance);
		to += distance;
		length -= distance;
		distance *= 2;
	}
	memcpy(to, from, length);
}

size_t gpumon_lz4_unpack(const uint8_t *from, size_t from_size, uint8_t *to, size_t to_size,
			 bool *whole)
{
	const uint8_t *from_end = from + from_size;
	uint8_t *begin = to, *to_end = to + to_size;

	*whole = false;
	while (from < from_end) {
		uint8_t token = *from++;
		size_t literals = token >> 4, match = token & 15, distance, room;

		if (!read_length(&from, from_end, &literals) ||
		    literals > (size_t)(from_end - from))
			break;
		room = (size_t)(to_end - to);
		memcpy(to, from, literals < room ? literals : room);
		if (literals > room)
			return to_size;
		from += literals;
		to += literals;
		/* The last sequence has no match. */
		if (from == from_end) {
			*whole = true;
			break;
		}
		if (from_end - from < 2)
			break;
		distance = (size_t)from[0] | (size_t)from[1] << 8;
		from += 2;
		if (!read_length(&from, from_end, &match))
			break;
		match += MATCH_LEAST;
		if (!distance || distance > (size_t)(to - begin))
			break;
		room = (size_t)(to_end - to);
		copy_match(to, distance, match < room ? match : room);
		if (match > room)
			return to_size;
		to += match;
	}
	return (size_t)(to - begin);
}

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

/* .version is the first statement of a text. */
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
	/* The file says how much: that is no reason to end. */
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
static void write_text(const struct gpumon_fatbin_image *image,
		       const struct gpumon_fatbin_change *change, FILE *out)
{
	static const uint8_t zeroes[8];
	uint8_t *head = gpumon_malloc(image->head_size);

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
		else
			write_text(image, &changes[i], out);
	}
	if (fflush(out) || ferror(out))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"the changed fat binary cannot be written: %s",
					strerror(errno));
	return 0;
}
