/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A recording that goes on and on: captures of what a ring keeps are written when something asks for
 * them, and profiles once in a while, by a child of the recorder, so that channels are drained
 * meanwhile.
 */
#ifndef GPUMON_RECORD_CONTINUOUS_H
#define GPUMON_RECORD_CONTINUOUS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "lib/error.h"
#include "lib/options.h"
#include "recorder.h"

/**
 * struct gpumon_continuous_options - how it goes on
 * @on: it does
 * @keep: limits of the ring
 * @captures: number of captures in the directory, older ones are removed
 * @slow_ns: write one for an NVTX range or a pause between launches of this length; 0: never
 * @every_ns: write a profile of each such period; 0: none
 * @no_names: do not store function names in the captures
 */
struct gpumon_continuous_options {
	bool on;
	struct gpumon_ring_limits keep;
	uint32_t captures;
	uint64_t slow_ns;
	uint64_t every_ns;
	bool no_names;
};

/**
 * struct gpumon_continuous_result - what was written
 * @captures: number of captures
 * @profiles: number of profiles
 * @last: path of the last capture, "" if there is none
 * @failed: why the last one that failed did; its code is NULL if none did
 */
struct gpumon_continuous_result {
	unsigned int captures;
	unsigned int profiles;
	char last[PATH_MAX];
	struct gpumon_error failed;
};

struct gpumon_continuous;
struct gpumon_session_options;

/**
 * gpumon_continuous_new - prepare for captures
 * @options: copied
 * @writer: a ring; outlives the result
 * @directory: path of its directory
 * @command: recorded command
 */
struct gpumon_continuous *gpumon_continuous_new(const struct gpumon_continuous_options *options,
						struct gpumon_capture_writer *writer,
						const char *directory, const char *command);

/* Detector of slow steps, which reads the records; it is empty without @slow_ns. */
struct gpumon_target_tap gpumon_continuous_tap(struct gpumon_continuous *continuous);

/* Recorder whose live processes are asked for their profiles, NULL while there is none. */
void gpumon_continuous_of(struct gpumon_continuous *continuous,
			  const struct gpumon_recorder *recorder);

/**
 * gpumon_continuous_trigger - ask for a capture
 * @continuous: state
 * @why: for a note in the capture
 * @by_hand: a person asked for it and waits
 *
 * It is begun a second later, when what the GPU did until now has arrived, but, unless @by_hand,
 * not within GPUMON_CONTINUOUS_QUIET_NS of the last. Until it is begun, more of these ask for the
 * same one.
 */
void gpumon_continuous_trigger(struct gpumon_continuous *continuous, const char *why, bool by_hand);

#define GPUMON_CONTINUOUS_QUIET_NS 10000000000ULL

/* Begin and end what is due. Never waits. */
void gpumon_continuous_step(struct gpumon_continuous *continuous);

/* Readable when someone asks for a capture, which gpumon_continuous_step() then sees. -1: nobody can. */
int gpumon_continuous_fd(const struct gpumon_continuous *continuous);

/**
 * gpumon_continuous_ask - ask another process's recording for a capture
 * @path: its directory
 * @err: out: nobody records into it
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_continuous_ask(const char *path, struct gpumon_error *err);

/*
 * Latest time of the next gpumon_continuous_step(), CLOCK_MONOTONIC; UINT64_MAX if it need not be
 * called.
 */
uint64_t gpumon_continuous_next_ns(const struct gpumon_continuous *continuous);

/* Write the last profile and capture, after all records, and wait for them. */
void gpumon_continuous_end(struct gpumon_continuous *continuous,
			   struct gpumon_continuous_result *result);

/* NULL is ignored. */
void gpumon_continuous_free(struct gpumon_continuous *continuous);

/* The options of "record" for a recording that goes on and on. */

/**
 * struct gpumon_continuous_choice - these options
 * @continuous: what they mean, complete after gpumon_continuous_options_check()
 * @low_overhead: record only a part
 * @ask: directory whose recorder is asked for a capture, instead of a recording
 */
struct gpumon_continuous_choice {
	struct gpumon_continuous_options continuous;
	bool low_overhead;
	const char *ask;
};

/* Lines for a command's table of options. */
#define GPUMON_CONTINUOUS_OPTIONS(choice)                                                       \
	GPUMON_OPTION("continuous", 0, GPUMON_OPTION_FLAG, &(choice)->continuous.on),           \
		GPUMON_OPTION_CALL("keep", 0, choice, gpumon_continuous_take_keep),             \
		GPUMON_OPTION_RANGE("captures", 0, GPUMON_OPTION_U32,                           \
				    &(choice)->continuous.captures, 1, 1000),                   \
		GPUMON_OPTION("on-slow", 0, GPUMON_OPTION_TIME, &(choice)->continuous.slow_ns), \
		GPUMON_OPTION("every", 0, GPUMON_OPTION_TIME, &(choice)->continuous.every_ns),  \
		GPUMON_OPTION("low-overhead", 0, GPUMON_OPTION_FLAG, &(choice)->low_overhead),  \
		GPUMON_OPTION("ask", 0, GPUMON_OPTION_TEXT, &(choice)->ask)

/* Used by these lines. */
int gpumon_continuous_take_keep(struct gpumon_context *context, const char *text, void *choice);

/* Part of the help about these options. */
#define GPUMON_CONTINUOUS_HELP                                                                              \
	"      --continuous       keep only what was recorded last, and write captures of it into\n"        \
	"                         the directory: when asked (--ask, SIGUSR1), on an Xid or alert of\n"      \
	"                         the module, and at the end. Sets --graphs=windows\n"                      \
	"      --ask DIR          record nothing: ask the recorder that writes into DIR with\n"             \
	"                         --continuous for a capture\n"                                             \
	"      --keep WHAT        how much of it: a time, a size, or both: 10m,1G (the default)\n"          \
	"      --captures N       remove the oldest captures beyond N (8)\n"                                \
	"      --on-slow TIME     also when an NVTX range takes that long (such as 500ms), or a thread\n"   \
	"                         launches nothing for that long and then something; sets --nvtx\n"         \
	"      --every TIME       also write a profile of each such time (such as 60s), in the format of\n" \
	"                         export --pprof, for Parca, Pyroscope and others\n"                        \
	"      --low-overhead     sets --graphs=windows --records=sampled --sample=1/100, each unless\n"    \
	"                         it is given\n"

/**
 * gpumon_continuous_options_check - complete the options of a recording
 * @context: context
 * @choice: after all arguments were taken
 * @session: options of the recording, changed
 *
 * Return: 0, or an exit status after calling gpumon_usage().
 */
int gpumon_continuous_options_check(struct gpumon_context *context,
				    struct gpumon_continuous_choice *choice,
				    struct gpumon_session_options *session);

#endif /* GPUMON_RECORD_CONTINUOUS_H */
