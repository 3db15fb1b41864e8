/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the commands that show captures have in common: arguments, and one output. */
#ifndef GPUMON_RECORD_SHOW_H
#define GPUMON_RECORD_SHOW_H

#include <stdbool.h>

#include "base/command.h"
#include "output/load.h"

/**
 * struct gpumon_show - a command line that shows captures
 * @paths: captures
 * @count: how many
 * @output: file, NULL or "-" for standard output
 * @force: it may replace one
 * @profile: what the tree looks like
 */
struct gpumon_show {
	const char *const *paths;
	unsigned int count;
	const char *output;
	bool force;
	struct gpumon_profile_options profile;
};

enum gpumon_show_option {
	GPUMON_SHOW_OPTION_FORCE = GPUMON_OPTION_FIRST + 0x100,
	GPUMON_SHOW_OPTION_CPU_ONLY,
	GPUMON_SHOW_OPTION_GPU_ONLY,
	GPUMON_SHOW_OPTION_DEVICES,
	GPUMON_SHOW_OPTION_STREAMS,
	GPUMON_SHOW_OPTION_GRAPHS,
	GPUMON_SHOW_OPTION_THREADS,
	GPUMON_SHOW_OPTION_PROCESSES,
	GPUMON_SHOW_OPTION_NO_INLINE,
	GPUMON_SHOW_OPTION_INTERPRETER,
	GPUMON_SHOW_OPTION_SYMBOL_ROOT,
	GPUMON_SHOW_OPTION_NEXT, /* first value of a command's own */
};

/* Lines for a command's table of options. */
#define GPUMON_SHOW_OUTPUT_OPTIONS                                   \
	{ "output", required_argument, NULL, 'o' },                  \
	{                                                            \
		"force", no_argument, NULL, GPUMON_SHOW_OPTION_FORCE \
	}
#define GPUMON_SHOW_TREE_OPTIONS                                                       \
	{ "cpu-only", no_argument, NULL, GPUMON_SHOW_OPTION_CPU_ONLY },                \
		{ "gpu-only", no_argument, NULL, GPUMON_SHOW_OPTION_GPU_ONLY },        \
		{ "devices", no_argument, NULL, GPUMON_SHOW_OPTION_DEVICES },          \
		{ "streams", no_argument, NULL, GPUMON_SHOW_OPTION_STREAMS },          \
		{ "graphs", no_argument, NULL, GPUMON_SHOW_OPTION_GRAPHS },            \
		{ "threads", no_argument, NULL, GPUMON_SHOW_OPTION_THREADS },          \
		{ "processes", no_argument, NULL, GPUMON_SHOW_OPTION_PROCESSES },      \
		{ "no-inline", no_argument, NULL, GPUMON_SHOW_OPTION_NO_INLINE },      \
		{ "interpreter", no_argument, NULL, GPUMON_SHOW_OPTION_INTERPRETER },  \
	{                                                                              \
		"symbol-root", required_argument, NULL, GPUMON_SHOW_OPTION_SYMBOL_ROOT \
	}

#define GPUMON_SHOW_OUTPUT_HELP                                            \
	"  -o, --output FILE      instead of standard output, mode 0600\n" \
	"      --force            replace FILE\n"
#define GPUMON_SHOW_TREE_HELP                                                                  \
	"      --cpu-only         call paths of launches by the time of their calls, no GPU\n" \
	"      --gpu-only         kernels alone, no call paths\n"                              \
	"      --devices          a level for each device, [GPU0]\n"                           \
	"      --streams          for each stream\n"                                           \
	"      --graphs           for each graph\n"                                            \
	"      --threads          for each thread\n"                                           \
	"      --processes        for each process; there anyway where there are several\n"    \
	"      --no-inline        no inlined functions\n"                                      \
	"      --interpreter      also functions of the interpreter between those of Python\n" \
	"      --symbol-root DIR  where the files of the recorded machine are, if not here\n"

/**
 * gpumon_show_option - one of the options above
 * @show: where it goes
 * @option: as gpumon_option() returned it
 *
 * Return: false if it is none of them.
 */
bool gpumon_show_option(struct gpumon_show *show, int option);

/**
 * gpumon_show_operands - the rest of the command line are captures
 * @context: context
 * @show: filled in
 * @argc: of the command
 * @argv: of the command
 *
 * Return: 0, or -1 having called gpumon_usage(): none, too many, or options that exclude each
 * other.
 */
int gpumon_show_operands(struct gpumon_context *context, struct gpumon_show *show, int argc,
			 char **argv);

/**
 * gpumon_show_profile - write what depends on a profile
 * @context: context
 * @show: command line
 * @bins: of the timeline
 * @text: people can read it
 * @write: writes it; as all of output.h
 * @data: for it
 *
 * Return: exit status, failures are reported.
 */
int gpumon_show_profile(struct gpumon_context *context, const struct gpumon_show *show,
			unsigned int bins, bool text,
			int (*write)(FILE *out, const struct gpumon_view *view, void *data),
			void *data);

/* The same for what streams captures. */
int gpumon_show_stream(struct gpumon_context *context, const struct gpumon_show *show, bool text,
		       int (*write)(FILE *out, const char *const *paths, unsigned int count));

#endif /* GPUMON_RECORD_SHOW_H */
