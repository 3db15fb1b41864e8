/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A recording of a new program or of live processes, shared by "record" and "correlate". */
#ifndef GPUMON_RECORD_SESSION_H
#define GPUMON_RECORD_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/options.h"
#include "continuous.h"
#include "recorder.h"

#define GPUMON_SESSION_PIDS_MAX	  64
#define GPUMON_SESSION_GROUPS_MAX 16

/* A control group whose processes are recorded, by its path or the id of a container. */
struct gpumon_session_group {
	const char *name;
	bool is_container;
};

/**
 * struct gpumon_session_live - hooks for output during the recording
 * @begin: called when the recording runs, with its directory
 * @tick: called about every @period_ms
 * @end: called before anything is printed at the end
 * @data: passed to all of them
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
 * struct gpumon_session_beside - something else that the processes of the program talk to
 * @variable: NAME=VALUE for the environment of the program; NULL: there is nothing else
 * @fd: readable when @step has something to do
 * @step: called then, and when the program has ended. Records are not drained meanwhile
 * @keep: called at the end, for what is to be kept in the capture too: its @directory is a descriptor.
 *        @say: what is missing is to be printed. -1 with @err
 * @data: passed to both
 */
struct gpumon_session_beside {
	const char *variable;
	int fd;
	void (*step)(void *data);
	int (*keep)(void *data, int directory, bool say, struct gpumon_error *err);
	void *data;
};

/**
 * struct gpumon_session_options - what to record, and where
 * @directory: directory of the capture; "": gpumon-YYYYMMDD-HHMMSS
 * @argv: program and arguments, NULL to record processes
 * @run_as: user to run the program as; NULL: under sudo, the caller of sudo
 * @pids: live processes
 * @pid_count: number of @pids
 * @groups: control groups of live processes
 * @group_count: number of @groups
 * @recorder: what to record of each
 * @continuous: keep only what was recorded last, and write captures of it
 * @duration_ns: recording ends after this time, but the program does not; 0: no end
 * @wait_first: recording ends with the program, even if processes that it started still run
 * @no_attach: the library is not brought into processes that have none
 * @opengl: record presents of OpenGL, for which a library is preloaded into all that the program starts
 * @quiet: print nothing at the end
 * @brief: print only failures at the end
 * @no_names: do not store function names in the capture
 * @graphs_said: the user chose how graphs are recorded
 * @records_said: the user chose whether operations come in windows
 * @live: may be empty
 * @beside: likewise; with a program only
 */
struct gpumon_session_options {
	char directory[PATH_MAX];
	char *const *argv;
	const char *run_as;
	pid_t pids[GPUMON_SESSION_PIDS_MAX];
	unsigned int pid_count;
	struct gpumon_session_group groups[GPUMON_SESSION_GROUPS_MAX];
	unsigned int group_count;
	struct gpumon_recorder_options recorder;
	struct gpumon_continuous_options continuous;
	uint64_t duration_ns;
	bool wait_first;
	bool no_attach;
	bool opengl;
	bool quiet;
	bool brief;
	bool no_names;
	bool graphs_said;
	bool records_said;
	struct gpumon_session_live live;
	struct gpumon_session_beside beside;
};

/**
 * struct gpumon_session_result - result of a recording
 * @directory: directory of the capture, "" if there is none
 * @exit_status: the program's exit status as a shell reports it; without a program GPUMON_EXIT_OK,
 *               GPUMON_EXIT_FAILED if no process was recorded, or GPUMON_EXIT_IMPOSSIBLE if no GPU
 *               activity could be recorded
 * @counts: counts of the recorder
 */
struct gpumon_session_result {
	char directory[PATH_MAX];
	int exit_status;
	struct gpumon_recorder_counts counts;
};

/**
 * gpumon_session_run - run a recording
 * @context: for messages; nothing is written to context->out
 * @options: what to record, and where
 * @result: out
 * @err: out, if recording could not start
 *
 * Return: 0 if the program ran or the processes were recorded, whatever the result; -1 with @err if
 * recording could not start. No directory is left then.
 */
int gpumon_session_run(struct gpumon_context *context, const struct gpumon_session_options *options,
		       struct gpumon_session_result *result, struct gpumon_error *err);

#endif /* GPUMON_RECORD_SESSION_H */
