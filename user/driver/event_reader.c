// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads whole event records from debugfs gpumon/events.
 *
 * The module returns whole records. A pipe or a socket in its place (a test, a replayed capture)
 * may split them anywhere, so a partial record is kept until the rest arrives.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event_reader.h"

void gpumon_event_reader_attach(struct gpumon_event_reader *reader, int fd)
{
	reader->fd = fd;
	reader->carry = 0;
	reader->carry_at = 0;
	reader->cut = 0;
}

int gpumon_event_reader_open(struct gpumon_event_reader *reader, const char *path)
{
	gpumon_event_reader_attach(reader, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	return reader->fd < 0 ? -errno : 0;
}

int gpumon_event_reader_wait(struct gpumon_event_reader *reader, uint64_t timeout_ns,
			     const sigset_t *sigmask)
{
	struct pollfd pollfd = { .fd = reader->fd, .events = POLLIN };
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};
	int ready = ppoll(&pollfd, 1, &timeout, sigmask);

	return ready < 0 ? -errno : ready > 0;
}

ssize_t gpumon_event_reader_read(struct gpumon_event_reader *reader,
				 const struct gpumon_event **events)
{
	char *bytes = (char *)reader->buffer;
	size_t whole;

	if (reader->carry && reader->carry_at)
		memmove(bytes, bytes + reader->carry_at, reader->carry);
	reader->carry_at = 0;

	/* A partial record does not mean that the file is empty: read on until it says so. */
	do {
		ssize_t got = read(reader->fd, bytes + reader->carry,
				   sizeof(reader->buffer) - reader->carry);

		if (got < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!got) {
			reader->cut += reader->carry > 0;
			reader->carry = 0;
			return 0;
		}
		reader->carry += (size_t)got;
	} while (reader->carry < sizeof(reader->buffer[0]));

	whole = reader->carry / sizeof(reader->buffer[0]);
	reader->carry %= sizeof(reader->buffer[0]);
	reader->carry_at = whole * sizeof(reader->buffer[0]);

	*events = reader->buffer;
	return (ssize_t)whole;
}

void gpumon_event_reader_close(struct gpumon_event_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
}
