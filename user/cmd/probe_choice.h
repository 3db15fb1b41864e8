/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Options about programs for kernels: of "probe", and of "record" and "correlate" with --probe. */
#ifndef GPUMON_CMD_PROBE_CHOICE_H
#define GPUMON_CMD_PROBE_CHOICE_H

#include "lib/options.h"
#include "gpuprog/server/session.h"
#include "gpuprog/server/load.h"
#include "record/session.h"

/**
 * struct gpumon_gpuprog_choice - programs, and how they are put into kernels
 * @name: tool or object file
 * @rules: for the programs
 * @sets: first values of arrays
 * @run: options of the run
 * @tool: name of the tool, of @run
 * @check: the object
 * @service: of gpumon_gpuprog_within_open()
 * @variable: likewise
 * @err: where sentences for the user go
 */
struct gpumon_gpuprog_choice {
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
#define GPUMON_GPUPROG_OPTIONS(choice)                                                      \
	GPUMON_OPTION("allow-exit", 0, GPUMON_OPTION_FLAG, &(choice)->rules.allow_exit),    \
		GPUMON_OPTION("kernel", 'k', GPUMON_OPTION_TEXTS, &(choice)->run.kernels),  \
		GPUMON_OPTION_RANGE("fuel", 0, GPUMON_OPTION_U32, &(choice)->run.fuel, 1,   \
				    1u << 30),                                              \
		GPUMON_OPTION("set", 0, GPUMON_OPTION_TEXTS, &(choice)->sets),              \
		GPUMON_OPTION("attach", 0, GPUMON_OPTION_TEXTS, &(choice)->run.cpu.attach), \
		GPUMON_OPTION("no-cpu", 0, GPUMON_OPTION_FLAG, &(choice)->run.no_cpu),      \
		GPUMON_OPTION("sass", 0, GPUMON_OPTION_FLAG, &(choice)->run.sass)

/* Their part of the help, but for --sass. */
#define GPUMON_GPUPROG_HELP                                                                                 \
	"  -k, --kernel PATTERN   only kernels with this name, mangled or not; * any text, ? a character\n" \
	"      --fuel N           backward jumps that one run of a program may take (65536)\n"              \
	"      --set MAP[INDEX]=N a value that an array has at first; MAP[*]=N: all of its values\n"        \
	"      --attach NAME=FILE:FUNCTION\n"                                                               \
	"                         where a uprobe of the object is, if its section does not say it\n"        \
	"      --no-cpu           leave out the object's programs for the CPU, which need root\n"           \
	"      --allow-exit       accept programs that end a thread of the kernel\n"

/* The options of "record" and "correlate". */
#define GPUMON_GPUPROG_WITHIN_OPTIONS(choice)                           \
	GPUMON_OPTION("probe", 0, GPUMON_OPTION_TEXT, &(choice)->name), \
		GPUMON_GPUPROG_OPTIONS(choice)

#define GPUMON_GPUPROG_WITHIN_HELP                                                                        \
	"      --probe TOOL|FILE.bpf.o  also run eBPF programs in the kernels, as \"probe\" does; what\n" \
	"                         they gathered is kept in the capture. With it:\n" GPUMON_GPUPROG_HELP

/* Report each refused program. */
void gpumon_gpuprog_report_refusals(struct gpumon_context *context,
				    const struct gpumon_gpuprog_check *check);

/**
 * gpumon_gpuprog_choice_open - read and verify the object, with first values of arrays
 * @context: context
 * @choice: @check is to be cleared in both cases
 *
 * Return: 0, or a status after the failures were reported: also if a program is refused, as one that lacks
 * a part of what was asked for would count wrong.
 */
int gpumon_gpuprog_choice_open(struct gpumon_context *context,
			       struct gpumon_gpuprog_choice *choice);

/* Whether --probe or one of its options is given. */
bool gpumon_gpuprog_choice_given(const struct gpumon_gpuprog_choice *choice);

/* Whether --probe and its options fit together with those of a recording. 0, or after gpumon_usage() a status. */
int gpumon_gpuprog_within_check(struct gpumon_context *context,
				const struct gpumon_gpuprog_choice *choice,
				const struct gpumon_session_options *session);

/**
 * gpumon_gpuprog_within_open - have a recording put programs into kernels, too
 * @context: context
 * @choice: to be closed in both cases. Without a name nothing happens
 * @session: out: @beside
 *
 * Return: 0, or a status after the failure was reported.
 */
int gpumon_gpuprog_within_open(struct gpumon_context *context, struct gpumon_gpuprog_choice *choice,
			       struct gpumon_session_options *session);
void gpumon_gpuprog_within_close(struct gpumon_gpuprog_choice *choice);

#endif /* GPUMON_CMD_PROBE_CHOICE_H */
