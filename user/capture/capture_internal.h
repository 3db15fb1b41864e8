/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the writer and the reader of captures. */
#ifndef GPUMON_CAPTURE_CAPTURE_INTERNAL_H
#define GPUMON_CAPTURE_CAPTURE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "capture.h"

/* Maximum size of capture.json, and of the name of a file. */
#define GPUMON_CAPTURE_INFO_MAX (4u << 20)
#define GPUMON_CAPTURE_NAME_MAX 200

/* Set the result of gpumon_capture_error(). Always returns -1. */
int gpumon_capture_fail(int sys, enum gpumon_error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Letters, digits, '-', '_', and '.' except at the beginning: the name cannot leave the directory.
 */
bool gpumon_capture_name_good(const char *name);

/* CRC-32 of a chunk's head, with its own crc as 0, and of the records. */
uint32_t gpumon_chunk_crc(const struct gpumon_chunk *chunk, const void *records);

/**
 * gpumon_chunk_fill - make a chunk
 * @chunk: with tid and sequence; the rest is set
 * @part: out, two of them: the head and what follows it
 * @records: whole records
 * @size: bytes of them
 * @room: NULL, or GPUMON_PACK_GROWTH * @size bytes for the records packed, which are used if they
 *        are shorter
 */
void gpumon_chunk_fill(struct gpumon_chunk *chunk, struct iovec *part, const void *records,
		       size_t size, void *room);

/**
 * gpumon_capture_append_chunk - write a chunk that was made for another file
 * @file: file
 * @chunk: head; its sequence and crc are set
 * @data: what follows it
 *
 * Return: 0, or a negative errno: then it is not written.
 */
int gpumon_capture_append_chunk(struct gpumon_capture_file *file, struct gpumon_chunk *chunk,
				const void *data);

/* Set both times of the beginning, for the capture.json that gpumon_capture_close() writes. */
void gpumon_capture_set_created(struct gpumon_capture_writer *writer, uint64_t created_ns,
				uint64_t created_monotonic_ns);

/* The name of the perf map beside a process's file. */
void gpumon_capture_map_name(const char *file, char *name, size_t room);

/* A file's entry in the capture.json of a closed capture. */
struct gpumon_capture_file_info {
	char *name;
	uint64_t chunks;
	uint64_t bytes;
};

/* Content of capture.json. */
struct gpumon_capture_contents {
	struct gpumon_capture_info info;
	struct gpumon_capture_file_info *files;
	uint32_t n_files;
};

/*
 * gpumon_capture_info_write - write capture.json atomically
 * Return: 0, or a negative errno.
 */
int gpumon_capture_info_write(int directory, const struct gpumon_capture_contents *contents);

/*
 * gpumon_capture_info_read - read capture.json
 * Return: 0; -ENOENT: no file; -EPROTO: not valid; -ENOTSUP: a newer version, which is then in
 * @contents; -EMEDIUMTYPE: other JSON; or another negative errno. @contents is always valid, with
 * unknown fields empty; free it.
 */
int gpumon_capture_info_read(int directory, struct gpumon_capture_contents *contents);
void gpumon_capture_info_free(struct gpumon_capture_contents *contents);

/* Add to each time of a record that is known. */
void gpumon_record_shift(struct gpumon_record *record, uint64_t by_ns);

#endif /* GPUMON_CAPTURE_CAPTURE_INTERNAL_H */
