// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Writes a capture of what a ring keeps. It only reads the ring, through descriptors that are open
 * already, so a child of the recorder can do it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "capture_internal.h"
#include "ring_internal.h"
#include "ring_trim.h"

/* Operations whose launches were dropped are in the oldest segments. */
#define TRIM_SEGMENTS 2

/* Ids of the ring's own strings in the driver's file, which counts its from 1 on. */
#define STRING_WHY     0xffffff21u
#define STRING_DROPPED 0xffffff22u

/**
 * struct written - a file of the ring, and what becomes of it
 * @from: the file
 * @to: its file in the capture
 * @trim: operations that are left out
 * @dropped: what is not in the capture
 */
struct written {
	const struct gpumon_ring_file *from;
	struct gpumon_capture_file *to;
	struct gpumon_ring_trim trim;
	struct gpumon_record_dropped dropped;
};

/**
 * struct writing - a capture that is written
 * @first: the oldest segment of it, NULL if there is none
 * @files: by number of the file in the ring, from @base on
 */
struct writing {
	struct gpumon_ring *ring;
	struct gpumon_capture_writer *writer;
	const struct gpumon_ring_segment *first;
	struct gpumon_map files;
	struct written *written;
	uint64_t count;
	uint64_t since_ns;
};

/* The file's part of the oldest segment that has one. NULL: none has. */
static const struct gpumon_ring_part *first_part(const struct writing *writing,
						 const struct gpumon_ring_file *file)
{
	for (const struct gpumon_ring_segment *segment = writing->first; segment;
	     segment = segment->next)
		for (const struct gpumon_ring_part *part = segment->parts; part; part = part->next)
			if (part->file == file)
				return part;
	return NULL;
}

static int write_definitions(const struct written *written)
{
	const void *records;
	size_t size;

	for (uint32_t i = 0;
	     (records = gpumon_definitions_block(&written->from->definitions, i, &size)); i++)
		if (gpumon_capture_append(written->to, 0, records, size))
			return -1;
	return 0;
}

static int write_state(const struct writing *writing, const struct written *written)
{
	const struct gpumon_ring_part *part = first_part(writing, written->from);
	_Alignas(8) uint8_t state[GPUMON_RING_STATE_MAX];

	if (part)
		return gpumon_capture_append(written->to, 0, part->state, part->state_size);
	return gpumon_capture_append(written->to, 0, state,
				     gpumon_ring_state_write(&written->from->state, state));
}

static int add_file(struct writing *writing, const struct gpumon_ring_file *from)
{
	struct written *written = &writing->written[writing->count];

	/* A part of the time shows only what did something. */
	if (writing->since_ns && !first_part(writing, from))
		return 0;
	written->from = from;
	written->dropped = from->dropped;
	if (gpumon_capture_add_file(writing->writer, from->name, &written->to) ||
	    gpumon_map_set(&writing->files, from->number, ++writing->count))
		return -1;
	return write_definitions(written) || write_state(writing, written) ? -1 : 0;
}

/* Files in the order in which they were added: a process before and after exec(). */
static int add_files(struct writing *writing)
{
	const struct gpumon_ring_file **order;
	size_t count = 0, i = 0;
	int ret = 0;

	for (const struct gpumon_ring_file *file = writing->ring->files; file; file = file->next)
		count++;
	writing->written = calloc(count + 1, sizeof(*writing->written));
	order = calloc(count + 1, sizeof(const struct gpumon_ring_file *));
	if (!writing->written || !order) {
		free(order);
		return gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY, "out of memory");
	}
	for (const struct gpumon_ring_file *file = writing->ring->files; file; file = file->next)
		order[count - ++i] = file;
	for (i = 0; i < count && !ret; i++)
		ret = add_file(writing, order[i]);
	free(order);
	return ret;
}

/* 0, or a negative errno; -EIO for a file that is too short. */
static int read_all(int fd, void *to, size_t size, uint64_t at)
{
	ssize_t n = gpumon_read_at(fd, to, size, at);

	if (n < 0)
		return -errno;
	return (size_t)n < size ? -EIO : 0;
}

static int segment_failed(ssize_t error)
{
	return gpumon_capture_fail((int)error, GPUMON_ERROR_IO, "the ring cannot be read: %s",
				   strerror((int)-error));
}

