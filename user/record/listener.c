// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listener.h"

#define TEMPLATE    "/gpumon-XXXXXX"
#define SOCKET_NAME "/socket"
/* Ranks of a job start all at once. */
#define BACKLOG 1024

static int make_folder(struct gpumon_listener *listener, struct gpumon_error *err)
{
	const char *parent = getenv("TMPDIR");

	/* Names of sockets are short, and who starts elsewhere needs the whole path. */
	if (!parent || parent[0] != '/' ||
	    strlen(parent) + strlen(TEMPLATE SOCKET_NAME) >= sizeof(listener->path))
		parent = "/tmp";
	snprintf(listener->folder, sizeof(listener->folder), "%s%s", parent, TEMPLATE);
	/* Mode 0700, and never something that was there already. */
	if (!mkdtemp(listener->folder)) {
		listener->folder[0] = '\0';
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -errno, "io",
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
	listener->reserve = -1;
	if (make_folder(listener, err))
		return -1;
	snprintf(listener->path, sizeof(listener->path), "%.*s%s",
		 (int)(sizeof(listener->path) - sizeof(SOCKET_NAME)), listener->folder,
		 SOCKET_NAME);
	memcpy(address.sun_path, listener->path, sizeof(address.sun_path));

	listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd >= 0 &&
	    !bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) &&
	    !chmod(listener->path, 0600) && !listen(listener->fd, BACKLOG)) {
		listener->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return 0;
	}
	saved = errno;
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -saved, "io", "the recorder's socket %s: %s",
			 listener->path, strerror(saved));
	gpumon_listener_close(listener);
	return -1;
}

/* Without a descriptor for it, who waits would wait for ever, and we would never sleep. */
static void turn_away(struct gpumon_listener *listener)
{
	int fd;

	if (listener->reserve >= 0)
		close(listener->reserve);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	listener->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int gpumon_listener_accept(struct gpumon_listener *listener)
{
	for (;;) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			return fd;
		if (errno == EMFILE || errno == ENFILE) {
			turn_away(listener);
			return -EMFILE;
		}
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
	if (listener->path[0])
		unlink(listener->path);
	listener->path[0] = '\0';
	if (listener->folder[0])
		rmdir(listener->folder);
	listener->folder[0] = '\0';
}
