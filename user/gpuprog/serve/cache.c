// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "cache.h"
#include "lib/folder.h"
#include "lib/map.h"
#include "lib/read_at.h"

#define MAGIC 0x3165686361637067ull

/* What a file begins with; the key and the data follow. */
struct head {
	uint64_t magic;
	uint64_t key_size;
	uint64_t size;
	uint64_t sum; /* of what follows */
};

/* A file of the cache, as it counts for its bound. */
struct file {
	char name[NAME_MAX + 1];
	uint64_t size;
	struct timespec used;
};

#define NAME_BYTES 17

static bool is_ours(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_uid == geteuid();
}

/* Open a folder within @parent, and close @parent. -1: it does not exist, or belongs to another user. */
static int enter(int parent, const char *name, bool make, int flags)
{
	int fd;

	if (parent < 0)
		return -1;
	flags |= O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	fd = openat(parent, name, flags);
	/* Root makes no folder in the home of another user. */
	if (fd < 0 && errno == ENOENT && make && is_ours(parent) && !mkdirat(parent, name, 0700))
		fd = openat(parent, name, flags);
	close(parent);
	if (fd >= 0 && !is_ours(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The folder, or -1. */
static int open_folder(const char *kind, bool make)
{
	const char *path = getenv("XDG_CACHE_HOME"), *name = ".cache";
	int fd = -1;

	if (path && *path == '/') {
		fd = gpumon_folder_of(path, &name);
	} else {
		path = getenv("HOME");
		if (path && *path == '/')
			fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	fd = enter(fd, name, make, 0);
	fd = enter(fd, "gpumon", make, O_NOFOLLOW);
	return enter(fd, kind, make, O_NOFOLLOW);
}

static void name_of(const void *key, size_t key_size, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016" PRIx64, gpumon_hash_bytes(key, key_size));
}

/* A regular file that belongs to this user, and that other users cannot write. */
static bool is_trusted(int fd, uint64_t *size)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & 022) || status.st_size > (off_t)GPUMON_CACHE_MAX)
		return false;
	*size = (uint64_t)status.st_size;
	return true;
}

/* The data of a whole file with this key, moved to its beginning; else false. */
static bool take(char *content, uint64_t length, const void *key, size_t key_size, size_t *size)
{
	struct head head;

	if (length < sizeof(head))
		return false;
	memcpy(&head, content, sizeof(head));
	length -= sizeof(head);
	if (head.magic != MAGIC || head.key_size != key_size || key_size > length ||
	    head.size != length - key_size || !head.size ||
	    head.sum != gpumon_hash_bytes(content + sizeof(head), length) ||
	    memcmp(content + sizeof(head), key, key_size) != 0)
		return false;
	*size = head.size;
	memmove(content, content + sizeof(head) + key_size, head.size);
	return true;
}

void *gpumon_cache_read(const char *kind, const void *key, size_t key_size, size_t *size)
{
	int folder = open_folder(kind, false), fd = -1;
	char name[NAME_BYTES], *content = NULL;
	uint64_t length;
	bool good;

	name_of(key, key_size, name);
	if (folder >= 0)
		fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && is_trusted(fd, &length))
		content = malloc(length + 1);
	good = content && gpumon_read_at(fd, content, length, 0) == (ssize_t)length &&
	       take(content, length, key, key_size, size);
	if (good) {
		/* It was used last. */
		(void)futimens(fd, NULL);
	} else {
		free(content);
		content = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return content;
}

static int by_use(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec < y->used.tv_nsec) - (x->used.tv_nsec > y->used.tv_nsec);
}

/* Remove what was not used for longest, until the rest is small enough. */
static void limit_size(int folder)
{
	DIR *entries = gpumon_folder_entries(folder, ".", 0);
	struct file *files = NULL, *file;
	struct dirent *entry;
	struct stat status;
	uint64_t total = 0;
	size_t n = 0;

	while (entries && (entry = readdir(entries))) {
		if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		file = GPUMON_GROW(files, n);
		if (!file)
			break;
		snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
		file->size = (uint64_t)status.st_size;
		file->used = status.st_mtim;
	}
	if (entries)
		closedir(entries);
	if (n)
		qsort(files, n, sizeof(*files), by_use);
	for (size_t i = 0; i < n; i++) {
		total += files[i].size;
		if (total > GPUMON_CACHE_MAX)
			unlinkat(folder, files[i].name, 0);
	}
	free(files);
}

static bool write_all(int fd, const void *data, size_t size)
{
	FILE *file = fdopen(fd, "w");
	bool whole;

	if (!file) {
		close(fd);
		return false;
	}
	whole = fwrite(data, 1, size, file) == size;
	return !fclose(file) && whole;
}

/* @name is complete, or as it was before. */
static bool replace(int folder, const char *name, const void *content, size_t size)
{
	char temporary[NAME_BYTES + 16];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
	/* Of a process with the same number that was killed. */
	unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (write_all(fd, content, size) && !renameat(folder, temporary, folder, name))
		return true;
	unlinkat(folder, temporary, 0);
	return false;
}

void gpumon_cache_write(const char *kind, const void *key, size_t key_size, const void *data,
			size_t size)
{
	struct head head = { .magic = MAGIC, .key_size = key_size, .size = size };
	size_t rest = key_size + size;
	char name[NAME_BYTES], *content;
	int folder;

	if (key_size > GPUMON_CACHE_MAX || size > GPUMON_CACHE_MAX ||
	    sizeof(head) + rest > GPUMON_CACHE_MAX)
		return;
	folder = open_folder(kind, true);
	content = folder >= 0 ? malloc(sizeof(head) + rest) : NULL;
	if (content) {
		memcpy(content + sizeof(head), key, key_size);
		memcpy(content + sizeof(head) + key_size, data, size);
		head.sum = gpumon_hash_bytes(content + sizeof(head), rest);
		memcpy(content, &head, sizeof(head));
		name_of(key, key_size, name);
		if (replace(folder, name, content, sizeof(head) + rest))
			limit_size(folder);
	}
	free(content);
	if (folder >= 0)
		close(folder);
}
