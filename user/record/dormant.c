// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/files.h"
#include "abi/channel.h"
#include "dormant.h"
#include "lib/process_info.h"
#include "target_process.h"

#define LIBRARY		"libgpumon-inject.so"
#define ENVIRONMENT_MAX (128U << 10)

/* The search for a socket, and its result. */
struct search {
	const char *root;
	pid_t pid;
	unsigned int inner_pid; /* its pid in its own pid namespace */
	unsigned int filters;	/* its seccomp filters when the library began to listen */
	bool in_sandbox;	/* it has more now: it may be ended for its answer */
	int error;		/* of the last connect(), 0: no socket found */
};

static FILE *open_proc(const struct search *search, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/%s", search->root, (int)search->pid, name);
	return fopen(path, "re");
}

/* "gpumon-UID-PID" or "gpumon-UID-PID-FILTERS". The uid is as the process sees it, so accept any. */
static bool name_fits(struct search *search, const char *name, const char *suffix)
{
	unsigned int uid, pid, filters = 0;
	char expected[64], with[16] = "";
	int numbers = sscanf(name, GPUMON_LISTEN_NAME "-%u", &uid, &pid, &filters);

	if (numbers < 2 || pid != search->inner_pid)
		return false;
	if (numbers == 3)
		snprintf(with, sizeof(with), "-%u", filters);
	snprintf(expected, sizeof(expected), GPUMON_LISTEN_NAME "%s%s", uid, pid, with, suffix);
	search->filters = filters;
	return !strcmp(expected, name);
}

/* A connection wakes the library's thread, which makes calls that the program may have forbidden since. */
static bool may_be_woken(struct search *search)
{
	unsigned int filters;

	search->in_sandbox =
		gpumon_looks_filters(search->root, search->pid, search->pid, &filters) &&
		filters > search->filters;
	return !search->in_sandbox;
}

/* The listener must be that very process, since anybody can use the name. */
static bool is_process(int fd, pid_t pid)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == pid;
}

static int connect_to(struct search *search, const struct sockaddr_un *address, socklen_t length)
{
	int fd;

	if (!may_be_woken(search))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		search->error = errno;
		return -1;
	}
	if (connect(fd, (const struct sockaddr *)address, length))
		search->error = errno;
	else if (is_process(fd, search->pid))
		return fd;
	close(fd);
	return -1;
}

