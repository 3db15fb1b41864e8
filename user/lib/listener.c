// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "listener.h"

#define TEMPLATE    "/gpumon-XXXXXX"
#define SOCKET_NAME "/socket"
/* All ranks of a job connect at once. */
#define BACKLOG 1024
/* Age at which a socket without a listener is stale, and how many files are checked for that. */
#define STALE_S	  60
#define SWEEP_MAX 10000

static int open_folder(const char *folder)
{
	return open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * A recorder locks its folder, and the kernel unlocks it however the recorder ends. A test by
 * connecting would disturb a live one. A new recorder may not have its lock yet.
 */
static bool is_left_behind(const char *folder, const char *path)
{
	struct stat status;
	bool unlocked;
	int fd;

	if (lstat(path, &status) || !S_ISSOCK(status.st_mode) ||
	    time(NULL) - status.st_mtime < STALE_S)
		return false;
	fd = open_folder(folder);
	unlocked = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);
	if (fd >= 0)
		close(fd);
	return unlocked;
}

static void sweep_dead_sockets(const char *parent)
{
	DIR *entries = opendir(parent);
	struct dirent *entry;

	for (int i = 0; entries && i < SWEEP_MAX && (entry = readdir(entries)); i++) {
		char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
		char path[sizeof(folder) + sizeof(SOCKET_NAME)];
		struct stat status;

		if (strncmp(entry->d_name, &TEMPLATE[1], strlen("gpumon-")) != 0 ||
		    strlen(entry->d_name) != strlen(TEMPLATE) - 1)
			continue;
		if (snprintf(folder, sizeof(folder), "%s/%.13s", parent, entry->d_name) >=
			    (int)sizeof(folder) ||
		    lstat(folder, &status) || !S_ISDIR(status.st_mode) ||
		    status.st_uid != geteuid() || (status.st_mode & 077))
			continue;
		snprintf(path, sizeof(path), "%s" SOCKET_NAME, folder);
		if (!is_left_behind(folder, path))
			continue;
		unlink(path);
		rmdir(folder);
	}
	if (entries)
		closedir(entries);
}

static int make_folder(struct gpumon_listener *listener, struct gpumon_error *err)
{
	const char *parent = getenv("TMPDIR"), *name, *problem;
	int folder;

	/* Socket paths are short, and programs in other directories need an absolute path. */
	if (!parent || parent[0] != '/' ||
	    strlen(parent) + strlen(TEMPLATE SOCKET_NAME) >= sizeof(listener->path))
		parent = "/tmp";
	snprintf(listener->folder, sizeof(listener->folder), "%s%s", parent, TEMPLATE);
	folder = gpumon_folder_of(listener->folder, &name);
	problem = folder < 0 ? NULL : gpumon_folder_problem(folder);
	if (folder >= 0)
		close(folder);
	if (problem) {
		listener->folder[0] = '\0';
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_IO,
			"no folder for the recorder's socket below %s: %s (TMPDIR says where)",
			parent, problem);
	}
	sweep_dead_sockets(parent);
	/* Mode 0700, and always a new folder. */
	if (!mkdtemp(listener->folder)) {
		listener->folder[0] = '\0';
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
			"no folder for the recorder's socket below %s: %s (TMPDIR says where)",
			parent, strerror(errno));
	}
	return 0;
}

int gpumon_listener_open(struct gpumon_listener *listener, struct gpumon_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int saved;

	memset(listener, 0, sizeof(*listener));
	listener->fd = -1;
	listener->lock = -1;
	listener->reserve = -1;
	if (make_folder(listener, err))
		return -1;
	snprintf(listener->path, sizeof(listener->path), "%.*s%s",
		 (int)(sizeof(listener->path) - sizeof(SOCKET_NAME)), listener->folder,
		 SOCKET_NAME);
	memcpy(address.sun_path, listener->path, sizeof(address.sun_path));

	listener->lock = open_folder(listener->folder);
	if (listener->lock >= 0)
		(void)flock(listener->lock, LOCK_EX | LOCK_NB);
	listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd >= 0 &&
	    !bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) &&
	    !chmod(listener->path, 0600) && !listen(listener->fd, BACKLOG)) {
		listener->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return 0;
	}
	saved = errno;
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -saved, GPUMON_ERROR_IO,
			 "the recorder's socket %s: %s%s", listener->path, strerror(saved),
			 saved == EMFILE ? " (ulimit -n)" : "");
	gpumon_listener_close(listener);
	return -1;
}

/*
 * Without a free descriptor, the connecting process would wait for ever and we would busy-loop. So
 * accept and close.
 */
static int turn_away(struct gpumon_listener *listener)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	int fd, ret;

	if (listener->reserve >= 0)
		close(listener->reserve);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ret = fd < 0 ? -errno : -EMFILE;
	listener->turned_away = 0;
	if (fd >= 0) {
		if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
			listener->turned_away = peer.pid;
		close(fd);
	}
	listener->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return ret;
}

int gpumon_listener_accept(struct gpumon_listener *listener)
{
	for (;;) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			return fd;
		/* The kernel says so even where nobody wants to connect. */
		if (errno == EMFILE || errno == ENFILE)
			return turn_away(listener);
		if (errno != EINTR && errno != ECONNABORTED)
			return -errno;
	}
}

void gpumon_listener_close(struct gpumon_listener *listener)
{
	if (listener->fd >= 0)
		close(listener->fd);
	listener->fd = -1;
	if (listener->reserve >= 0)
		close(listener->reserve);
	listener->reserve = -1;
	if (listener->lock >= 0)
		close(listener->lock);
	listener->lock = -1;
	if (listener->path[0])
		unlink(listener->path);
	listener->path[0] = '\0';
	if (listener->folder[0])
		rmdir(listener->folder);
	listener->folder[0] = '\0';
}
