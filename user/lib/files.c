// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

ssize_t gpumon_read_at(int fd, void *to, size_t size, uint64_t at)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)to + have, size - have, (off_t)(at + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

char *gpumon_read_whole(int fd, size_t most, size_t *size)
{
	struct stat status;
	ssize_t bytes;
	char *text;

	if (fstat(fd, &status))
		return NULL;
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > most) {
		errno = S_ISREG(status.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return NULL;
	bytes = gpumon_read_at(fd, text, (size_t)status.st_size, 0);
	if (bytes >= 0) {
		text[bytes] = '\0';
		*size = (size_t)bytes;
		return text;
	}
	free(text);
	return NULL;
}

char *gpumon_read_file(int folder, const char *path, size_t most)
{
	/* Opening a pipe would wait for a writer for ever. */
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), error;
	char *text;
	size_t size;

	if (fd < 0)
		return NULL;
	text = gpumon_read_whole(fd, most, &size);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

bool gpumon_read_short(const char *root, const char *name, char *text, size_t room)
{
	char path[PATH_MAX];
	FILE *stream;
	size_t n;

	snprintf(path, sizeof(path), "%s%s", root, name);
	stream = fopen(path, "re");
	if (!stream)
		return false;
	n = fread(text, 1, room - 1, stream);
	fclose(stream);
	text[n] = '\0';
	return true;
}

int gpumon_folder_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	size_t length;
	int fd;

	*name = path;
	if (slash) {
		*name = slash[1] ? slash + 1 : ".";
		length = slash == path ? 1 : (size_t)(slash - path);
		if (length >= sizeof(folder))
			return -ENAMETOOLONG;
		memcpy(folder, path, length);
		folder[length] = '\0';
	}
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *gpumon_folder_problem(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return strerror(errno);
	/* With the sticky bit, as on /tmp, only its owner can rename or remove a file. */
	if ((status.st_mode & 0002) && !(status.st_mode & S_ISVTX))
		return "everybody can replace files in that folder, it has no sticky bit (chmod o-w, or +t)";
	return NULL;
}

DIR *gpumon_folder_entries(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags), error;
	DIR *entries;

	if (fd < 0)
		return NULL;
	entries = fdopendir(fd);
	if (!entries) {
		error = errno;
		close(fd);
		errno = error;
	}
	return entries;
}

bool gpumon_folder_is_gone(int folder)
{
	struct stat status;

	return !fstat(folder, &status) && !status.st_nlink;
}

uint64_t gpumon_folder_bytes(int folder, const char *name)
{
	DIR *entries = gpumon_folder_entries(folder, name, O_NOFOLLOW);
	const struct dirent *entry;
	uint64_t bytes = 0;

	while (entries && (entry = readdir(entries))) {
		struct stat status;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(status.st_mode))
			bytes += gpumon_folder_bytes(dirfd(entries), entry->d_name);
		else if (S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	}
	if (entries)
		closedir(entries);
	return bytes;
}