/* The records of a chunk in @ring->packed, in @ring->events. 0 if they are broken. */
static size_t unpack_chunk(struct gpumon_ring *ring, const struct gpumon_chunk *chunk)
{
	if (chunk->version == GPUMON_CHUNK_PACKED)
		return chunk->unpacked <= sizeof(ring->events) &&
				       gpumon_unpack(ring->packed, chunk->size, ring->events,
						     chunk->unpacked) ?
			       chunk->unpacked :
			       0;
	memcpy(ring->events, ring->packed, chunk->size);
	return chunk->size;
}

static int look_at_chunk(struct writing *writing, struct written *written,
			 struct gpumon_chunk *chunk)
{
	size_t size = written->dropped.records ? unpack_chunk(writing->ring, chunk) : 0;

	gpumon_ring_trim_look(&written->trim, writing->ring->events, size);
	return 0;
}

static int copy_chunk(struct writing *writing, struct written *written, struct gpumon_chunk *chunk)
{
	int ret = gpumon_capture_append_chunk(written->to, chunk, writing->ring->packed);

	return ret ? gpumon_capture_fail(ret, GPUMON_ERROR_IO, "%s", strerror(-ret)) : 0;
}

/* Most chunks have nothing to trim. */
static int trim_chunk(struct writing *writing, struct written *written, struct gpumon_chunk *chunk)
{
	size_t size = written->dropped.records ? unpack_chunk(writing->ring, chunk) : 0, left;

	left = gpumon_ring_trim_apply(&written->trim, writing->ring->events, size,
				      &written->dropped);
	if (left == size)
		return copy_chunk(writing, written, chunk);
	return gpumon_capture_append(written->to, chunk->tid, writing->ring->events, left);
}

/* Call @each for the chunks of files that are written. */
static int read_segment(struct writing *writing, const struct gpumon_ring_segment *segment,
			int (*each)(struct writing *writing, struct written *written,
				    struct gpumon_chunk *chunk))
{
	struct gpumon_ring *ring = writing->ring;
	struct gpumon_chunk chunk;
	uint64_t at = 0, place;
	ssize_t ret;

	while (at < segment->bytes) {
		ret = read_all(segment->fd, &chunk, sizeof(chunk), at);
		if (!ret && chunk.size > GPUMON_CHUNK_SIZE_MAX)
			ret = -EPROTO;
		if (!ret)
			ret = read_all(segment->fd, ring->packed, chunk.size, at + sizeof(chunk));
		if (!ret && gpumon_chunk_crc(&chunk, ring->packed) != chunk.crc)
			ret = -EPROTO;
		if (ret)
			return segment_failed(ret);
		at += sizeof(chunk) + chunk.size;
		place = gpumon_map_get(&writing->files, chunk.sequence);
		if (place && each(writing, &writing->written[place - 1], &chunk))
			return -1;
	}
	return 0;
}

static int copy_segments(struct writing *writing)
{
	const struct gpumon_ring_segment *segment = writing->first;
	int ret = 0;

	for (int i = 0; i < TRIM_SEGMENTS && segment && !ret && !writing->since_ns; i++) {
		ret = read_segment(writing, segment, look_at_chunk);
		segment = segment->next;
	}
	segment = writing->first;
	for (int i = 0; segment && !ret; i++) {
		ret = read_segment(writing, segment,
				   i < TRIM_SEGMENTS && !writing->since_ns ? trim_chunk :
									     copy_chunk);
		segment = segment->next;
	}
	return ret;
}

static uint64_t less(uint64_t all, uint64_t dropped)
{
	return all > dropped ? all - dropped : 0;
}

/* What was counted by the library, less what was dropped, is what should be there. */
static int write_ends(const struct writing *writing, const struct written *written)
{
	struct gpumon_record_dropped dropped = written->dropped;
	struct gpumon_record_totals totals = written->from->totals;

	dropped.head = (struct gpumon_record){ GPUMON_RECORD_DROPPED, 0, sizeof(dropped) };
	if (dropped.records && !writing->since_ns &&
	    gpumon_capture_append(written->to, 0, &dropped, sizeof(dropped)))
		return -1;
	if (!written->from->has_totals || writing->since_ns)
		return 0;
	totals.launches = less(totals.launches, dropped.launches);
	totals.captured = less(totals.captured, dropped.captured);
	totals.kernels = less(totals.kernels, dropped.kernels);
	totals.copies = less(totals.copies, dropped.copies);
	totals.sets = less(totals.sets, dropped.sets);
	return gpumon_capture_append(written->to, 0, &totals, sizeof(totals));
}

