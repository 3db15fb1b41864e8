// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Writes captures. Everything goes to the kernel at once, so that a killed recorder loses nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "lib/version.h"
#include "lib/wait.h"
#include "directory.h"
#include "ring.h"
#include "writer_file.h"

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
	return strndup(path, n);
}

/* A writer with a directory. NULL with the reason in gpumon_capture_error(). */
static struct gpumon_capture_writer *new_writer(const char *path, const char *command,
						const char *mark)
{
	struct gpumon_capture_writer *made = calloc(1, sizeof(*made));
	struct gpumon_capture_info *info;

	if (!made) {
		gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY, "out of memory");
		return NULL;
	}
	made->directory = -1;
	info = &made->contents.info;
	made->path = plain_path(path);
	info->command = strdup(command);
	if (!made->path || !info->command) {
		writer_free(made);
		gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY, "out of memory");
		return NULL;
	}
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
	if (!made->ring) {
		writer_free(made);
		return gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY, "out of memory");
	}
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

/* List the files in the order in which they were added. 0 or -ENOMEM. */
static int describe_files(struct gpumon_capture_writer *writer)
{
	struct gpumon_capture_contents *contents = &writer->contents;
	uint32_t i = writer->n_files;

	contents->files = calloc(writer->n_files + 1, sizeof(*contents->files));
	if (!contents->files)
		return -ENOMEM;
	contents->n_files = writer->n_files;
	for (struct gpumon_capture_file *file = writer->files; file; file = file->next) {
		struct gpumon_capture_file_info *info = &contents->files[--i];

		info->name = file->name;
		file->name = NULL;
		info->chunks = file->sequence;
		info->bytes = file->size;
	}
	return 0;
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
	ret = describe_files(writer);
	if (!ret)
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
