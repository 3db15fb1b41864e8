/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One recording from its begin to its end: of a program that is started for it,
 * or of processes that live already. What "record" and "correlate" have in common.
 */
#ifndef GPUMON_RECORD_SESSION_H
#define GPUMON_RECORD_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/command.h"
#include "recorder.h"

#define GPUMON_SESSION_PIDS_MAX 64

/**
 * struct gpumon_session_live - who wants to look while it goes on
 * @begin: it runs now, in that directory
 * @tick: called about every @period_ms
 * @end: before anything is told at the end
 * @data: for all of them
 *
 * All may be NULL.
 */
struct gpumon_session_live {
	void (*begin)(void *data, const char *directory);
	void (*tick)(void *data, const struct gpumon_recorder *recorder);
	void (*end)(void *data);
	unsigned int period_ms;
	void *data;
};

/**
 * struct gpumon_session_options - what to record, and where to
 * @directory: of the capture; "": gpumon-YYYYMMDD-HHMMSS here
 * @argv: program and arguments, NULL where processes are recorded
 * @run_as: user as whom it runs, NULL: under sudo the one who called it
 * @pids: processes that live
 * @pid_count: how many
 * @recorder: what is recorded of each
 * @duration_ns: recording ends after that time, the program does not; 0: no end
 * @wait_first: recording ends with the program, also where processes that it started still run
 * @quiet: nothing is told at the end
 * @brief: only what went wrong is
 * @no_names: names of functions are not kept in the capture
 * @live: may be empty
 */
struct gpumon_session_options {
	char directory[PATH_MAX];
	char *const *argv;
	const char *run_as;
	pid_t pids[GPUMON_SESSION_PIDS_MAX];
	unsigned int pid_count;
	struct gpumon_recorder_options recorder;
	uint64_t duration_ns;
	bool wait_first;
	bool quiet;
	bool brief;
	bool no_names;
	struct gpumon_session_live live;
};

/**
 * struct gpumon_session_result - what came of it
 * @directory: of the capture, "" where there is none
 * @exit_status: the program's as a shell has it; without a program GPUMON_EXIT_OK,
 *               GPUMON_EXIT_FAILED where no process was recorded, GPUMON_EXIT_IMPOSSIBLE where
 *               nothing of the GPU could be
 * @counts: of the recorder
 */
struct gpumon_session_result {
	char directory[PATH_MAX];
	int exit_status;
	struct gpumon_recorder_counts counts;
};

/**
 * gpumon_session_run - record
 * @context: for what is told; nothing is written to context->out
 * @options: what and where to
 * @result: filled in
 * @err: why it did not begin
 *
 * Return: 0 once the program ran, or the processes were recorded, whatever came of them; -1
 * with @err where it did not begin. No directory is left then.
 */
int gpumon_session_run(struct gpumon_context *context, const struct gpumon_session_options *options,
		       struct gpumon_session_result *result, struct gpumon_error *err);

/* Remove a capture that we made, and nothing else. */
void gpumon_session_remove(const char *directory);

#endif /* GPUMON_RECORD_SESSION_H */
