// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/wait.h"
#include "definitions.h"
#include "ring.h"
#include "writer_file.h"

/* 0 or an errno. */
static int create_chunk_file(struct gpumon_capture_file *file, const char *name)
{
	file->fd = openat(file->writer->directory, name,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return file->fd < 0 ? errno : 0;
}

int gpumon_capture_add_file(struct gpumon_capture_writer *writer, const char *name,
			    struct gpumon_capture_file **file)
{
	char path[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_SUFFIX)];
	struct gpumon_capture_file *added;
	int error;

	*file = NULL;
	if (!gpumon_capture_name_good(name))
		return gpumon_capture_fail(-EINVAL, GPUMON_ERROR_IO,
					   "\"%s\" cannot be the name of a file", name);
	added = calloc(1, sizeof(*added));
	if (added)
		added->name = strdup(name);
	if (!added || !added->name) {
		free(added);
		return gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY, "out of memory");
	}
	snprintf(path, sizeof(path), "%s%s", name, GPUMON_CAPTURE_SUFFIX);
	added->writer = writer;
	added->fd = -1;
	error = writer->ring ? -gpumon_ring_add_file(writer->ring, name, &added->kept) :
			       create_chunk_file(added, path);
	if (error) {
		free(added->name);
		free(added);
		return gpumon_capture_fail(-error, GPUMON_ERROR_IO, "cannot make %s/%s: %s",
					   writer->path, path, strerror(error));
	}
	added->next = writer->files;
	writer->files = added;
	writer->n_files++;
	*file = added;
	return 0;
}

static bool has_losses(const struct gpumon_capture_file *file)
{
	static const uint64_t none[GPUMON_LOSS_CAUSES];

	return memcmp(file->lost, none, sizeof(none)) != 0;
}

/* A ring has it in memory, whatever becomes of the rest. */
static bool in_memory(const struct gpumon_capture_file *file, const struct gpumon_record *record)
{
	return file->kept &&
	       (gpumon_definition_is(record->type) || record->type == GPUMON_RECORD_TOTALS);
}

/* What a lost record of a loss stands for is still counted. Returns the number of other records. */
static uint64_t count_lost(struct gpumon_capture_file *file, const void *records, size_t size,
			   enum gpumon_loss cause)
{
	const char *at = records;
	uint64_t count = 0;

	while (gpumon_record_check((const void *)at, size) != GPUMON_RECORD_IMPOSSIBLE) {
		const struct gpumon_record *record = (const void *)at;
		struct gpumon_record_loss loss = { .cause = GPUMON_LOSS_CAUSES };

		if (record->type == GPUMON_RECORD_LOSS)
			gpumon_record_copy(&loss, sizeof(loss), record);
		if (loss.cause < GPUMON_LOSS_CAUSES)
			file->lost[loss.cause] += loss.count;
		else
			count += record->type != GPUMON_RECORD_PAD && !in_memory(file, record);
		at += record->size;
		size -= record->size;
	}
	file->lost[cause] += count;
	return count;
}

void gpumon_chunk_fill(struct gpumon_chunk *chunk, struct iovec *part, const void *records,
		       size_t size, void *room)
{
	size_t packed = room ? gpumon_pack(records, size, room) : 0;

	chunk->magic = GPUMON_CHUNK_MAGIC;
	chunk->version = GPUMON_CHUNK_PLAIN;
	chunk->size = (uint32_t)size;
	if (packed && packed < size) {
		chunk->version = GPUMON_CHUNK_PACKED;
		chunk->unpacked = (uint32_t)size;
		chunk->size = (uint32_t)packed;
		records = room;
	}
	chunk->crc = gpumon_chunk_crc(chunk, records);
	part[0] = (struct iovec){ chunk, sizeof(*chunk) };
	part[1] = (struct iovec){ (void *)(uintptr_t)records, chunk->size };
}

