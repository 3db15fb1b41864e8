/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The options of "record" for a recording that goes on and on. */
#ifndef GPUMON_RECORD_CONTINUOUS_OPTIONS_H
#define GPUMON_RECORD_CONTINUOUS_OPTIONS_H

#include "lib/options.h"
#include "session.h"

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

/* Their part of the help. */
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

#endif /* GPUMON_RECORD_CONTINUOUS_OPTIONS_H */
