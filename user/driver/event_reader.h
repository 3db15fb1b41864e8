/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads whole event records from debugfs gpumon/events. */
#ifndef GPUMON_DRIVER_EVENT_READER_H
#define GPUMON_DRIVER_EVENT_READER_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../kmod/uapi/gpumon_event.h"

#define GPUMON_EVENT_READER_RECORDS 1024

/**
 * struct gpumon_event_reader - an open event stream
 * @fd: the file, -1 when closed
 * @carry: bytes of a partial record
 * @carry_at: their position in @buffer
 * @cut: 1 if the stream ended in the middle of a record
 * @buffer: data of the last read
 */
struct gpumon_event_reader {
	int fd;
	size_t carry;
	size_t carry_at;
	unsigned int cut;
	struct gpumon_event buffer[GPUMON_EVENT_READER_RECORDS];
};

/**
 * gpumon_event_reader_attach() - read events from a file that is already open
 * @reader: out
 * @fd: owned by the reader from now on; blocking or not as it was opened
 */
void gpumon_event_reader_attach(struct gpumon_event_reader *reader, int fd);

/**
 * gpumon_event_reader_open() - open an event stream for non-blocking reading
 * @reader: out
 * @path: path of its file
 *
 * Return: 0 or a negative errno.
 */
int gpumon_event_reader_open(struct gpumon_event_reader *reader, const char *path);

/**
 * gpumon_event_reader_wait() - wait for something to read
 * @reader: an open reader
 * @timeout_ns: maximum time to wait
 * @sigmask: signal mask while waiting, NULL to leave it unchanged. If the signals that end the
 *	     program are blocked everywhere else, none can arrive between a test and the wait.
 *
 * Return: 1 if a read would not block, 0 on timeout, or a negative errno (-EINTR).
 */
int gpumon_event_reader_wait(struct gpumon_event_reader *reader, uint64_t timeout_ns,
			     const sigset_t *sigmask);

/**
 * gpumon_event_reader_read() - read the available records
 * @reader: an open reader
 * @events: set to the records, valid until the next call
 *
 * Return: the number of records, 0 at the end of the stream, -EAGAIN when there is no whole
 * record yet, or another negative errno.
 */
ssize_t gpumon_event_reader_read(struct gpumon_event_reader *reader,
				 const struct gpumon_event **events);

void gpumon_event_reader_close(struct gpumon_event_reader *reader);

#endif /* GPUMON_DRIVER_EVENT_READER_H */