static int write_note(struct gpumon_capture_file *file, uint32_t id, uint64_t time_ns,
		      const char *text)
{
	struct gpumon_record_note note = {
		.head = { GPUMON_RECORD_NOTE, 0, sizeof(note) },
		.time_ns = time_ns,
		.text = id,
	};

	if (gpumon_capture_append_string(file, id, text))
		return -1;
	return gpumon_capture_append(file, 0, &note, sizeof(note));
}

/* In the driver's file: why it was written, and how much was dropped. */
static int write_notes(struct writing *writing, const char *why)
{
	struct gpumon_capture_file *driver = NULL;
	uint64_t launches = 0, works = 0, time_ns = 0;
	char text[256];

	for (uint64_t i = 0; i < writing->count; i++) {
		const struct gpumon_record_dropped *dropped = &writing->written[i].dropped;

		launches += dropped->launches + dropped->captured;
		works += dropped->kernels + dropped->copies + dropped->sets;
		if (dropped->time_ns > time_ns)
			time_ns = dropped->time_ns;
		if (!strcmp(writing->written[i].from->name, GPUMON_CAPTURE_DRIVER))
			driver = writing->written[i].to;
	}
	if (!driver)
		return 0;
	if (why && write_note(driver, STRING_WHY,
			      writing->ring->youngest ? writing->ring->youngest->last_ns : 0, why))
		return -1;
	if (!launches && !works)
		return 0;
	snprintf(
		text, sizeof(text),
		"only what was recorded last is kept (--keep): %llu launches and %llu operations before it were dropped",
		(unsigned long long)launches, (unsigned long long)works);
	return write_note(driver, STRING_DROPPED, time_ns, text);
}

/* The perf map of an ended process. That of a live one is copied by its recorder. */
static int copy_map(const struct writing *writing, const struct written *written)
{
	char name[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_MAP)];
	int from, to, error = 0;
	ssize_t n;

	gpumon_capture_map_name(written->from->name, name, sizeof(name));
	from = openat(writing->ring->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return 0;
	to = gpumon_capture_make_map(written->to);
	if (to < 0)
		error = errno;
	while (!error && (n = sendfile(to, from, NULL, 1 << 20)))
		if (n < 0 && errno != EINTR)
			error = errno;
	if (to >= 0)
		close(to);
	close(from);
	return error ? gpumon_capture_fail(-error, GPUMON_ERROR_IO, "%s: %s", name,
					   strerror(error)) :
		       0;
}

/* The failure is returned anyway. */
static void ignore_trouble(void *data, const struct gpumon_error *err)
{
	(void)data;
	(void)err;
}

static int write_all(struct writing *writing, const char *note)
{
	if (add_files(writing))
		return -1;
	if (copy_segments(writing))
		return -1;
	for (uint64_t i = 0; i < writing->count; i++)
		if (write_ends(writing, &writing->written[i]) ||
		    copy_map(writing, &writing->written[i]))
			return -1;
	return write_notes(writing, note);
}

int gpumon_ring_write(struct gpumon_ring *ring, const char *path, const char *command,
		      const char *note, uint64_t since_ns)
{
	struct writing writing = { .ring = ring, .first = ring->oldest, .since_ns = since_ns };
	int ret;

	while (writing.first && writing.first->last_ns < since_ns)
		writing.first = writing.first->next;
	if (gpumon_capture_create(path, command, &writing.writer))
		return -1;
	gpumon_capture_on_trouble(writing.writer, ignore_trouble, NULL);
	if (writing.first)
		gpumon_capture_set_created(writing.writer, writing.first->created_ns,
					   writing.first->first_ns);
	ret = write_all(&writing, note);
	/* The first error is the one to report. */
	if (ret) {
		struct gpumon_error err = *gpumon_capture_error();

		(void)gpumon_capture_close(writing.writer);
		gpumon_capture_fail(err.sys, err.code, "%s: %s", path, err.message);
	} else {
		ret = gpumon_capture_close(writing.writer);
	}
	gpumon_map_clear(&writing.files);
	free(writing.written);
	return ret;
}
