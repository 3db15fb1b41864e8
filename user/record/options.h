/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The options that say what to record, of "record" and "correlate". */
#ifndef GPUMON_RECORD_OPTIONS_H
#define GPUMON_RECORD_OPTIONS_H

#include <getopt.h>

#include "base/command.h"
#include "session.h"

enum gpumon_record_option {
	GPUMON_RECORD_OPTION_SYNC = GPUMON_OPTION_FIRST,
	GPUMON_RECORD_OPTION_MEMORY,
	GPUMON_RECORD_OPTION_UNIFIED_MEMORY,
	GPUMON_RECORD_OPTION_NVTX,
	GPUMON_RECORD_OPTION_API,
	GPUMON_RECORD_OPTION_LATENCY,
	GPUMON_RECORD_OPTION_NO_STACKS,
	GPUMON_RECORD_OPTION_NO_PYTHON,
	GPUMON_RECORD_OPTION_NO_DRIVER,
	GPUMON_RECORD_OPTION_NO_NAMES,
	GPUMON_RECORD_OPTION_WINDOW,
	GPUMON_RECORD_OPTION_BUFFER,
	GPUMON_RECORD_OPTION_CUPTI_BUFFER,
	GPUMON_RECORD_OPTION_MAX_SIZE,
	GPUMON_RECORD_OPTION_STACK_DEPTH,
	GPUMON_RECORD_OPTION_RUN_AS,
	GPUMON_RECORD_OPTION_NEXT, /* first value of a command's own */
};

/* Lines for a command's table of options. */
#define GPUMON_RECORD_OPTIONS                                                                   \
	{ "output", required_argument, NULL, 'o' }, { "pid", required_argument, NULL, 'p' },    \
		{ "duration", required_argument, NULL, 'd' },                                   \
		{ "sync", no_argument, NULL, GPUMON_RECORD_OPTION_SYNC },                       \
		{ "memory", no_argument, NULL, GPUMON_RECORD_OPTION_MEMORY },                   \
		{ "unified-memory", no_argument, NULL, GPUMON_RECORD_OPTION_UNIFIED_MEMORY },   \
		{ "nvtx", no_argument, NULL, GPUMON_RECORD_OPTION_NVTX },                       \
		{ "api", no_argument, NULL, GPUMON_RECORD_OPTION_API },                         \
		{ "latency", no_argument, NULL, GPUMON_RECORD_OPTION_LATENCY },                 \
		{ "no-stacks", no_argument, NULL, GPUMON_RECORD_OPTION_NO_STACKS },             \
		{ "no-python", no_argument, NULL, GPUMON_RECORD_OPTION_NO_PYTHON },             \
		{ "no-driver", no_argument, NULL, GPUMON_RECORD_OPTION_NO_DRIVER },             \
		{ "no-names", no_argument, NULL, GPUMON_RECORD_OPTION_NO_NAMES },               \
		{ "window", required_argument, NULL, GPUMON_RECORD_OPTION_WINDOW },             \
		{ "buffer", required_argument, NULL, GPUMON_RECORD_OPTION_BUFFER },             \
		{ "cupti-buffer", required_argument, NULL, GPUMON_RECORD_OPTION_CUPTI_BUFFER }, \
		{ "max-size", required_argument, NULL, GPUMON_RECORD_OPTION_MAX_SIZE },         \
		{ "run-as", required_argument, NULL, GPUMON_RECORD_OPTION_RUN_AS },             \
	{                                                                                       \
		"stack-depth", required_argument, NULL, GPUMON_RECORD_OPTION_STACK_DEPTH        \
	}

/* Their part of a command's help. */
#define GPUMON_RECORD_HELP                                                                         \
	"  -o, --output DIR       directory of the capture, made by this; %r in it is the rank,\n" \
	"                         %h the host, %p the pid\n"                                       \
	"  -p, --pid PID          a live process whose library sleeps; more than once\n"           \
	"  -d, --duration TIME    stop recording after that time (seconds, 500ms, 2m, ...)\n"      \
	"      --run-as USER      who runs the program and has the capture; under sudo, if not\n"  \
	"                         said, the one who called it\n"                                   \
	"      --window WHAT      record only between cudaProfilerStart and Stop (profiler), or\n" \
	"                         while an NVTX range is open (range:NAME)\n"                      \
	"      --sync             also waits for the GPU\n"                                        \
	"      --memory           also allocations\n"                                              \
	"      --unified-memory   also migrations and faults of unified memory\n"                  \
	"      --nvtx             also NVTX ranges\n"                                              \
	"      --api              also every other call of the API: dear\n"                        \
	"      --latency          also when work was queued and submitted\n"                       \
	"      --no-stacks        no call paths\n"                                                 \
	"      --no-python        no Python functions in them\n"                                   \
	"      --no-driver        no events of the gpumon module\n"                                \
	"      --no-names         no names of functions: who reads it looks them up\n"             \
	"      --stack-depth N    frames of a call path at most, 1 to 512\n"                       \
	"      --buffer SIZE      memory shared with each process, 1M to 1G\n"                     \
	"      --cupti-buffer SIZE  CUPTI's memory in each process at most, 1M to 16G\n"           \
	"      --max-size SIZE    end recording when the capture is that large\n"

/* What is recorded where nothing is said. */
void gpumon_record_options_default(struct gpumon_session_options *options);

/**
 * gpumon_record_option - one of GPUMON_RECORD_OPTIONS
 * @context: context
 * @options: where it goes
 * @option: as gpumon_option() returned it, its argument in optarg
 *
 * Return: 0, or -1 having called gpumon_usage().
 */
int gpumon_record_option(struct gpumon_context *context, struct gpumon_session_options *options,
			 int option);

/**
 * gpumon_record_privileges - go on with what this recording needs, as who runs the program
 * @context: context
 * @options: all of them are known
 *
 * To be called before anything is opened or made.
 *
 * Return: 0, or an exit status, having reported why.
 */
int gpumon_record_privileges(struct gpumon_context *context,
			     const struct gpumon_session_options *options);

/**
 * gpumon_record_split - where the program's own words begin
 * @argc: of the command
 * @argv: of the command
 * @options: of the command
 * @explicit: set where "--" says so
 *
 * Options behind a program's name are the program's.
 *
 * Return: how many words are the command's; the program's begin there, behind "--".
 */
int gpumon_record_split(int argc, char **argv, const struct option *options, bool *explicit);

/**
 * gpumon_record_directory - the name of a capture, where ranks and hosts have one each
 * @context: context
 * @text: name, with %h for the host, %p for our pid, %r for the rank, %% for a percent sign
 * @name: filled in, PATH_MAX bytes
 *
 * Return: 0, or -1 having called gpumon_usage().
 */
int gpumon_record_directory(struct gpumon_context *context, const char *text, char *name);

#endif /* GPUMON_RECORD_OPTIONS_H */
