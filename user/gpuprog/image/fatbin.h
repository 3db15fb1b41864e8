/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Reads and writes CUDA's fat binaries: containers with the same program as PTX and as SASS for
 * several architectures. Nothing in them is trusted: each size is compared with what is there.
 */
#ifndef GPUMON_GPUPROG_IMAGE_FATBIN_H
#define GPUMON_GPUPROG_IMAGE_FATBIN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/error.h"

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
#define GPUMON_FATBIN_ENTRY_LEAST 0x40

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

#define GPUMON_FATBIN_MAX_IMAGE (512u << 20) /* bytes of an unpacked image */

/* Forms of the data of a module that a program gives to CUDA. */
enum gpumon_fatbin_form {
	GPUMON_FATBIN_UNKNOWN,
	GPUMON_FATBIN_TEXT,	 /* perhaps PTX */
	GPUMON_FATBIN_ELF_FILE,	 /* a cubin */
	GPUMON_FATBIN_CONTAINER, /* of images */
};

enum gpumon_fatbin_kind {
	GPUMON_FATBIN_PTX = 1,
	GPUMON_FATBIN_ELF = 2,
	/* Other entries, such as PTX that the driver is still to compile, stay as they are. */
};

enum gpumon_fatbin_packing {
	GPUMON_FATBIN_PLAIN,
	GPUMON_FATBIN_LZ4,
	GPUMON_FATBIN_ZSTD,
	GPUMON_FATBIN_OTHER, /* cannot be unpacked */
};

/**
 * struct gpumon_fatbin_image - one image
 * @entry: its head and payload
 * @head_size: bytes of the head
 * @size: bytes of @entry
 * @kind: enum gpumon_fatbin_kind or another number
 * @major: version of PTX; of the cubin
 * @minor: the same
 * @sm: architecture: 90
 * @specific: only for this architecture, as sm_90a
 * @packing: how the payload is packed
 * @payload: what is stored
 * @payload_size: its bytes; of one that is not packed with zeroes at its end
 * @unpacked_size: bytes of the image
 */
struct gpumon_fatbin_image {
	const uint8_t *entry;
	size_t head_size;
	size_t size;
	uint32_t kind;
	uint32_t major;
	uint32_t minor;
	uint32_t sm;
	bool specific;
	enum gpumon_fatbin_packing packing;
	const uint8_t *payload;
	size_t payload_size;
	size_t unpacked_size;
};

/**
 * struct gpumon_fatbin - a container
 * @data: all of it
 * @size: bytes
 * @images: in their order
 * @images_n: how many
 */
struct gpumon_fatbin {
	const uint8_t *data;
	size_t size;
	struct gpumon_fatbin_image *images;
	size_t images_n;
};

/* The form of data of at least 16 bytes, by its beginning. */
enum gpumon_fatbin_form gpumon_fatbin_form(const void *data);

/* Bytes of a container by its first 16 bytes, or 0 if it is none. */
uint64_t gpumon_fatbin_container_size(const void *data);

/**
 * gpumon_fatbin_open - find the images of a container
 * @data: begins with the container; it stays until gpumon_fatbin_close()
 * @size: bytes of @data, which may be more than those of the container
 * @fatbin: out, to be closed if it is returned
 * @err: what is wrong with it
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_fatbin_open(const void *data, size_t size, struct gpumon_fatbin *fatbin,
		       struct gpumon_error *err);
void gpumon_fatbin_close(struct gpumon_fatbin *fatbin);

/**
 * gpumon_fatbin_unpack - get an image as it was before it was packed
 * @image: image
 * @data: out, to be freed; a text has a NUL behind it
 * @size: out, bytes of @data
 * @err: why it cannot be unpacked
 *
 * A PTX text that lacks its .version, as fatbinary cuts it off, gets it back.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_fatbin_unpack(const struct gpumon_fatbin_image *image, uint8_t **data, size_t *size,
			 struct gpumon_error *err);

/**
 * gpumon_fatbin_unpack_begin - get the beginning of an image, which is much faster than all of it
 * @image: image
 * @to: out
 * @room: bytes at most
 *
 * Return: how many bytes there are; less than @room if the image is shorter, or damaged there, or cannot
 * be unpacked.
 */
size_t gpumon_fatbin_unpack_begin(const struct gpumon_fatbin_image *image, uint8_t *to,
				  size_t room);

/**
 * gpumon_fatbin_elf_kernels - find the kernels of a cubin
 * @data: cubin
 * @size: bytes
 * @each: called for each kernel; another value than 0 ends the search
 * @context: for @each
 *
 * Return: 0, or what @each returned. What cannot be read has no kernels.
 */
int gpumon_fatbin_elf_kernels(const void *data, size_t size,
			      int (*each)(void *context, const char *name), void *context);

/* Whether a cubin has a symbol of this name, other than as a reference. */
bool gpumon_fatbin_elf_defines(const void *data, size_t size, const char *name);

/**
 * struct gpumon_fatbin_change - what becomes of an image
 * @leave_out: it is not written
 * @text: PTX that replaces the image, or NULL: it stays
 * @size: bytes of @text, without a NUL
 */
struct gpumon_fatbin_change {
	bool leave_out;
	const char *text;
	size_t size;
};

/**
 * gpumon_fatbin_write - write a container with changes
 * @fatbin: an open container
 * @changes: one for each image
 * @out: stream
 * @err: why it cannot be written
 *
 * A new text is not packed, and keeps the options of the one before. Images without a change are
 * written byte for byte.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_fatbin_write(const struct gpumon_fatbin *fatbin,
			const struct gpumon_fatbin_change *changes, FILE *out,
			struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_IMAGE_FATBIN_H */
