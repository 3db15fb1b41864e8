// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "definitions.h"
#include "info.h"
#include "lib/memory.h"
#include "lib/files.h"
#include "lib/version.h"
#include "lib/wait.h"
#include "ring.h"
#include "writer.h"

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
	added = gpumon_calloc(1, sizeof(*added));
	added->name = gpumon_strdup(name);
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

/* Adds the losses that lost records of losses stood for. Returns the number of other records. */
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

/* Writes records of the file's losses so far. Returns their size. */
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

/* write_chunks() for a ring, which counts bytes that it drops later, too. */
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
	struct gpumon_capture_ring *ring = file->writer->ring;

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

/*
 * Writes captures. Everything goes to the kernel at once, so that a killed recorder loses nothing.
 */

/*
 * Reserved from the beginning and released at the end, so that on a full disk the last loss records
 * and capture.json still fit.
 */
#define RESERVE_SIZE (128 << 10)

/* A missing boot id stays empty, and does not stop the recording. */
static void read_boot_id(char *text, size_t size)
{
	if (gpumon_read_short("", "/proc/sys/kernel/random/boot_id", text, size))
		text[strcspn(text, "\n")] = '\0';
}

static void make_reserve(int directory)
{
	int fd = openat(directory, GPUMON_CAPTURE_RESERVE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);

	if (fd < 0)
		return;
	/* If this does not fit, records will not either, and that is reported. */
	if (posix_fallocate(fd, 0, RESERVE_SIZE))
		unlinkat(directory, GPUMON_CAPTURE_RESERVE, 0);
	close(fd);
}

static void writer_free(struct gpumon_capture_writer *writer)
{
	struct gpumon_capture_file *file = writer->files;

	while (file) {
		struct gpumon_capture_file *next = file->next;

		if (file->fd >= 0)
			close(file->fd);
		free(file->name);
		free(file);
		file = next;
	}
	gpumon_ring_free(writer->ring);
	gpumon_capture_info_free(&writer->contents);
	if (writer->directory >= 0)
		close(writer->directory);
	free(writer->path);
	free(writer);
}

/* Remove trailing slashes, which would follow a link to a directory. */
static char *plain_path(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return gpumon_strndup(path, n);
}

/* A writer with a directory. NULL with the reason in gpumon_capture_error(). */
static struct gpumon_capture_writer *new_writer(const char *path, const char *command,
						const char *mark)
{
	struct gpumon_capture_writer *made = gpumon_calloc(1, sizeof(*made));
	struct gpumon_capture_info *info;

	made->directory = -1;
	info = &made->contents.info;
	made->path = plain_path(path);
	info->command = gpumon_strdup(command);
	made->directory = gpumon_capture_open_directory(made->path, mark);
	if (made->directory < 0) {
		writer_free(made);
		return NULL;
	}
	return made;
}

int gpumon_capture_create(const char *path, const char *command,
			  struct gpumon_capture_writer **writer)
{
	struct gpumon_capture_writer *made = new_writer(path, command, NULL);
	struct gpumon_capture_info *info;
	int ret;

	*writer = NULL;
	if (!made)
		return -1;
	info = &made->contents.info;
	make_reserve(made->directory);
	info->version = GPUMON_CAPTURE_VERSION;
	snprintf(info->gpumon_version, sizeof(info->gpumon_version), "%s", GPUMON_VERSION);
	read_boot_id(info->boot_id, sizeof(info->boot_id));
	gethostname(info->host, sizeof(info->host) - 1);
	info->created_ns = gpumon_clock_ns(CLOCK_REALTIME);
	info->created_monotonic_ns = gpumon_monotonic_ns();
	ret = gpumon_capture_info_write(made->directory, &made->contents);
	if (ret) {
		gpumon_capture_fail(ret, GPUMON_ERROR_IO, "cannot write %s/%s: %s", made->path,
				    GPUMON_CAPTURE_INFO, strerror(-ret));
		unlinkat(made->directory, GPUMON_CAPTURE_RESERVE, 0);
		writer_free(made);
		return -1;
	}
	*writer = made;
	return 0;
}

