// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/folder.h"
#include "directory.h"
#include "capture_internal.h"

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
	/* With a slash at the end, O_NOFOLLOW would follow a link all the same. */
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
