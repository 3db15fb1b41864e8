// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output_file.h"

/* Is there something that we may not replace? */
static int look(const char *path, bool force, struct gpumon_error *err)
{
	struct stat status;

	if (lstat(path, &status))
		return errno == ENOENT ? 0 :
					 gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, "io",
							  "%s: %s", path, strerror(errno));
	if (S_ISLNK(status.st_mode))
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -ELOOP, "io",
			"%s is a symbolic link, which is not followed: name the file", path);
	if (!S_ISREG(status.st_mode))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EEXIST, "io",
					"%s is no file: name one, or - for standard output", path);
	if (!force)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EEXIST, "io",
					"%s exists: name another file, or --force to replace it",
					path);
	return 0;
}

int gpumon_output_file_open(struct gpumon_output_file *file, const char *path, bool force,
			    bool text, FILE *standard, struct gpumon_error *err)
{
	int fd;

	memset(file, 0, sizeof(*file));
	file->force = force;
	if (!path || !strcmp(path, "-")) {
		file->path = "-";
		file->stream = standard;
		if (!text && fileno(standard) >= 0 && isatty(fileno(standard)))
			return gpumon_error_set(
				err, GPUMON_EXIT_USAGE, 0, "usage",
				"this is no text for a terminal: say where with -o FILE");
		return 0;
	}
	file->path = path;
	if (look(path, force, err))
		return -1;
	if (strlen(path) + sizeof(".XXXXXX") > sizeof(file->temporary))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENAMETOOLONG, "io",
					"%.100s...: the name is too long", path);
	snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", path);
	/* Mode 0600, and never something that was there already. */
	fd = mkostemp(file->temporary, O_CLOEXEC);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file->stream) {
		int saved = errno;

		if (fd >= 0) {
			close(fd);
			unlink(file->temporary);
		}
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -saved, "io", "%s: %s", path,
					strerror(saved));
	}
	return 0;
}

/* Give it its name; without --force only where nothing came in between. */
static int put(const struct gpumon_output_file *file)
{
	if (file->force)
		return rename(file->temporary, file->path) ? errno : 0;
	if (!renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* File systems that do not know that know links, or neither. */
	if (link(file->temporary, file->path))
		return errno;
	unlink(file->temporary);
	return 0;
}

int gpumon_output_file_close(struct gpumon_output_file *file, bool good, struct gpumon_error *err)
{
	int error = 0;

	if (!file->stream)
		return 0;
	errno = 0;
	if (fflush(file->stream) || ferror(file->stream))
		error = errno ? errno : EIO;
	if (!file->temporary[0]) {
		if (good && error)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, "io",
						"standard output: %s", strerror(error));
		return 0;
	}
	if (fclose(file->stream) && !error)
		error = errno;
	file->stream = NULL;
	if (good && !error)
		error = put(file);
	if (!good || error)
		unlink(file->temporary);
	if (good && error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, "io", "%s: %s", file->path,
					strerror(error));
	return 0;
}
