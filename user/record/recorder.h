/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Records processes into a capture: listens for injection libraries, empties
 * their channels into files, and keeps what there is when they end, are killed,
 * or the recorder has to stop. One thread, never blocked by a target.
 */
#ifndef GPUMON_RECORDER_H
#define GPUMON_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/channel.h"
#include "base/error.h"
#include "target.h"

/* How often channels are emptied. */
#define GPUMON_RECORDER_PERIOD_MS 20

struct gpumon_recorder;

/**
 * struct gpumon_recorder_options - what is recorded
 * @settings: for the libraries; type and version are filled in
 * @channel_bytes: of shared memory for each process, 0: 32 MiB
 * @max_bytes: of records in all, then recording ends; 0: no end
 * @driver: record the module's events and alerts, where the module is
 * @root: prefix of /proc and /sys, "" here
 * @tap: who else sees the records, may be empty
 */
struct gpumon_recorder_options {
	struct gpumon_message_settings settings;
	uint64_t channel_bytes;
	uint64_t max_bytes;
	bool driver;
	const char *root;
	struct gpumon_target_tap tap;
};

/**
 * struct gpumon_recorder_counts - what came of it until now
 * @processes: that said hello
 * @probed: processes of which the processor's side alone is recorded
 * @live: of both, those that have not ended
 * @without_gpu: of @processes, those whose library said that nothing of the GPU is recorded
 * @refused: that could not be recorded
 * @refusal: why the last of these was not, "" if there is none
 * @full: @max_bytes was reached
 * @targets: sums over them
 * @hits: of uprobes
 * @driver_events: of the module
 * @driver: why there are none of the module, "" where they are recorded
 */
struct gpumon_recorder_counts {
	unsigned int processes;
	unsigned int probed;
	unsigned int live;
	unsigned int without_gpu;
	unsigned int refused;
	char refusal[256];
	bool full;
	struct gpumon_target_counts targets;
	uint64_t hits;
	uint64_t driver_events;
	char driver[256];
};

/**
 * gpumon_recorder_new - begin to listen
 * @options: copied
 * @writer: capture, belongs to the caller and lives longer
 * @recorder: set to it
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_recorder_new(const struct gpumon_recorder_options *options,
			struct gpumon_capture_writer *writer, struct gpumon_recorder **recorder,
			struct gpumon_error *err);

/* What GPUMON_SOCKET has to be for processes that are to be recorded. */
const char *gpumon_recorder_socket(const struct gpumon_recorder *recorder);

/* A library at the other end of a socket that we connected to: see gpumon_target_new(). */
int gpumon_recorder_add(struct gpumon_recorder *recorder, int socket, struct gpumon_error *err);

/**
 * gpumon_recorder_probe - the processor's side alone, of a process without a library
 * @recorder: recorder
 * @pid: process
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_recorder_probe(struct gpumon_recorder *recorder, pid_t pid, struct gpumon_error *err);

/* Something that a person should know goes into the capture; @flags are those of a note. */
void gpumon_recorder_note(struct gpumon_recorder *recorder, uint16_t flags, const char *text);

/* For poll(): readable when there is something to do. */
int gpumon_recorder_fd(const struct gpumon_recorder *recorder);
/* How long poll() may wait at most, -1: until there is something. */
int gpumon_recorder_timeout_ms(const struct gpumon_recorder *recorder);
/* Do what is to be done now, never wait. */
void gpumon_recorder_step(struct gpumon_recorder *recorder);

/**
 * gpumon_recorder_end - ask for what there is, and let nobody in any more
 * @recorder: recorder
 * @wait_ms: for libraries of processes that live on, to give out what they have
 *
 * Does not wait itself: steps go on, until nobody is live in the counts.
 */
void gpumon_recorder_end(struct gpumon_recorder *recorder, unsigned int wait_ms);

/* The same, and wait for it. */
void gpumon_recorder_stop(struct gpumon_recorder *recorder, unsigned int wait_ms);

void gpumon_recorder_get_counts(const struct gpumon_recorder *recorder,
				struct gpumon_recorder_counts *counts);

/* What libraries said, as long as the recorder lives. */
const struct gpumon_library_notes *gpumon_recorder_notes(const struct gpumon_recorder *recorder);

/* NULL is nothing. */
void gpumon_recorder_free(struct gpumon_recorder *recorder);

#endif /* GPUMON_RECORDER_H */
