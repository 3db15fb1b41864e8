// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read_at.h"

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
