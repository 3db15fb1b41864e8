// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

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
