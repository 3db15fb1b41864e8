// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "capture_internal.h"
#include "info.h"
#include "lib/memory.h"
#include "lib/files.h"
#include "lib/utf8.h"

/* capture.json, and the error handling of capture.h. */

#define INFO_FORMAT "gpumon-capture"

static __thread struct gpumon_error last_error;

const struct gpumon_error *gpumon_capture_error(void)
{
	return &last_error;
}

int gpumon_capture_fail(int sys, enum gpumon_error_code code, const char *format, ...)
{
	char text[sizeof(last_error.message)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return gpumon_error_set(&last_error, GPUMON_EXIT_FAILED, sys, code, "%s", text);
}

bool gpumon_capture_name_good(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= GPUMON_CAPTURE_NAME_MAX && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       n;
}

uint32_t gpumon_chunk_crc(const struct gpumon_chunk *chunk, const void *records)
{
	struct gpumon_chunk head = *chunk;
	uLong crc;

	head.crc = 0;
	crc = crc32(0, (const Bytef *)&head, sizeof(head));
	return (uint32_t)crc32(crc, records, chunk->size);
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Command lines can contain any bytes, but JSON must be UTF-8. */
static struct json_object *text_json(const char *from)
{
	char *text = gpumon_utf8_copy(from);
	struct json_object *object = json_object_new_string(text ? text : "");

	free(text);
	return object;
}

static struct json_object *files_json(const struct gpumon_capture_contents *contents)
{
	struct json_object *files = json_object_new_array();

	for (uint32_t i = 0; files && i < contents->n_files; i++) {
		const struct gpumon_capture_file_info *from = &contents->files[i];
		struct json_object *file = json_object_new_object();

		json_object_object_add(file, "name", json_object_new_string(from->name));
		json_object_object_add(file, "chunks", json_object_new_uint64(from->chunks));
		json_object_object_add(file, "bytes", json_object_new_uint64(from->bytes));
		json_object_array_add(files, file);
	}
	return files;
}

static struct json_object *info_json(const struct gpumon_capture_contents *contents, bool files)
{
	const struct gpumon_capture_info *info = &contents->info;
	struct json_object *root = json_object_new_object();

	if (!root)
		return NULL;
	json_object_object_add(root, "format", json_object_new_string(INFO_FORMAT));
	json_object_object_add(root, "version", json_object_new_int64(info->version));
	json_object_object_add(root, "gpumon_version",
			       json_object_new_string(info->gpumon_version));
	json_object_object_add(root, "boot_id", json_object_new_string(info->boot_id));
	json_object_object_add(root, "host", text_json(info->host));
	json_object_object_add(root, "command", text_json(info->command ? info->command : ""));
	json_object_object_add(root, "clock", json_object_new_string("CLOCK_MONOTONIC"));
	json_object_object_add(root, "created_realtime_ns",
			       json_object_new_uint64(info->created_ns));
	json_object_object_add(root, "created_monotonic_ns",
			       json_object_new_uint64(info->created_monotonic_ns));
	json_object_object_add(root, "ended", json_object_new_boolean(info->ended));
	if (!info->ended)
		return root;
	json_object_object_add(root, "lost_records",
			       json_object_new_uint64(contents->info.lost_records));
	if (files)
		json_object_object_add(root, "files", files_json(contents));
	return root;
}

/* Returns a text for free(), NULL without memory. */
static char *info_text(const struct gpumon_capture_contents *contents, bool files)
{
	struct json_object *root = info_json(contents, files);
	const char *text =
		root ? json_object_to_json_string_ext(
			       root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE) :
		       NULL;
	char *line = NULL;

	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	json_object_put(root);
	return line;
}

static int write_new(int directory, const char *text)
{
	int fd, ret;

	unlinkat(directory, GPUMON_CAPTURE_INFO_NEW, 0);
	fd = openat(directory, GPUMON_CAPTURE_INFO_NEW,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, strlen(text));
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(directory, GPUMON_CAPTURE_INFO_NEW, directory, GPUMON_CAPTURE_INFO))
		ret = -errno;
	if (ret)
		unlinkat(directory, GPUMON_CAPTURE_INFO_NEW, 0);
	return ret;
}

/* On a full disk: the file has a block already, whose rest is free. -ENOSPC if it does not fit. */
static int write_over(int directory, const char *text)
{
	int fd = openat(directory, GPUMON_CAPTURE_INFO, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	int ret = -ENOSPC;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) &&
	    strlen(text) <= (uint64_t)status.st_blocks * 512)
		ret = write_all(fd, text, strlen(text));
	if (!ret && ftruncate(fd, (off_t)strlen(text)))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

int gpumon_capture_info_write(int directory, const struct gpumon_capture_contents *contents)
{
	char *text = info_text(contents, true), *less;
	int ret;

	if (!text)
		return -ENOMEM;
	ret = write_new(directory, text);
	/* Losses have to be known, sizes of files need not. */
	if (ret == -ENOSPC || ret == -EDQUOT) {
		less = write_over(directory, text) ? info_text(contents, false) : text;
		if (less && (less == text || !write_over(directory, less)))
			ret = 0;
		if (less != text)
			free(less);
	}
	free(text);
	return ret;
}

static uint64_t get_u64(struct json_object *root, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(root, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return 0;
	return json_object_get_uint64(value);
}

static const char *get_text(struct json_object *root, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(root, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static bool get_bool(struct json_object *root, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(root, key, &value) &&
	       json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

static void get_files(struct json_object *root, struct gpumon_capture_contents *contents)
{
	struct json_object *files;
	size_t n;

	if (!json_object_object_get_ex(root, "files", &files) ||
	    !json_object_is_type(files, json_type_array))
		return;
	n = json_object_array_length(files);
	contents->files = gpumon_calloc(n + 1, sizeof(*contents->files));
	for (size_t i = 0; i < n; i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		struct gpumon_capture_file_info *to = &contents->files[contents->n_files];

		/*
		 * The file is from another program, or damaged: ignore names that are not possible.
		 */
		if (!json_object_is_type(file, json_type_object) ||
		    !gpumon_capture_name_good(get_text(file, "name")))
			continue;
		to->name = gpumon_strdup(get_text(file, "name"));
		to->chunks = get_u64(file, "chunks");
		to->bytes = get_u64(file, "bytes");
		contents->n_files++;
	}
}

int gpumon_capture_info_read(int directory, struct gpumon_capture_contents *contents)
{
	struct gpumon_capture_info *info = &contents->info;
	struct json_object *root;
	char *text;
	uint64_t version;

	memset(contents, 0, sizeof(*contents));
	info->command = gpumon_strdup("");
	text = gpumon_read_file(directory, GPUMON_CAPTURE_INFO, GPUMON_CAPTURE_INFO_MAX);
	if (!text)
		return errno == EFBIG || errno == EINVAL ? -EPROTO : -errno;
	root = json_tokener_parse(text);
	free(text);
	if (!json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		return -EPROTO;
	}
	if (strcmp(get_text(root, "format"), INFO_FORMAT) != 0) {
		json_object_put(root);
		return -EMEDIUMTYPE;
	}
	version = get_u64(root, "version");
	info->version = version > UINT32_MAX ? UINT32_MAX : (uint32_t)version;
	snprintf(info->gpumon_version, sizeof(info->gpumon_version), "%s",
		 get_text(root, "gpumon_version"));
	snprintf(info->boot_id, sizeof(info->boot_id), "%s", get_text(root, "boot_id"));
	snprintf(info->host, sizeof(info->host), "%s", get_text(root, "host"));
	free(info->command);
	info->command = gpumon_strdup(get_text(root, "command"));
	info->created_ns = get_u64(root, "created_realtime_ns");
	info->created_monotonic_ns = get_u64(root, "created_monotonic_ns");
	info->ended = get_bool(root, "ended");
	contents->info.lost_records = get_u64(root, "lost_records");
	get_files(root, contents);
	json_object_put(root);
	if (info->version > GPUMON_CAPTURE_VERSION)
		return -ENOTSUP;
	return info->version ? 0 : -EPROTO;
}

void gpumon_capture_info_free(struct gpumon_capture_contents *contents)
{
	for (uint32_t i = 0; i < contents->n_files; i++)
		free(contents->files[i].name);
	free(contents->files);
	free(contents->info.command);
	memset(contents, 0, sizeof(*contents));
}

/* 1 if it is not empty, 0 if it is or has @mark, -1 with errno. */
static int directory_occupied(int directory, const char *mark)
{
	DIR *dir = gpumon_folder_entries(directory, ".", 0);
	const struct dirent *entry;
	int occupied = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		if (mark && !strcmp(entry->d_name, mark)) {
			occupied = 0;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			occupied = 1;
	}
	closedir(dir);
	return occupied;
}

static int cannot_make(const char *path, int error)
{
	return gpumon_capture_fail(-error, GPUMON_ERROR_IO, "cannot make %s: %s%s", path,
				   strerror(error),
				   error == ENOENT ? "; make the directory above it first" : "");
}

/* Use an existing directory, if nobody else can write to it and it is empty or has @mark. */
static int take_over(int directory, const char *path, const char *mark)
{
	struct stat status;
	int occupied;

	if (fstat(directory, &status) || status.st_uid != geteuid())
		return gpumon_capture_fail(-EPERM, GPUMON_ERROR_IO,
					   "%s belongs to another user; choose another name", path);
	/* Do this before checking the contents. It also corrects an unusual umask. */
	if ((status.st_mode & 07777) != 0700 && fchmod(directory, 0700))
		return gpumon_capture_fail(-errno, GPUMON_ERROR_IO, "cannot make %s private: %s",
					   path, strerror(errno));
	occupied = directory_occupied(directory, mark);
	if (occupied < 0)
		return gpumon_capture_fail(-errno, GPUMON_ERROR_IO, "cannot read %s: %s", path,
					   strerror(errno));
	if (occupied)
		return gpumon_capture_fail(-ENOTEMPTY, GPUMON_ERROR_IO,
					   "%s is not empty; choose another name, or remove it",
					   path);
	return 0;
}

int gpumon_capture_open_directory(const char *path, const char *mark)
{
	const char *name, *problem;
	int parent = gpumon_folder_of(path, &name), directory, error;

	if (parent < 0) {
		cannot_make(path, -parent);
		return -1;
	}
	problem = gpumon_folder_problem(parent);
	if (problem) {
		close(parent);
		return gpumon_capture_fail(-EPERM, GPUMON_ERROR_IO, "cannot make %s: %s", path,
					   problem);
	}
	if (mkdirat(parent, name, 0700) && errno != EEXIST) {
		error = errno;
		close(parent);
		return cannot_make(path, error);
	}
	/* O_NOFOLLOW would follow a link if the path had a slash at its end. */
	directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	close(parent);
	if (directory < 0 && (error == ELOOP || error == ENOTDIR))
		return gpumon_capture_fail(-error, GPUMON_ERROR_IO,
					   "%s is a link or a file; choose another name", path);
	if (directory < 0)
		return gpumon_capture_fail(-error, GPUMON_ERROR_IO, "cannot open %s: %s", path,
					   strerror(error));
	if (!take_over(directory, path, mark))
		return directory;
	close(directory);
	return -1;
}

int gpumon_capture_open_ring(int directory, const char *path)
{
	int folder;

	if (mkdirat(directory, GPUMON_CAPTURE_RING, 0700) && errno != EEXIST) {
		cannot_make(path, errno);
		return -1;
	}
	folder = openat(directory, GPUMON_CAPTURE_RING,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		gpumon_capture_fail(-errno, GPUMON_ERROR_IO,
				    "cannot open %s/" GPUMON_CAPTURE_RING ": %s", path,
				    strerror(errno));
		return -1;
	}
	if (!flock(folder, LOCK_EX | LOCK_NB))
		return folder;
	close(folder);
	return gpumon_capture_fail(-EBUSY, GPUMON_ERROR_IO,
				   "another recorder writes to %s; choose another name", path);
}
