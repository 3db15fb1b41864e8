/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a subcommand gets, and how it reports failures. */
#ifndef GPUMON_LIB_COMMAND_H
#define GPUMON_LIB_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

/**
 * struct gpumon_context - what a command works with
 * @command: the command itself, for its help
 * @out: where results go (stdout, a memory stream in tests)
 * @err: where the one-line error message goes (stderr)
 * @root: prefix of /sys, /proc and /lib: "", or a test's own tree
 * @json: --json was given, also when a wrong option came before it; not to a program that is run
 * @explicit: "--" came before the operands
 */
struct gpumon_context {
	const struct gpumon_command *command;
	FILE *out;
	FILE *err;
	const char *root;
	bool json;
	bool explicit;
};

/**
 * struct gpumon_command - one subcommand
 * @name: as typed
 * @summary: one line for the list in --help
 * @usage: arguments as in a man page, without program and command name, "[--json] [GROUP]…"
 * @help: options, one a line, then examples; ends with a newline
 * @privileges: all that it may need, of enum gpumon_privilege; the rest is dropped before @run
 * @run: argv[0] is the command's name; reports failures with gpumon_report() and returns the exit
 *       status
 */
struct gpumon_command {
	const char *name;
	const char *summary;
	const char *usage;
	const char *help;
	unsigned int privileges;
	int (*run)(struct gpumon_context *context, int argc, char **argv);
};

/**
 * gpumon_report() - report a failure to the user
 * @context: context
 * @err: the failure
 *
 * One line "gpumon-user: message" on stderr, and with --json also
 * {"error":{"code":…,"message":…}} on stdout.
 *
 * Return: err->status.
 */
int gpumon_report(struct gpumon_context *context, const struct gpumon_error *err);

/* The same for wrong usage: message, then "(see gpumon-user COMMAND --help)". Returns GPUMON_EXIT_USAGE. */
int gpumon_usage(struct gpumon_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print the help of the context's command. */
void gpumon_command_help(struct gpumon_context *context);

#endif /* GPUMON_LIB_COMMAND_H */
