// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"
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

/*
 * Mode 0600, and never something that was there already. Without a name where the file system
 * can do that: a command that is stopped leaves nothing behind.
 */
static int make_file(struct gpumon_output_file *file)
{
	char parent[PATH_MAX];
	int fd = -1;

	snprintf(parent, sizeof(parent), "%s", file->path);
	/* Its name comes by way of there. */
	if (!access("/proc/self/fd", X_OK)) {
		fd = open(dirname(parent), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
			return fd;
	}
	snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", file->path);
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		file->temporary[0] = '\0';
	return fd;
}

int gpumon_output_file_open(struct gpumon_output_file *file, const char *path, bool force,
			    bool text, FILE *standard, struct gpumon_error *err)
{
	int fd;

	memset(file, 0, sizeof(*file));
	file->force = force;
	/* A file that may not grow is told as any other that cannot be written. */
	signal(SIGXFSZ, SIG_IGN);
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
	/* With room for what is put behind it for a while. */
	if (strlen(path) + sizeof(".XXXXXX") > sizeof(file->temporary))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENAMETOOLONG, "io",
					"%.100s...: the name is too long", path);
	if (look(path, force, err))
		return -1;
	fd = make_file(file);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file->stream) {
		int saved = errno;

		if (fd >= 0) {
			close(fd);
			if (file->temporary[0])
				unlink(file->temporary);
		}
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -saved, "io", "%s: %s", path,
					strerror(saved));
	}
	return 0;
}

/* A name for what has none: @path itself, or one beside it that is renamed then. */
static int give_name(struct gpumon_output_file *file)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(file->stream));
	if (!file->force)
		return linkat(AT_FDCWD, self, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) ? errno : 0;
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(file->temporary, sizeof(file->temporary), "%s.%06x", file->path,
			 (unsigned int)(gpumon_monotonic_ns() + i) & 0xffffff);
		if (!linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW))
			return rename(file->temporary, file->path) ? errno : 0;
		if (errno != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return errno;
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
	bool named = file->temporary[0];
	int error = 0;

	if (!file->stream)
		return 0;
	errno = 0;
	if (fflush(file->stream) || ferror(file->stream))
		error = errno ? errno : EIO;
	if (!strcmp(file->path, "-")) {
		if (good && error)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, "io",
						"standard output: %s", strerror(error));
		return 0;
	}
	if (!named && good && !error)
		error = give_name(file);
	/* Some file systems tell only here that there was no room; these know no nameless files. */
	if (fclose(file->stream) && !error)
		error = errno;
	file->stream = NULL;
	if (named && good && !error)
		error = put(file);
	if ((!good || error) && file->temporary[0])
		unlink(file->temporary);
	if (good && error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, "io", "%s: %s", file->path,
					strerror(error));
	return 0;
}