static bool same_network(const struct search *search)
{
	char path[PATH_MAX];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "%s/proc/%d/ns/net", search->root, (int)search->pid);
	return stat(path, &theirs) || stat("/proc/self/ns/net", &ours) ||
	       (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

static int connect_abstract(struct search *search, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int ours = -1, theirs = -1, fd = -1;
	char path[PATH_MAX];

	if (length + 1 > sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path + 1, name, length);
	/* The process has another network namespace, and abstract sockets belong to a namespace. */
	if (!same_network(search)) {
		snprintf(path, sizeof(path), "%s/proc/%d/ns/net", search->root, (int)search->pid);
		ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		theirs = open(path, O_RDONLY | O_CLOEXEC);
		if (ours < 0 || theirs < 0 || setns(theirs, CLONE_NEWNET)) {
			search->error = errno;
			goto out;
		}
	}
	fd = connect_to(search, &address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	if (theirs >= 0 && setns(ours, CLONE_NEWNET)) {
		/* Better no socket than continuing in the wrong namespace. */
		search->error = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
out:
	if (ours >= 0)
		close(ours);
	if (theirs >= 0)
		close(theirs);
	return fd;
}

static int search_abstract(struct search *search)
{
	FILE *file = open_proc(search, "net/unix");
	char line[512];
	int fd = -1;

	if (!file)
		return -1;
	while (fd < 0 && fgets(line, sizeof(line), file)) {
		char *name = strchr(line, '@');

		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (name_fits(search, name + 1, ""))
			fd = connect_abstract(search, name + 1);
	}
	fclose(file);
	return fd;
}

/* GPUMON_LISTEN in the initial environment of the process. */
static char *listen_folder(const struct search *search)
{
	FILE *file = open_proc(search, "environ");
	char *text = gpumon_malloc(ENVIRONMENT_MAX), *folder = NULL;
	size_t size;

	if (!file)
		goto out;
	size = fread(text, 1, ENVIRONMENT_MAX - 1, file);
	text[size] = '\0';
	for (const char *at = text; at < text + size; at += strlen(at) + 1) {
		if (strncmp(at, "GPUMON_LISTEN=", 14) != 0 || at[14] != '/')
			continue;
		folder = gpumon_strdup(at + 14);
		break;
	}
out:
	if (file)
		fclose(file);
	free(text);
	return folder;
}

static int connect_file(struct search *search, int folder, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int fd;

	if (file < 0) {
		search->error = errno;
		return -1;
	}
	/* The real path may be too long for a socket address. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	fd = connect_to(search, &address, sizeof(address));
	close(file);
	return fd;
}

static int search_folder(struct search *search)
{
	char *folder = listen_folder(search);
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *entries;
	int fd = -1;

	if (!folder)
		return -1;
	/* The path as the process sees it, which may have another root. */
	snprintf(path, sizeof(path), "%s/proc/%d/root%s", search->root, (int)search->pid, folder);
	free(folder);
	entries = gpumon_folder_entries(AT_FDCWD, path, 0);
	if (!entries)
		return -1;
	while (fd < 0 && (entry = readdir(entries)))
		if (name_fits(search, entry->d_name, ".sock"))
			fd = connect_file(search, dirfd(entries), entry->d_name);
	closedir(entries);
	return fd;
}

/* 1, 0, or -1 without permission to look. */
static int has_library(const struct search *search)
{
	FILE *file = open_proc(search, "maps");
	char *line = NULL;
	size_t room = 0;
	int found = 0;

	if (!file)
		return -1;
	while (!found && getline(&line, &room, file) > 0)
		/* Also of a copy in memory, "/memfd:libgpumon-inject.so (deleted)". */
		found = !!strstr(line, LIBRARY);
	if (ferror(file))
		found = -1;
	free(line);
	fclose(file);
	return found;
}

static int tell_why(const struct search *search, struct gpumon_error *err)
{
	if (search->in_sandbox) {
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_UNSUPPORTED,
			"process %d has forbidden itself system calls (seccomp) since it began to use the GPU, and may be ended if its injection library answers: record it from its start",
			(int)search->pid);
		return 1;
	}
	switch (has_library(search)) {
	case 1:
		if (!search->error || search->error == ECONNREFUSED)
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, -EBUSY, GPUMON_ERROR_REFUSED,
				"the injection library of process %d does not listen: it is recorded already, or CUDA is just being initialised",
				(int)search->pid);
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -search->error, GPUMON_ERROR_IO,
					"the injection library of process %d: %s", (int)search->pid,
					strerror(search->error));
	case 0:
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_UNSUPPORTED,
			"process %d has no injection library: start it with CUDA_INJECTION64_PATH=PATH/" LIBRARY
			", or under \"gpumon-user record\"",
			(int)search->pid);
		return 1;
	default:
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EACCES, GPUMON_ERROR_PERMISSION,
			"process %d is not yours to look into: run this as its user or as root",
			(int)search->pid);
	}
}

/* Refuse processes that cannot be recorded at all. */
static int check_kind(const char *root, pid_t pid, struct gpumon_error *err)
{
	pid_t process;

	switch (gpumon_process_kind(root, pid, &process)) {
	case GPUMON_PROCESS_THREAD:
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_IO,
					"%d is a thread of process %d: record that one", (int)pid,
					(int)process);
	case GPUMON_PROCESS_KERNEL:
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_IO,
			"process %d has no memory: it is the kernel's, or at its end", (int)pid);
	case GPUMON_PROCESS_ENDED:
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_IO,
					"process %d has ended and is a zombie", (int)pid);
	default:
		return 0;
	}
}

int gpumon_dormant_connect(const char *root, pid_t pid, int *socket, struct gpumon_error *err)
{
	struct search search = { .root = root, .pid = pid };
	pid_t other;
	uid_t owner;
	int ret = gpumon_process_owner(root, pid, &owner);

	*socket = -1;
	if (ret)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO,
					"no process %d", (int)pid);
	if (check_kind(root, pid, err))
		return -1;
	if (geteuid() != 0 && owner != geteuid())
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"process %d is another user's: run this as that user or as root", (int)pid);
	other = gpumon_process_recorder(root, pid);
	if (other)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EBUSY, GPUMON_ERROR_REFUSED,
			"process %d is recorded already, by gpumon-user %d: one recording at a time",
			(int)pid, (int)other);
	search.inner_pid = (unsigned int)(gpumon_process_inner_pid(root, pid) ?: pid);
	*socket = search_abstract(&search);
	if (*socket < 0)
		*socket = search_folder(&search);
	return *socket < 0 ? tell_why(&search, err) : 0;
}
