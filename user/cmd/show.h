/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the commands that show captures: arguments, and one output. */
#ifndef GPUMON_CMD_SHOW_H
#define GPUMON_CMD_SHOW_H

#include <stdbool.h>

#include "lib/options.h"
#include "lib/output_file.h"
#include "report/load.h"

/**
 * struct gpumon_show - a command line that shows captures
 * @paths: captures
 * @count: number of captures
 * @output: file, NULL or "-" for standard output
 * @picture: diff: file of the flame graph, as @output; NULL for none
 * @force: @output and @picture may replace a file
 * @profile: options of the tree
 * @wall: widths are wall time of threads
 * @idle: widths are idle time of GPUs
 * @compare: captures are not merged, so the same one may be given twice
 */
struct gpumon_show {
	const char *const *paths;
	unsigned int count;
	const char *output;
	const char *picture;
	bool force;
	bool wall;
	bool idle;
	bool compare;
	struct gpumon_profile_options profile;
};

/* Lines for a command's table of options. They fill in a struct gpumon_show. */
#define GPUMON_SHOW_OUTPUT_OPTIONS(show)                                   \
	GPUMON_OPTION("output", 'o', GPUMON_OPTION_TEXT, &(show)->output), \
		GPUMON_OPTION("force", 0, GPUMON_OPTION_FLAG, &(show)->force)
#define GPUMON_SHOW_TREE_FLAG(show, name, flag) \
	GPUMON_OPTION(name, 0, GPUMON_OPTION_FLAG, &(show)->profile.flag)
#define GPUMON_SHOW_TREE_OPTIONS(show)                                                             \
	GPUMON_SHOW_TREE_FLAG(show, "cpu-only", cpu_only),                                         \
		GPUMON_SHOW_TREE_FLAG(show, "gpu-only", gpu_only),                                 \
		GPUMON_SHOW_TREE_FLAG(show, "devices", devices),                                   \
		GPUMON_SHOW_TREE_FLAG(show, "streams", streams),                                   \
		GPUMON_SHOW_TREE_FLAG(show, "graphs", graphs),                                     \
		GPUMON_SHOW_TREE_FLAG(show, "threads", threads),                                   \
		GPUMON_SHOW_TREE_FLAG(show, "processes", processes),                               \
		GPUMON_SHOW_TREE_FLAG(show, "functions", functions),                               \
		GPUMON_SHOW_TREE_FLAG(show, "no-inline", no_inline),                               \
		GPUMON_SHOW_TREE_FLAG(show, "interpreter", interpreter),                           \
		GPUMON_OPTION("symbol-root", 0, GPUMON_OPTION_TEXT, &(show)->profile.symbol_root), \
		GPUMON_SHOW_PART_OPTIONS(show)

/* A part of the time. */
#define GPUMON_SHOW_PART_OPTIONS(show)                                                    \
	GPUMON_OPTION_CALL("from", 0, &(show)->profile.asked, gpumon_show_take_from),     \
		GPUMON_OPTION_CALL("to", 0, &(show)->profile.asked, gpumon_show_take_to), \
		GPUMON_OPTION("range", 0, GPUMON_OPTION_TEXT, &(show)->profile.asked.name)

/* Only of commands that write one weight of the tree. */
#define GPUMON_SHOW_TIME_OPTIONS(show)                               \
	GPUMON_OPTION("wall", 0, GPUMON_OPTION_FLAG, &(show)->wall), \
		GPUMON_OPTION("idle", 0, GPUMON_OPTION_FLAG, &(show)->idle)

#define GPUMON_SHOW_OUTPUT_HELP                                                                   \
	"  -o, --output FILE      instead of standard output, mode 0600; FILE.gz is compressed\n" \
	"      --force            replace FILE\n"
#define GPUMON_SHOW_TREE_HELP                                                                  \
	"      --cpu-only         call paths of launches by the time of their calls, no GPU\n" \
	"      --gpu-only         kernels alone, no call paths\n"                              \
	"      --devices          a level for each device, [GPU0]\n"                           \
	"      --streams          for each stream\n"                                           \
	"      --graphs           for each graph\n"                                            \
	"      --threads          for each thread\n"                                           \
	"      --processes        for each process; always, if there are several\n"            \
	"      --functions        a function is one, whichever of its lines a call is in\n"    \
	"      --no-inline        no inlined functions\n"                                      \
	"      --interpreter      also functions of the interpreter between those of Python\n" \
	"      --symbol-root DIR  where the files of the recorded machine are, if not here\n" GPUMON_SHOW_PART_HELP
#define GPUMON_SHOW_PART_HELP                                                         \
	"      --from TIME        only since TIME after the beginning: 125ms, 1.5s\n" \
	"      --to TIME          and before TIME\n"                                  \
	"      --range NAME[:N]   only the Nth NVTX range NAME (-1: the last), or all of them\n"

/* --from and --to. @value is a struct gpumon_asked_range. */
int gpumon_show_take_from(struct gpumon_context *context, const char *text, void *value);
int gpumon_show_take_to(struct gpumon_context *context, const char *text, void *value);

/**
 * gpumon_show_check - find options that do nothing together
 * @context: context
 * @show: options
 *
 * Return: 0, or what gpumon_usage() returned.
 */
int gpumon_show_check(struct gpumon_context *context, const struct gpumon_show *show);

/* The weight of the tree that the options of a command name; otherwise @usual. */
enum gpumon_weight gpumon_show_weight(const struct gpumon_show *show, enum gpumon_weight usual);

/* gpumon_show_check() for the number of rows alone, 0 if none was given. */
int gpumon_show_check_rows(struct gpumon_context *context, uint32_t rows);

/**
 * gpumon_show_operands - take the operands as captures
 * @context: context
 * @show: out
 * @argc: number of operands
 * @argv: operands
 *
 * Return: 0, or -1 after calling gpumon_usage(): none, too many, or conflicting options.
 */
int gpumon_show_operands(struct gpumon_context *context, struct gpumon_show *show, int argc,
			 char **argv);

/**
 * gpumon_show_check_file - find out whether a file can be written, for commands that do other things first
 * @path: its name; NULL or "-" for standard output
 * @force: it may be replaced
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_show_check_file(const char *path, bool force, struct gpumon_error *err);

/**
 * gpumon_show_profile - write output that needs a profile
 * @context: context
 * @show: command line
 * @bins: number of bins of the timeline
 * @content: what is written
 * @write: one of the functions of output.h
 * @data: passed to @write
 *
 * Return: exit status; failures have been reported.
 */
int gpumon_show_profile(struct gpumon_context *context, const struct gpumon_show *show,
			unsigned int bins, enum gpumon_output_content content,
			int (*write)(FILE *out, const struct gpumon_view *view, void *data),
			void *data);

/* gpumon_show_profile() for output that reads captures as streams. */
int gpumon_show_stream(struct gpumon_context *context, const struct gpumon_show *show,
		       enum gpumon_output_content content,
		       int (*write)(FILE *out, const char *const *paths, unsigned int count,
				    const struct gpumon_profile_options *options));

#endif /* GPUMON_CMD_SHOW_H */
