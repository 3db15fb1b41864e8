// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_library.h"
#include "capture/elf_find.h"
#include "lib/files.h"
#include "lib/wait.h"

#define LIBRARY_MAX (256u << 20)

/* How long the loader may take: another thread of the process may have its lock. */
#define LOAD_MS 10000
#define STEP_NS 500000
/* How long the thread in the process waits for an answer, should this program be killed. */
#define ANSWER_MS 5000

bool gpumon_attach_sees(const char *root, pid_t pid, const char *path)
{
	struct stat here, there;
	char top[PATH_MAX];
	int fd;

	snprintf(top, sizeof(top), "%s/proc/%d/root", root, (int)pid);
	fd = gpumon_elf_open(top, path, &there);
	if (fd < 0)
		return false;
	close(fd);
	/* The process may run as another user: everybody has to be able to read the file. */
	return !stat(path, &here) && here.st_ino == there.st_ino && here.st_dev == there.st_dev &&
	       (there.st_mode & 0004);
}

void gpumon_attach_arguments(const struct gpumon_attach_target *target, uint64_t memory,
			     const char *path, bool in_memory,
			     struct gpumon_remote_arguments *arguments)
{
	memset(arguments, 0, sizeof(*arguments));
	arguments->dlopen = target->dlopen;
	arguments->dlsym = target->dlsym;
	arguments->dlerror = target->dlerror;
	arguments->pthread_detach = target->pthread_detach;
	arguments->munmap = target->munmap;
	arguments->memory = memory;
	arguments->memory_size = GPUMON_REMOTE_SIZE;
	arguments->mode = target->mode;
	arguments->created = -1;
	arguments->memory_file = in_memory;
	arguments->file = -1;
	arguments->waits = ANSWER_MS;
	snprintf(arguments->symbol, sizeof(arguments->symbol), "gpumon_enter_late");
	snprintf(arguments->name, sizeof(arguments->name), "libgpumon-inject.so");
	snprintf(arguments->path, sizeof(arguments->path), "%s", path);
}

static bool answer(const struct gpumon_attach_target *target, uint64_t arguments, uint32_t with)
{
	return gpumon_remote_write(target->pid,
				   arguments + offsetof(struct gpumon_remote_arguments, answer),
				   &with, sizeof(with));
}

static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

/* Fills the file in the process's memory, through its descriptor. */
static int fill_file(const struct gpumon_attach_target *target, uint64_t arguments, int file,
		     const char *path, struct gpumon_error *err)
{
	char name[PATH_MAX], inside[64] = { 0 };
	size_t size = 0;
	char *bytes = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), there = -1, error = 0;

	snprintf(name, sizeof(name), "%s/proc/%d/fd/%d", target->root, (int)target->pid, file);
	if (fd >= 0)
		bytes = gpumon_read_whole(fd, LIBRARY_MAX, &size);
	if (bytes)
		there = open(name, O_WRONLY | O_CLOEXEC);
	if (there < 0 || !write_all(there, bytes, size))
		error = errno;
	if (fd >= 0)
		close(fd);
	if (there >= 0)
		close(there);
	free(bytes);
	snprintf(inside, sizeof(inside), "/proc/self/fd/%d", file);
	if (!error &&
	    !gpumon_remote_write(target->pid,
				 arguments + offsetof(struct gpumon_remote_arguments, path), inside,
				 sizeof(inside)))
		error = errno;
	if (!error)
		return 0;
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, -error, GPUMON_ERROR_IO,
		"the library cannot be brought into process %d: its copy in memory cannot be filled: %s",
		(int)target->pid, strerror(error));
}

static int say_failed(const struct gpumon_attach_target *target,
		      const struct gpumon_remote_arguments *is, struct gpumon_error *err)
{
	char text[sizeof(is->text)];

	switch (is->step) {
	case GPUMON_STEP_NO_FILE:
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, is->file, GPUMON_ERROR_UNSUPPORTED,
			"the library cannot be brought into process %d: memfd_create() in it: %s",
			(int)target->pid, strerror(-is->file));
		return -1;
	case GPUMON_STEP_NOT_LOADED:
		snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, is->text);
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ELIBACC, GPUMON_ERROR_UNSUPPORTED,
			"the library cannot be brought into process %d: its loader says: %.300s",
			(int)target->pid, text[0] ? text : "nothing");
		return 1;
	case GPUMON_STEP_NO_SYMBOL:
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOSYS, GPUMON_ERROR_UNSUPPORTED,
			"the library cannot be brought into process %d: it is of another version than this program, or built without CUDA",
			(int)target->pid);
	default:
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_UNSUPPORTED,
			"the library was brought into process %d and may not begin there: the process has a sandbox (seccomp), or no memory",
			(int)target->pid);
	}
}

int gpumon_attach_talk(const struct gpumon_attach_target *target, uint64_t arguments,
		       const char *path, struct gpumon_error *err)
{
	uint64_t until = gpumon_monotonic_ns() + LOAD_MS * 1000000ull;
	const struct timespec pause = { 0, STEP_NS };
	struct gpumon_remote_arguments is;
	bool is_filled = false;
	int ret;

	for (;;) {
		if (!gpumon_remote_read(target->pid, arguments, &is, sizeof(is)))
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
				"process %d ended, or began another program, before the library was in it",
				(int)target->pid);
		if (is.step == GPUMON_STEP_FILE && !is_filled) {
			is_filled = true;
			ret = fill_file(target, arguments, is.file, path, err);
			(void)answer(target, arguments,
				     ret ? GPUMON_ANSWER_END : GPUMON_ANSWER_GO_ON);
			if (ret)
				return ret;
		} else if (is.step >= GPUMON_STEP_ENTERED) {
			(void)answer(target, arguments, GPUMON_ANSWER_END);
			if (is.step == GPUMON_STEP_ENTERED && is.result)
				return 0;
			return say_failed(target, &is, err);
		}
		if (gpumon_monotonic_ns() >= until)
			return gpumon_error_set(
				err, GPUMON_EXIT_IMPOSSIBLE, -ETIMEDOUT, GPUMON_ERROR_UNSUPPORTED,
				"the loader of process %d has not taken the library within %d s: another thread of the process holds its lock. The library comes when that lets go of it: try again then",
				(int)target->pid, LOAD_MS / 1000);
		(void)nanosleep(&pause, NULL);
	}
}