/* Write everything after the last whole chunk, or nothing. 0, or a negative errno. */
static int write_whole(struct gpumon_capture_file *file, struct iovec *part, int parts)
{
	uint64_t at = file->size;
	int error;

	while (parts) {
		ssize_t n = pwritev(file->fd, part, parts, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			error = n < 0 ? errno : EIO;
			/*
			 * A partial chunk would count as damage. The next one would overwrite it.
			 */
			if (at != file->size && ftruncate(file->fd, (off_t)file->size))
				return -error;
			return -error;
		}
		at += (uint64_t)n;
		while (parts && (size_t)n >= part->iov_len) {
			n -= (ssize_t)part->iov_len;
			part++;
			parts--;
		}
		if (parts) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	file->writer->bytes += at - file->size;
	file->size = at;
	return 0;
}

/* What the file lacks by now. Returns the size of the records. */
static size_t make_losses(const struct gpumon_capture_file *file, struct gpumon_record_loss *losses)
{
	struct gpumon_record_loss *next = losses;

	for (unsigned int cause = 0; cause < GPUMON_LOSS_CAUSES; cause++)
		if (file->lost[cause])
			*next++ = (struct gpumon_record_loss){
				.head = { GPUMON_RECORD_LOSS, 0, sizeof(*next) },
				.time_ns = gpumon_monotonic_ns(),
				.count = file->lost[cause],
				.cause = cause,
			};
	return (size_t)(next - losses) * sizeof(*losses);
}

/*
 * Write records of the losses until now, then the records, of which there may be none. -E2BIG: the
 * capture would become larger than @limit.
 */
static int write_chunks(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			size_t size, uint64_t limit)
{
	struct gpumon_record_loss losses[GPUMON_LOSS_CAUSES];
	struct gpumon_chunk loss_chunk = { .sequence = file->sequence };
	struct gpumon_chunk chunk = { .sequence = file->sequence, .tid = tid };
	struct iovec part[4];
	int parts = 0;
	int ret;

	if (has_losses(file)) {
		gpumon_chunk_fill(&loss_chunk, part, losses, make_losses(file, losses), NULL);
		parts += 2;
		chunk.sequence++;
	}
	if (size) {
		gpumon_chunk_fill(&chunk, part + parts, records, size, file->writer->packed);
		parts += 2;
	}
	if (file->writer->bytes + sizeof(chunk) + chunk.size > limit)
		return -E2BIG;
	ret = write_whole(file, part, parts);
	if (ret)
		return ret;
	file->sequence += (uint64_t)parts / 2;
	memset(file->lost, 0, sizeof(file->lost));
	return 0;
}

int gpumon_capture_append_chunk(struct gpumon_capture_file *file, struct gpumon_chunk *chunk,
				const void *data)
{
	struct iovec part[] = { { chunk, sizeof(*chunk) },
				{ (void *)(uintptr_t)data, chunk->size } };
	int ret;

	chunk->sequence = file->sequence;
	chunk->crc = gpumon_chunk_crc(chunk, data);
	ret = write_whole(file, part, 2);
	if (!ret)
		file->sequence++;
	return ret;
}

/* The same as write_chunks() for a ring, which counts bytes that it drops later, too. */
static int keep_records(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			size_t size)
{
	struct gpumon_record_loss losses[GPUMON_LOSS_CAUSES];
	int ret = gpumon_ring_append(file->kept, tid, records, size, file->lost);

	if (ret)
		return ret;
	file->size += size;
	if (has_losses(file) &&
	    !gpumon_ring_append(file->kept, 0, losses, make_losses(file, losses), file->lost))
		memset(file->lost, 0, sizeof(file->lost));
	return 0;
}

static void tell_once(struct gpumon_capture_writer *writer)
{
	if (writer->told)
		return;
	writer->told = true;
	if (writer->tell)
		writer->tell(writer->tell_data, gpumon_capture_error());
	else
		fprintf(stderr, "gpumon-user: %s\n", gpumon_capture_error()->message);
}

static int append_chunk(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			size_t size, uint64_t limit)
{
	struct gpumon_capture_writer *writer = file->writer;
	int ret;

	if (!size)
		return 0;
	if (size > GPUMON_CHUNK_SIZE_MAX || size % 8)
		ret = -EINVAL;
	else if (file->kept)
		ret = keep_records(file, tid, records, size);
	else
		ret = write_chunks(file, tid, records, size, limit);
	if (!ret)
		return 0;
	if (ret == -E2BIG) {
		writer->full = true;
		writer->beyond += count_lost(file, records, size, GPUMON_LOSS_MAX_SIZE);
		return 0;
	}
	writer->lost += count_lost(file, records, size, GPUMON_LOSS_RECORDER);
	gpumon_capture_fail(ret, GPUMON_ERROR_IO,
			    "%s/%s%s: %s: records are lost until it can be written again",
			    writer->path, file->name, GPUMON_CAPTURE_SUFFIX, strerror(-ret));
	tell_once(writer);
	return -1;
}

int gpumon_capture_append(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			  size_t size)
{
	return append_chunk(file, tid, records, size, UINT64_MAX);
}

int gpumon_capture_append_limited(struct gpumon_capture_file *file, uint32_t tid,
				  const void *records, size_t size)
{
	struct gpumon_capture_writer *writer = file->writer;

	if (writer->full) {
		writer->beyond += count_lost(file, records, size, GPUMON_LOSS_MAX_SIZE);
		return 0;
	}
	return append_chunk(file, tid, records, size, writer->limit ? writer->limit : UINT64_MAX);
}

uint64_t gpumon_capture_file_bytes(const struct gpumon_capture_file *file)
{
	return file->size;
}

void gpumon_capture_map_name(const char *file, char *name, size_t room)
{
	if (!strncmp(file, GPUMON_CAPTURE_PROCESS, strlen(GPUMON_CAPTURE_PROCESS)))
		file += strlen(GPUMON_CAPTURE_PROCESS);
	snprintf(name, room, GPUMON_CAPTURE_MAP, file);
}

int gpumon_capture_make_map_at(const struct gpumon_capture_file *file, int directory)
{
	char map[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_MAP)];

	gpumon_capture_map_name(file->name, map, sizeof(map));
	return openat(directory, map, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int gpumon_capture_make_map(struct gpumon_capture_file *file)
{
	struct gpumon_ring *ring = file->writer->ring;

	return gpumon_capture_make_map_at(file, ring ? gpumon_ring_directory(ring) :
						       file->writer->directory);
}

int gpumon_capture_finish_file(struct gpumon_capture_file *file)
{
	int ret = 0;

	if (file->fd < 0)
		return 0;
	if (has_losses(file))
		ret = write_chunks(file, 0, NULL, 0, UINT64_MAX);
	if (close(file->fd) && !ret)
		ret = -errno;
	file->fd = -1;
	return ret;
}

/* A ring outlives its files: forget this one. */
static void forget_file(struct gpumon_capture_file *file)
{
	struct gpumon_capture_file **at = &file->writer->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	file->writer->n_files--;
	gpumon_ring_end_file(file->kept);
	free(file->name);
	free(file);
}

void gpumon_capture_end_file(struct gpumon_capture_file *file)
{
	if (file->kept) {
		if (has_losses(file))
			(void)keep_records(file, 0, NULL, 0);
		forget_file(file);
		return;
	}
	/* Losses that cannot be reported now are reported at the end of the capture. */
	if (!has_losses(file))
		(void)gpumon_capture_finish_file(file);
}
