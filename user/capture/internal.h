/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the writer and the reader of captures share. */
#ifndef GPUMON_CAPTURE_INTERNAL_H
#define GPUMON_CAPTURE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"

/* The longest capture.json that is read, and the longest name of a file. */
#define GPUMON_CAPTURE_INFO_MAX (4u << 20)
#define GPUMON_CAPTURE_NAME_MAX 200

/* Fills what gpumon_capture_error() returns; always -1. */
int gpumon_capture_fail(int sys, enum gpumon_error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Letters, digits, '-', '_', '.' not at the beginning: no way out of the directory. */
bool gpumon_capture_name_good(const char *name);

/* CRC-32 of a chunk's head, as if its own were 0, and of the records. */
uint32_t gpumon_chunk_crc(const struct gpumon_chunk *chunk, const void *records);

/* Of a file, as capture.json has it of a capture that was closed. */
struct gpumon_capture_file_info {
	char *name;
	uint64_t chunks;
	uint64_t bytes;
};

/* All of capture.json. */
struct gpumon_capture_contents {
	struct gpumon_capture_info info;
	struct gpumon_capture_file_info *files;
	uint32_t n_files;
};

/*
 * gpumon_capture_info_write - write capture.json at once, or leave the one that is there
 * Return: 0, or a negative errno.
 */
int gpumon_capture_info_write(int directory, const struct gpumon_capture_contents *contents);

/*
 * gpumon_capture_info_read - read capture.json
 * Return: 0; -ENOENT: none; -EPROTO: cannot be read as such; -ENOTSUP: of a later version, which
 * is then in @contents; -EMEDIUMTYPE: JSON of something else; or another negative errno. @contents
 * is always whole, with what is not known empty; free it.
 */
int gpumon_capture_info_read(int directory, struct gpumon_capture_contents *contents);
void gpumon_capture_info_free(struct gpumon_capture_contents *contents);

#endif /* GPUMON_CAPTURE_INTERNAL_H */