int gpumon_capture_create_ring(const char *path, const struct gpumon_ring_limits *limits,
			       struct gpumon_capture_writer **writer)
{
	struct gpumon_capture_writer *made = new_writer(path, "", GPUMON_CAPTURE_RING);
	int folder;

	*writer = NULL;
	if (!made)
		return -1;
	folder = gpumon_capture_open_ring(made->directory, made->path);
	if (folder < 0) {
		writer_free(made);
		return -1;
	}
	made->ring = gpumon_ring_new(folder, limits);
	*writer = made;
	return 0;
}

int gpumon_capture_write_ring(struct gpumon_capture_writer *writer, const char *path,
			      const char *command, const char *note, uint64_t since_ns)
{
	return gpumon_ring_write(writer->ring, path, command, note, since_ns);
}

uint64_t gpumon_capture_ring_since(const struct gpumon_capture_writer *writer)
{
	return gpumon_ring_since(writer->ring);
}

void gpumon_capture_set_created(struct gpumon_capture_writer *writer, uint64_t created_ns,
				uint64_t created_monotonic_ns)
{
	writer->contents.info.created_ns = created_ns;
	writer->contents.info.created_monotonic_ns = created_monotonic_ns;
}

void gpumon_capture_on_trouble(struct gpumon_capture_writer *writer,
			       void (*tell)(void *data, const struct gpumon_error *err), void *data)
{
	writer->tell = tell;
	writer->tell_data = data;
}

int gpumon_capture_directory(const struct gpumon_capture_writer *writer)
{
	return writer->directory;
}

uint64_t gpumon_capture_lost(const struct gpumon_capture_writer *writer)
{
	return writer->lost;
}

uint64_t gpumon_capture_beyond(const struct gpumon_capture_writer *writer)
{
	return writer->beyond;
}

void gpumon_capture_limit(struct gpumon_capture_writer *writer, uint64_t bytes)
{
	writer->limit = bytes;
}

bool gpumon_capture_is_full(const struct gpumon_capture_writer *writer)
{
	return writer->full;
}

/* List the files in the order in which they were added. */
static void describe_files(struct gpumon_capture_writer *writer)
{
	struct gpumon_capture_contents *contents = &writer->contents;
	uint32_t i = writer->n_files;

	contents->files = gpumon_calloc(writer->n_files + 1, sizeof(*contents->files));
	contents->n_files = writer->n_files;
	for (struct gpumon_capture_file *file = writer->files; file; file = file->next) {
		struct gpumon_capture_file_info *info = &contents->files[--i];

		info->name = file->name;
		file->name = NULL;
		info->chunks = file->sequence;
		info->bytes = file->size;
	}
}

int gpumon_capture_close(struct gpumon_capture_writer *writer)
{
	int failed = 0;
	int ret;

	if (!writer)
		return 0;
	if (writer->ring) {
		writer_free(writer);
		return 0;
	}
	unlinkat(writer->directory, GPUMON_CAPTURE_RESERVE, 0);
	for (struct gpumon_capture_file *file = writer->files; file; file = file->next) {
		ret = gpumon_capture_finish_file(file);
		failed = failed ? failed : ret;
	}
	writer->contents.info.ended = true;
	writer->contents.info.lost_records = writer->lost;
	describe_files(writer);
	ret = gpumon_capture_info_write(writer->directory, &writer->contents);
	failed = failed ? failed : ret;
	if (failed)
		gpumon_capture_fail(failed, GPUMON_ERROR_IO,
				    "%s: %s; what was written before can be read", writer->path,
				    strerror(-failed));
	else if (writer->lost)
		failed = gpumon_capture_fail(-ENOSPC, GPUMON_ERROR_IO,
					     "%s: %llu records could not be written", writer->path,
					     (unsigned long long)writer->lost);
	writer_free(writer);
	return failed ? -1 : 0;
}
