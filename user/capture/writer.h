/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes the chunks of a capture's files, and counts what could not be written. */
#ifndef GPUMON_CAPTURE_WRITER_H
#define GPUMON_CAPTURE_WRITER_H

#include "capture_internal.h"
#include "pack.h"

struct gpumon_capture_file {
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *next;
	char *name;
	int fd;
	uint64_t size; /* of whole chunks */
	uint64_t sequence;
	uint64_t lost[GPUMON_LOSS_CAUSES]; /* since the last loss records */
	struct gpumon_ring_file *kept;	   /* its part of the ring, instead of @fd */
};

struct gpumon_capture_writer {
	int directory;
	char *path;
	struct gpumon_capture_contents contents;
	struct gpumon_capture_file *files; /* linked list, the last one first */
	uint32_t n_files;
	void (*tell)(void *data, const struct gpumon_error *err);
	void *tell_data;
	bool told;
	uint64_t lost;
	uint64_t bytes; /* of whole chunks in all files */
	uint64_t limit; /* for @bytes, 0: none */
	bool full;
	uint64_t beyond;		  /* records that were dropped since it is */
	struct gpumon_capture_ring *ring; /* NULL: all is written */
	uint8_t packed[GPUMON_PACK_GROWTH * GPUMON_CHUNK_SIZE_MAX];
};

/*
 * gpumon_capture_finish_file - write the losses that are left, and close its descriptor
 * Return: 0, or a negative errno.
 */
int gpumon_capture_finish_file(struct gpumon_capture_file *file);

#endif /* GPUMON_CAPTURE_WRITER_H */
