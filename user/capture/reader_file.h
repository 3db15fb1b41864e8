/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* One file of a capture: chunk after chunk, past what is damaged. */
#ifndef GPUMON_CAPTURE_READER_FILE_H
#define GPUMON_CAPTURE_READER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"

/**
 * struct gpumon_reader_file - a file and how far it was read
 * @name: without suffix
 * @process: its number
 * @fd: -1 while it is not open
 * @unreadable: given up, counted once
 * @at_end: nothing more is there now
 * @offset: of the next chunk
 * @sequence: what the next chunk should have
 * @skipped: broken chunks since the last good one
 * @debt: bytes of which a CRC was computed in vain
 * @tail: bytes at the end that are no chunk, or not yet one
 * @tail_size: size of the file when that was found
 * @searched: no chunk begins between @offset and here
 */
struct gpumon_reader_file {
	char *name;
	uint32_t process;
	int fd;
	bool unreadable;
	bool at_end;
	uint64_t offset;
	uint64_t sequence;
	uint64_t skipped;
	uint64_t debt;
	uint64_t tail;
	uint64_t tail_size;
	uint64_t searched;
};

/* Room for the longest chunk, aligned, and for the search of one. */
struct gpumon_reader_buffer {
	struct gpumon_chunk chunk;
	unsigned char records[GPUMON_CHUNK_SIZE_MAX] __attribute__((aligned(8)));
	unsigned char window[1 << 16];
};

/**
 * gpumon_reader_file_next - the next whole chunk
 * @file: file, @fd open
 * @buffer: filled in
 * @damage: what was skipped is added
 *
 * Return: whether there is one; without one, @at_end is set.
 */
bool gpumon_reader_file_next(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
			     struct gpumon_capture_damage *damage);

/**
 * gpumon_reader_file_version - the version that a file's first chunk says it has
 * @file: file, @fd open; is left as it is
 * @buffer: for it
 *
 * Return: the version; 0 where no chunk is at the beginning, or one of another version than ours
 * that is not whole.
 */
uint32_t gpumon_reader_file_version(const struct gpumon_reader_file *file,
				    struct gpumon_reader_buffer *buffer);

/* From its beginning again. */
void gpumon_reader_file_rewind(struct gpumon_reader_file *file);

/* Add missing chunks: a number that somebody made up does not make the sum wrap. */
void gpumon_reader_missing(struct gpumon_capture_damage *damage, uint64_t chunks);

#endif /* GPUMON_CAPTURE_READER_FILE_H */
