/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Records processes into a capture. It listens for injection libraries, drains their channels into
 * files, and keeps the data when they end, are killed, or the recorder has to stop. It uses one
 * thread and never waits for a target.
 */
#ifndef GPUMON_RECORDER_H
#define GPUMON_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "abi/channel.h"
#include "lib/error.h"
#include "target.h"

/* How often channels are drained. */
#define GPUMON_RECORDER_PERIOD_MS 20

struct gpumon_recorder;

/**
 * struct gpumon_recorder_options - what to record
 * @settings: settings for the libraries; the recorder sets type and version
 * @channel_bytes: shared memory for each process, 0: 32 MiB
 * @max_bytes: recording ends after this total size of records; 0: no limit
 * @driver: record events and alerts of the module if it is loaded
 * @driver_wanted: it was asked for: a note says why that is not possible
 * @root: prefix of /proc and /sys, normally ""
 * @tap: another consumer of the records, may be empty
 */
struct gpumon_recorder_options {
	struct gpumon_message_settings settings;
	uint64_t channel_bytes;
	uint64_t max_bytes;
	bool driver;
	bool driver_wanted;
	const char *root;
	struct gpumon_target_tap tap;
};

/**
 * struct gpumon_recorder_counts - counts until now
 * @processes: processes that sent a hello
 * @probed: processes of which only the CPU side is recorded
 * @live: how many of both have not ended
 * @beginning: how many of @live are not recorded yet, because their library is getting ready
 * @without_gpu: how many of @processes have a library that cannot record the GPU
 * @refused: processes that could not be recorded
 * @refusal: reason of the last refusal, or ""
 * @full: @max_bytes was reached
 * @targets: sums over all targets
 * @hits: uprobe hits
 * @driver: why the module's events are not recorded, "" if they are
 */
struct gpumon_recorder_counts {
	unsigned int processes;
	unsigned int probed;
	unsigned int live;
	unsigned int beginning;
	unsigned int without_gpu;
	unsigned int refused;
	char refusal[256];
	bool full;
	struct gpumon_target_counts targets;
	uint64_t hits;
	char driver[256];
};

/**
 * gpumon_recorder_new - create a recorder and listen
 * @options: copied
 * @writer: capture, owned by the caller; outlives the recorder
 * @recorder: out
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_recorder_new(const struct gpumon_recorder_options *options,
			struct gpumon_capture_writer *writer, struct gpumon_recorder **recorder,
			struct gpumon_error *err);

/* The value of GPUMON_SOCKET for processes to record. */
const char *gpumon_recorder_socket(const struct gpumon_recorder *recorder);

/* Add a library on a socket that we connected, see gpumon_target_new(). */
int gpumon_recorder_add(struct gpumon_recorder *recorder, int socket, struct gpumon_error *err);

/**
 * gpumon_recorder_probe - record only the CPU side of a process without a library
 * @recorder: recorder
 * @pid: process
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_recorder_probe(struct gpumon_recorder *recorder, pid_t pid, struct gpumon_error *err);

/* Write a note for the user into the capture. @flags are those of a note. */
void gpumon_recorder_note(struct gpumon_recorder *recorder, uint16_t flags, const char *text);

/* Descriptor for poll(): readable if there is something to do. */
int gpumon_recorder_fd(const struct gpumon_recorder *recorder);
/* Maximum timeout for poll(); -1: none. */
int gpumon_recorder_timeout_ms(const struct gpumon_recorder *recorder);
/* Do everything that is due. Never waits. */
void gpumon_recorder_step(struct gpumon_recorder *recorder);

/**
 * gpumon_recorder_end - stop the targets and refuse new ones
 * @recorder: recorder
 * @wait_ms: how long libraries of live processes may take to send the rest
 *
 * Does not wait. Call gpumon_recorder_step() until the counts have no live process.
 */
void gpumon_recorder_end(struct gpumon_recorder *recorder, unsigned int wait_ms);

/* gpumon_recorder_end() that waits until the end is complete. */
void gpumon_recorder_stop(struct gpumon_recorder *recorder, unsigned int wait_ms);

/* Whether a process is being recorded by its library; whether it is or was, or was refused. */
bool gpumon_recorder_is_recording(const struct gpumon_recorder *recorder, pid_t pid);
bool gpumon_recorder_has_met(const struct gpumon_recorder *recorder, pid_t pid);

void gpumon_recorder_get_counts(const struct gpumon_recorder *recorder,
				struct gpumon_recorder_counts *counts);

/* Copy the perf maps of live processes into a capture of a ring: @directory is a descriptor. */
void gpumon_recorder_copy_maps(const struct gpumon_recorder *recorder, int directory);

/* Alerts of the module until now, or Xids where alerts are not available. */
uint64_t gpumon_recorder_alarms(const struct gpumon_recorder *recorder);

/* Notes of libraries, valid as long as the recorder. */
const struct gpumon_library_notes *gpumon_recorder_notes(const struct gpumon_recorder *recorder);

/*
 * Tell another recorder that this process is not for it, and why. @path: its socket. Without effect if nobody
 * listens there.
 */
void gpumon_recorder_decline(const char *path, const char *why);

/* NULL is ignored. */
void gpumon_recorder_free(struct gpumon_recorder *recorder);

#endif /* GPUMON_RECORDER_H */
