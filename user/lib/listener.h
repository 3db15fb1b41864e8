/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The socket that libraries connect to, in a private folder. */
#ifndef GPUMON_LIB_LISTENER_H
#define GPUMON_LIB_LISTENER_H

#include <sys/un.h>

#include "error.h"

/**
 * struct gpumon_listener - a listening socket
 * @fd: socket, -1 when closed
 * @lock: descriptor of the folder, locked while this recorder lives, or -1
 * @reserve: a spare descriptor, closed to refuse a connection when there are no others left
 * @turned_away: the process whose connection was refused so, 0 if that is not known
 * @folder: folder of mode 0700, "" if there is none
 * @path: path of the socket
 */
struct gpumon_listener {
	int fd;
	int lock;
	int reserve;
	pid_t turned_away;
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Listen in a new folder below TMPDIR, or /tmp. 0, or -1 with @err. */
int gpumon_listener_open(struct gpumon_listener *listener, struct gpumon_error *err);

/*
 * Accept a connection. A non-blocking socket, or a negative errno: -EAGAIN: there is none; -EMFILE: one was
 * closed for want of a descriptor.
 */
int gpumon_listener_accept(struct gpumon_listener *listener);

/* Remove the socket and its folder. */
void gpumon_listener_close(struct gpumon_listener *listener);

#endif /* GPUMON_LIB_LISTENER_H */
