/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One process that is recorded: its library's socket, its channel, its file in
 * the capture. A process that calls exec() comes again, as another target.
 */
#ifndef GPUMON_RECORD_TARGET_H
#define GPUMON_RECORD_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/channel.h"
#include "base/error.h"
#include "library_notes.h"
#include "process/process_info.h"
#include "runtime_map.h"

struct gpumon_target;

enum gpumon_target_state {
	GPUMON_TARGET_HELLO,   /* connected, nothing heard yet */
	GPUMON_TARGET_RUNNING, /* it has a channel */
	GPUMON_TARGET_ENDED,   /* nothing more comes */
};

/**
 * struct gpumon_target_tap - who else sees the records as they are drained
 * @records: whole records of one thread; valid during the call
 * @data: for it
 */
struct gpumon_target_tap {
	void (*records)(void *data, const struct gpumon_target *target, const void *records,
			size_t size);
	void *data;
};

/**
 * struct gpumon_target_options - the same for all targets of a recorder
 * @settings: sent to each
 * @channel_bytes: of shared memory for each
 * @writer: where records go
 * @root: prefix of /proc
 * @notes: what libraries want to be told is added to it
 * @tap: may be empty
 */
struct gpumon_target_options {
	struct gpumon_message_settings settings;
	uint64_t channel_bytes;
	struct gpumon_capture_writer *writer;
	const char *root;
	struct gpumon_library_notes *notes;
	struct gpumon_target_tap tap;
};

/**
 * struct gpumon_target_counts - what came of a target
 * @bytes: of records, written
 * @lost: by enum gpumon_loss, as the library counts
 * @totals: as the library counts, also where it was killed
 */
struct gpumon_target_counts {
	uint64_t bytes;
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
};

/**
 * gpumon_target_new - a process at the other end of a socket
 * @socket: connected, SOCK_SEQPACKET, does not block; closed by the target, also on failure
 * @options: lives as long as the target
 * @err: why not
 *
 * Its other end has to be of the same user, or root's, or the recorder is root.
 *
 * Return: it, or NULL having told the other end.
 */
struct gpumon_target *gpumon_target_new(int socket, const struct gpumon_target_options *options,
					struct gpumon_error *err);

/**
 * gpumon_target_receive - read what came on the socket
 * @target: target
 * @err: why it ended, where that was not by itself; code is NULL otherwise
 *
 * Never waits.
 */
void gpumon_target_receive(struct gpumon_target *target, struct gpumon_error *err);

/* The process is gone, or the time to say hello is over: what is left is taken. */
void gpumon_target_end(struct gpumon_target *target);

/* Write what there is in the channel. -1 where it could not be written. */
int gpumon_target_drain(struct gpumon_target *target);

/* Ask the library to flush and stop; what it had comes with the next drains. */
void gpumon_target_stop(struct gpumon_target *target);
/* It has written all that there will be. */
bool gpumon_target_stopped(const struct gpumon_target *target);

/* Keep what its runtime says of code that it made, once it has ended. -1 with @err. */
int gpumon_target_keep_map(struct gpumon_target *target, struct gpumon_error *err);

/* Closes its file, too. */
void gpumon_target_free(struct gpumon_target *target);

enum gpumon_target_state gpumon_target_state(const struct gpumon_target *target);
/* It has said hello, got a channel and did not refuse it; also of one that has ended since. */
bool gpumon_target_accepted(const struct gpumon_target *target);
/* Its library said that nothing of the GPU is recorded, and why. */
bool gpumon_target_without_gpu(const struct gpumon_target *target);
/* Readable: gpumon_target_receive(). */
int gpumon_target_socket(const struct gpumon_target *target);
/* Readable: the process ended. -1 where the kernel knows no such thing. */
int gpumon_target_pidfd(const struct gpumon_target *target);
const struct gpumon_process_info *gpumon_target_info(const struct gpumon_target *target);
void gpumon_target_get_counts(const struct gpumon_target *target,
			      struct gpumon_target_counts *counts);
/* When it connected, CLOCK_MONOTONIC. */
uint64_t gpumon_target_since(const struct gpumon_target *target);

#endif /* GPUMON_RECORD_TARGET_H */
