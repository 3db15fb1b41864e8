/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The socket that libraries connect to, in a folder that nobody else can look into. */
#ifndef GPUMON_RECORD_LISTENER_H
#define GPUMON_RECORD_LISTENER_H

#include <sys/un.h>

#include "base/error.h"

/**
 * struct gpumon_listener - a listening socket
 * @fd: socket, -1 when closed
 * @lock: the folder, locked as long as this recorder lives; -1 without
 * @reserve: a descriptor to give up when there are no more, so that who waits can be refused
 * @folder: mode 0700, ours alone; "" when there is none
 * @path: of the socket
 */
struct gpumon_listener {
	int fd;
	int lock;
	int reserve;
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Listen in a new folder below TMPDIR, or /tmp. 0, or -1 with @err. */
int gpumon_listener_open(struct gpumon_listener *listener, struct gpumon_error *err);

/* One that waits: a socket that does not block, or a negative errno (-EAGAIN: nobody). */
int gpumon_listener_accept(struct gpumon_listener *listener);

/* Socket and folder are removed. */
void gpumon_listener_close(struct gpumon_listener *listener);

#endif /* GPUMON_RECORD_LISTENER_H */
