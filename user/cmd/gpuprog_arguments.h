/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Arguments about GPU programs: those of "probe", and of "record" and "correlate" with --probe. */
#ifndef GPUMON_CMD_GPUPROG_ARGUMENTS_H
#define GPUMON_CMD_GPUPROG_ARGUMENTS_H

#include "lib/options.h"
#include "gpuprog/server/session.h"
#include "gpuprog/server/load.h"
#include "record/session.h"

/**
 * struct gpumon_gpuprog_arguments - GPU programs, and how they are put into kernels
 * @name: tool or object file
 * @rules: for the verifier of the programs
 * @sets: first values of arrays
 * @run: options of the run
 * @tool: name of the tool, of @run
 * @check: result of verifying the object
 * @service: made by gpumon_gpuprog_within_open()
 * @variable: environment variable for the program, set by gpumon_gpuprog_within_open()
 * @err: where sentences for the user go
 */
struct gpumon_gpuprog_arguments {
	const char *name;
	struct gpumon_gpuprog_rules rules;
	struct gpumon_texts sets;
	struct gpumon_gpuprog_options run;
	char tool[64];
	struct gpumon_gpuprog_check check;
	struct gpumon_gpuprog_service *service;
	char variable[GPUMON_GPUPROG_VARIABLE_BYTES];
	FILE *err;
};

/* Lines for a command's table of options. */
#define GPUMON_GPUPROG_OPTIONS(arguments)                                                      \
	GPUMON_OPTION("allow-exit", 0, GPUMON_OPTION_FLAG, &(arguments)->rules.allow_exit),    \
		GPUMON_OPTION("kernel", 'k', GPUMON_OPTION_TEXTS, &(arguments)->run.kernels),  \
		GPUMON_OPTION_RANGE("fuel", 0, GPUMON_OPTION_U32, &(arguments)->run.fuel, 1,   \
				    1u << 30),                                                 \
		GPUMON_OPTION("set", 0, GPUMON_OPTION_TEXTS, &(arguments)->sets),              \
		GPUMON_OPTION("attach", 0, GPUMON_OPTION_TEXTS, &(arguments)->run.cpu.attach), \
		GPUMON_OPTION("no-cpu", 0, GPUMON_OPTION_FLAG, &(arguments)->run.no_cpu),      \
		GPUMON_OPTION("sass", 0, GPUMON_OPTION_FLAG, &(arguments)->run.sass)

/* Part of the help about these options, but for --sass. */
#define GPUMON_GPUPROG_HELP                                                                                 \
	"  -k, --kernel PATTERN   only kernels with this name, mangled or not; * any text, ? a character\n" \
	"      --fuel N           backward jumps that one run of a program may take (65536)\n"              \
	"      --set MAP[INDEX]=N a value that an array has at first; MAP[*]=N: all of its values\n"        \
	"      --attach NAME=FILE:FUNCTION\n"                                                               \
	"                         where a uprobe of the object is, if its section does not say it\n"        \
	"      --no-cpu           leave out the object's programs for the CPU, which need root\n"           \
	"      --allow-exit       accept programs that end a thread of the kernel\n"

/* Options of "record" and "correlate". */
#define GPUMON_GPUPROG_WITHIN_OPTIONS(arguments)                           \
	GPUMON_OPTION("probe", 0, GPUMON_OPTION_TEXT, &(arguments)->name), \
		GPUMON_GPUPROG_OPTIONS(arguments)

#define GPUMON_GPUPROG_WITHIN_HELP                                                                        \
	"      --probe TOOL|FILE.bpf.o  also run eBPF programs in the kernels, as \"probe\" does; what\n" \
	"                         they gathered is kept in the capture. With it:\n" GPUMON_GPUPROG_HELP

/* Report each refused program. */
void gpumon_gpuprog_report_refusals(struct gpumon_context *context,
				    const struct gpumon_gpuprog_check *check);

/**
 * gpumon_gpuprog_arguments_open - read and verify the object, with first values of arrays
 * @context: context
 * @arguments: @check is to be cleared in both cases
 *
 * Return: 0, or a status after the failures were reported: also if a program is refused, because counts
 * without it would be wrong.
 */
int gpumon_gpuprog_arguments_open(struct gpumon_context *context,
				  struct gpumon_gpuprog_arguments *arguments);

/* Is --probe or one of its options given? */
bool gpumon_gpuprog_arguments_given(const struct gpumon_gpuprog_arguments *arguments);

/* Do --probe and its options go with those of a recording? 0, or a status after gpumon_usage(). */
int gpumon_gpuprog_within_check(struct gpumon_context *context,
				const struct gpumon_gpuprog_arguments *arguments,
				const struct gpumon_session_options *session);

/**
 * gpumon_gpuprog_within_open - have a recording put programs into kernels, too
 * @context: context
 * @arguments: to be closed in both cases. Without a name nothing happens
 * @session: out: @beside
 *
 * Return: 0, or a status after the failure was reported.
 */
int gpumon_gpuprog_within_open(struct gpumon_context *context,
			       struct gpumon_gpuprog_arguments *arguments,
			       struct gpumon_session_options *session);
void gpumon_gpuprog_within_close(struct gpumon_gpuprog_arguments *arguments);

#endif /* GPUMON_CMD_GPUPROG_ARGUMENTS_H */
