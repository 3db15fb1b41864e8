/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads one file of a capture, chunk after chunk, and skips damage. */
#ifndef GPUMON_CAPTURE_READER_H
#define GPUMON_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"

/**
 * struct gpumon_reader_file - a file and the reader's position
 * @name: name without suffix
 * @process: number of the process
 * @fd: -1 while it is not open
 * @unreadable: abandoned, and counted once
 * @at_end: there is nothing more at the moment
 * @offset: offset of the next chunk
 * @stop: offset of the first chunk that is not read any more
 * @sequence: expected number of the next chunk
 * @skipped: broken chunks since the last good one
 * @debt: bytes whose CRC was computed in vain
 * @tail: bytes at the end that are not (yet) a chunk
 * @tail_size: size of the file when @tail was found
 * @searched: no chunk begins between @offset and here
 */
struct gpumon_reader_file {
	char *name;
	uint32_t process;
	int fd;
	bool unreadable;
	bool at_end;
	uint64_t offset;
	uint64_t stop;
	uint64_t sequence;
	uint64_t skipped;
	uint64_t debt;
	uint64_t tail;
	uint64_t tail_size;
	uint64_t searched;
};

/* Aligned room for the longest chunk, and for the search for one. */
struct gpumon_reader_buffer {
	struct gpumon_chunk chunk;
	size_t size; /* of @records */
	unsigned char records[GPUMON_CHUNK_SIZE_MAX] __attribute__((aligned(8)));
	unsigned char packed[GPUMON_CHUNK_SIZE_MAX];
	unsigned char window[1 << 16];
};

/**
 * gpumon_reader_file_next - read the next whole chunk
 * @file: file with an open @fd
 * @buffer: out
 * @damage: skipped parts are added
 *
 * Return: whether there is one; otherwise @at_end is set.
 */
bool gpumon_reader_file_next(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
			     struct gpumon_capture_damage *damage);

/**
 * gpumon_reader_file_version - read the version in a file's first chunk
 * @file: file with an open @fd, stays unchanged
 * @buffer: scratch buffer
 *
 * Return: the version; 0 if there is no chunk at the beginning, or an incomplete one of another
 * version.
 */
uint32_t gpumon_reader_file_version(const struct gpumon_reader_file *file,
				    struct gpumon_reader_buffer *buffer);

/* Start again from its beginning. */
void gpumon_reader_file_rewind(struct gpumon_reader_file *file);

/* Add missing chunks, without overflow for invented numbers. */
void gpumon_reader_missing(struct gpumon_capture_damage *damage, uint64_t chunks);

#endif /* GPUMON_CAPTURE_READER_H */
