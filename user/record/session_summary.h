/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Losses as text: how many, why, and the remedy. */
#ifndef GPUMON_RECORD_SESSION_SUMMARY_H
#define GPUMON_RECORD_SESSION_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "attach_group.h"
#include "capture/capture.h"
#include "lib/launch.h"
#include "session.h"
#include "unrecorded.h"

/**
 * gpumon_losses_print - print a line for each cause of losses
 * @out: stream
 * @lost: counts by enum gpumon_loss
 * @writer: counts the records that it could not write, or was not to write; may be NULL
 */
void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES],
			 const struct gpumon_capture_writer *writer);

/* A running recording, and what is printed at its end. */

/**
 * struct session - a running recording
 * @continuous: NULL without a ring
 * @alarms: of the module, when last looked at
 * @apis: GPUMON_APIS_* that the injection library was built with
 * @lacks: those of this machine that it was built without
 * @loader_folder: with OpenCL's loader for the program, "" where it has its own
 * @notes: notes of libraries, reported at the end
 * @trouble: the first failed write, reported at the end
 * @made: we created the directory
 * @gone: somebody removed it
 * @began_ns: time of its beginning
 * @until_ns: time of its end, 0 where there is none, or the libraries of live processes are not ready yet
 * @stopped: it ended before the program did
 * @ended_ns: time when the program ended, 0 while it runs
 * @left: processes that it left running, at the last look
 * @none: number of looks in a row that found none
 * @look_ns: time of the next look
 * @told: the user knows that we wait for them
 * @unrecorded: processes of the program that cannot be recorded
 * @groups: of live processes
 * @group_count: of these
 */
struct session {
	struct gpumon_context *context;
	const struct gpumon_session_options *options;
	struct gpumon_session_result *result;
	struct gpumon_capture_writer *writer;
	struct gpumon_recorder *recorder;
	struct gpumon_continuous *continuous;
	uint64_t alarms;
	struct gpumon_launch launch;
	unsigned int apis;
	unsigned int lacks;
	char loader_folder[256];
	struct gpumon_library_notes notes;
	struct gpumon_error trouble;
	uint64_t began_ns;
	uint64_t until_ns;
	bool made;
	bool gone;
	bool stopped;
	uint64_t ended_ns;
	unsigned int left;
	unsigned int none;
	uint64_t look_ns;
	bool told;
	struct gpumon_unrecorded unrecorded;
	struct gpumon_group *groups[GPUMON_SESSION_GROUPS_MAX];
	unsigned int group_count;
};

/* "PATH was built without CUDA ...", of what @lacks has. Returns false if it has nothing. */
bool gpumon_session_lacks(const struct session *session, char *text, size_t room);

/* Whether no launch and no operation of a GPU was recorded, and the likeliest reason. */
bool gpumon_session_nothing(const struct session *session, char *text, size_t room);

/* Report the result in one line, and failures in others. */
void gpumon_session_tell(const struct session *session);

#endif /* GPUMON_RECORD_SESSION_SUMMARY_H */
