/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One recorded process: its library's socket, its channel and its file in the capture. After exec()
 * a process appears as another target.
 */
#ifndef GPUMON_RECORD_TARGET_H
#define GPUMON_RECORD_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "abi/channel.h"
#include "lib/error.h"
#include "library_notes.h"
#include "lib/process_info.h"
#include "target_perf_map.h"

struct gpumon_target;

enum gpumon_target_state {
	GPUMON_TARGET_HELLO,   /* connected, no message yet */
	GPUMON_TARGET_RUNNING, /* it has a channel */
	GPUMON_TARGET_ENDED,   /* no more records follow */
};

/**
 * struct gpumon_target_tap - another consumer of the records as they are drained
 * @records: called with whole records of one thread, valid during the call
 * @data: passed to it
 */
struct gpumon_target_tap {
	void (*records)(void *data, const struct gpumon_target *target, const void *records,
			size_t size);
	void *data;
};

/**
 * struct gpumon_target_options - shared by all targets of a recorder
 * @settings: sent to each
 * @channel_bytes: shared memory for each
 * @writer: capture for the records
 * @root: prefix of /proc
 * @notes: notes of libraries are added to it
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
 * struct gpumon_target_counts - counts of a target
 * @bytes: bytes of records written
 * @lost: losses by enum gpumon_loss, counted by the library
 * @totals: totals counted by the library, also after it was killed
 */
struct gpumon_target_counts {
	uint64_t bytes;
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
	uint64_t presents;
};

/**
 * gpumon_target_new - create a target for the process at the other end of a socket
 * @socket: connected non-blocking SOCK_SEQPACKET; closed by the target, also on failure
 * @options: must outlive the target
 * @err: out
 *
 * The other end must belong to the same user or root, unless the recorder is root.
 *
 * Return: the target, or NULL after telling the other end why.
 */
struct gpumon_target *gpumon_target_new(int socket, const struct gpumon_target_options *options,
					struct gpumon_error *err);

/* A file for a process: the next one after exec(), when it is the same but has another program. */
int gpumon_target_add_file(struct gpumon_capture_writer *writer, uint32_t pid, uint64_t start_ticks,
			   struct gpumon_capture_file **file, struct gpumon_error *err);

/**
 * gpumon_target_receive - read the messages on the socket
 * @target: target
 * @err: why the target had to be ended; otherwise its code is NULL
 *
 * Never waits.
 */
void gpumon_target_receive(struct gpumon_target *target, struct gpumon_error *err);

/* The process is gone, or did not send its hello in time: take the rest of its records. */
void gpumon_target_end(struct gpumon_target *target);

/* Write the records in the channel. */
void gpumon_target_drain(struct gpumon_target *target);

/* "process PID loaded PATH, ...": it may have used an API that is not seen in it. Returns false otherwise. */
bool gpumon_target_unseen(const struct gpumon_target *target, char *text, size_t room);

/* Ask the library to flush and stop. The next drains get its records. */
void gpumon_target_stop(struct gpumon_target *target);
/* True if the library has written its last record. */
bool gpumon_target_stopped(const struct gpumon_target *target);

/* Copy its perf map into the capture after it has ended. -1 with @err. */
int gpumon_target_keep_map(struct gpumon_target *target, struct gpumon_error *err);

/* Copy the perf map of a live process into a capture of a ring. */
void gpumon_target_copy_map(const struct gpumon_target *target, int directory);

/* Closes the target's file, too. */
void gpumon_target_free(struct gpumon_target *target);

enum gpumon_target_state gpumon_target_state(const struct gpumon_target *target);
/* True if it got a channel and did not refuse it, also after it has ended. */
bool gpumon_target_accepted(const struct gpumon_target *target);
/* True if its library reported that it cannot record the GPU. */
bool gpumon_target_without_gpu(const struct gpumon_target *target);
/**
 * gpumon_target_news - take what is to be noted of the process
 * @target: target
 * @flags: of the note
 * @text: the note
 * @room: size of @text
 *
 * Return: false if there is nothing.
 */
bool gpumon_target_news(struct gpumon_target *target, uint16_t *flags, char *text, size_t room);

/* True until the library records: it looks for its API first, which takes some tenths of a second. */
bool gpumon_target_is_beginning(const struct gpumon_target *target);
/* True if the other end of the socket is closed, and the recording goes on. */
bool gpumon_target_is_deaf(const struct gpumon_target *target);
/* If readable, call gpumon_target_receive(). */
int gpumon_target_socket(const struct gpumon_target *target);
/* Readable when the process has ended. -1 on kernels without pidfds. */
int gpumon_target_pidfd(const struct gpumon_target *target);
const struct gpumon_process_info *gpumon_target_info(const struct gpumon_target *target);
void gpumon_target_get_counts(const struct gpumon_target *target,
			      struct gpumon_target_counts *counts);
/*
 * Why a process that connected has not said what it is: another recorder has it, or it is stopped; otherwise
 * @otherwise, what is seen from here.
 */
const char *gpumon_target_silence(const struct gpumon_target *target, const char *otherwise,
				  char *text, size_t room);
/* Whether another recorder got it while it was silent. Looks once a second. */
bool gpumon_target_is_taken(struct gpumon_target *target, uint64_t now);
/* Time of its connection, CLOCK_MONOTONIC. */
uint64_t gpumon_target_since(const struct gpumon_target *target);

#endif /* GPUMON_RECORD_TARGET_H */
