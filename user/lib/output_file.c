// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "gzip.h"
#include "wait.h"
#include "output_file.h"

/* How many temporary names are tried. */
#define NAMES_MAX 100

static void at_size_limit(int number)
{
	(void)number;
}

/*
 * A file at its size limit is reported like any other failed write, instead of killing us. There is a
 * handler for that, because programs that we start would go on to ignore the signal.
 */
static void survive_size_limit(void)
{
	if (signal(SIGXFSZ, at_size_limit) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
}

/* Refuse a target that must not be replaced. */
static int check_target(const struct gpumon_output_file *file, struct gpumon_error *err)
{
	const char *path = file->path, *problem = gpumon_folder_problem(file->parent);
	struct stat status;

	if (problem)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_IO, "%s: %s",
					path, problem);
	if (fstatat(file->parent, file->name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ?
			       0 :
			       gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
						"%s: %s", path, strerror(errno));
	if (S_ISLNK(status.st_mode))
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -ELOOP, GPUMON_ERROR_IO,
			"%s is a symbolic link, which is not followed: name the file", path);
	if (!S_ISREG(status.st_mode))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EEXIST, GPUMON_ERROR_IO,
					"%s is no file: name one, or - for standard output", path);
	if (!file->force)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EEXIST, GPUMON_ERROR_IO,
					"%s exists: name another file, or --force to replace it",
					path);
	if (status.st_uid != geteuid())
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_IO,
			"%s is another user's, which is not replaced: name another file", path);
	return 0;
}

bool gpumon_output_file_same(const char *one, const char *other)
{
	const char *names[2];
	int folders[2] = { gpumon_folder_of(one, &names[0]), gpumon_folder_of(other, &names[1]) };
	struct stat status[2];
	bool same = !strcmp(names[0], names[1]);

	for (int i = 0; i < 2; i++) {
		same = same && folders[i] >= 0 && !fstat(folders[i], &status[i]);
		if (folders[i] >= 0)
			close(folders[i]);
	}
	return same && status[0].st_dev == status[1].st_dev && status[0].st_ino == status[1].st_ino;
}

/* A temporary name beside the file that no other program uses. */
static void next_name(struct gpumon_output_file *file)
{
	static unsigned int names;

	snprintf(file->temporary, sizeof(file->temporary), "%.*s.%06x",
		 (int)(sizeof(file->temporary) - 8), file->name,
		 (unsigned int)(gpumon_monotonic_ns() + names++) & 0xffffff);
}

/*
 * Mode 0600, and always a new file. Use O_TMPFILE where the file system has it: then a killed
 * command leaves nothing behind.
 */
static int make_file(struct gpumon_output_file *file)
{
	int fd = -1;

	/* linkat() later needs this path to name the file. */
	if (!access("/proc/self/fd", X_OK)) {
		fd = openat(file->parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
			return fd;
	}
	for (int i = 0; i < NAMES_MAX; i++) {
		next_name(file);
		fd = openat(file->parent, file->temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return fd;
}

bool gpumon_output_file_is_gzip(const char *path)
{
	size_t length = strlen(path);

	return length > strlen(".gz") && !strcmp(path + length - strlen(".gz"), ".gz");
}

int gpumon_output_file_open(struct gpumon_output_file *file, const char *path, bool force,
			    enum gpumon_output_content content, FILE *standard,
			    struct gpumon_error *err)
{
	int fd;

	memset(file, 0, sizeof(*file));
	file->force = force;
	file->parent = -1;
	survive_size_limit();
	if (!path || !strcmp(path, "-")) {
		file->path = "-";
		file->stream = standard;
		if (content != GPUMON_OUTPUT_TEXT && fileno(standard) >= 0 &&
		    isatty(fileno(standard)))
			return gpumon_error_set(
				err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
				"refusing to write this to a terminal: use -o FILE");
		return 0;
	}
	file->path = path;
	if (gpumon_output_file_is_gzip(path) && gpumon_gzip_possible(err))
		return -1;
	/* The temporary name is longer than the path. */
	if (strlen(path) + sizeof(".XXXXXX") > sizeof(file->temporary))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENAMETOOLONG, GPUMON_ERROR_IO,
					"%.100s...: the name is too long", path);
	file->parent = gpumon_folder_of(path, &file->name);
	if (file->parent < 0)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, file->parent, GPUMON_ERROR_IO,
					"%s: %s", path, strerror(-file->parent));
	if (check_target(file, err)) {
		close(file->parent);
		return -1;
	}
	fd = make_file(file);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (file->stream && content != GPUMON_OUTPUT_GZIP && gpumon_output_file_is_gzip(path)) {
		file->inner = file->stream;
		file->stream = gpumon_gzip_open(file->inner);
	}
	if (file->stream)
		return 0;
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "%s: %s", path,
			 strerror(errno));
	if (fd >= 0)
		close(fd);
	if (file->temporary[0])
		unlinkat(file->parent, file->temporary, 0);
	close(file->parent);
	return -1;
}

/*
 * Name a file of O_TMPFILE: directly, or through a temporary name and a rename to replace a file.
 */
static int give_name(struct gpumon_output_file *file)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d",
		 fileno(file->inner ? file->inner : file->stream));
	if (!file->force)
		return linkat(AT_FDCWD, self, file->parent, file->name, AT_SYMLINK_FOLLOW) ? errno :
											     0;
	for (int i = 0; i < NAMES_MAX; i++) {
		next_name(file);
		if (!linkat(AT_FDCWD, self, file->parent, file->temporary, AT_SYMLINK_FOLLOW))
			return renameat(file->parent, file->temporary, file->parent, file->name) ?
				       errno :
				       0;
		if (errno != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return errno;
}

/* Without --force, fail if a file of that name appeared meanwhile. */
static int rename_into_place(const struct gpumon_output_file *file)
{
	int folder = file->parent;

	if (file->force)
		return renameat(folder, file->temporary, folder, file->name) ? errno : 0;
	if (!syscall(SYS_renameat2, folder, file->temporary, folder, file->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* File systems without RENAME_NOREPLACE may have hard links. */
	if (linkat(folder, file->temporary, folder, file->name, 0))
		return errno;
	unlinkat(folder, file->temporary, 0);
	return 0;
}

int gpumon_output_file_show(struct gpumon_output_file *file, struct gpumon_error *err)
{
	int error;

	if (!strcmp(file->path, "-"))
		return 0;
	error = file->temporary[0] ? rename_into_place(file) : give_name(file);
	if (error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s",
					file->path, strerror(error));
	file->temporary[0] = '\0';
	file->shown = true;
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
	if (file->inner) {
		if (fclose(file->stream) && !error)
			error = errno;
		file->stream = file->inner;
		file->inner = NULL;
		if (fflush(file->stream) && !error)
			error = errno;
	}
	if (!strcmp(file->path, "-")) {
		if (good && error)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
						"standard output: %s", strerror(error));
		return 0;
	}
	if (!named && !file->shown && good && !error)
		error = give_name(file);
	/* Some file systems report a full disk only on close(). These do not support O_TMPFILE. */
	if (fclose(file->stream) && !error)
		error = errno;
	file->stream = NULL;
	if (named && good && !error)
		error = rename_into_place(file);
	if ((!good || error) && file->temporary[0])
		unlinkat(file->parent, file->temporary, 0);
	close(file->parent);
	file->parent = -1;
	if (good && error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s",
					file->path, strerror(error));
	return 0;
}
