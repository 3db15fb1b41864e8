/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a subcommand gets, and how it takes its arguments and reports what went wrong. */
#ifndef GPUMON_BASE_COMMAND_H
#define GPUMON_BASE_COMMAND_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/**
 * struct gpumon_context - what a command works with
 * @command: the command itself, for its help
 * @out: where results go (stdout, a memory stream in tests)
 * @err: where the one line about a failure goes (stderr)
 * @root: prefix of /sys, /proc, /lib: "" or a made-up tree
 * @json: --json was given, also when a wrong option came before it
 */
struct gpumon_context {
	const struct gpumon_command *command;
	FILE *out;
	FILE *err;
	const char *root;
	bool json;
};

/**
 * struct gpumon_command - one subcommand
 * @name: as typed
 * @summary: one line for the list in --help
 * @usage: arguments as in a man page, without program and command name, "[--json] [GROUP]…"
 * @help: options, one a line, then examples; ends with a newline
 * @privileges: the most that it needs, of enum gpumon_privilege; all else is given up before @run
 * @run: argv[0] is the command's name; returns the exit status, having reported failures with
 *       gpumon_report()
 */
struct gpumon_command {
	const char *name;
	const char *summary;
	const char *usage;
	const char *help;
	unsigned int privileges;
	int (*run)(struct gpumon_context *context, int argc, char **argv);
};

/* What gpumon_option() returns beside the values of the option table. */
#define GPUMON_OPTION_END  (-1) /* no more, operands begin at optind */
#define GPUMON_OPTION_HELP (-2) /* --help was printed: return GPUMON_EXIT_OK */
#define GPUMON_OPTION_BAD  (-3) /* reported: return GPUMON_EXIT_USAGE */

/**
 * gpumon_option() - the next option
 * @context: context
 * @argc: of the command
 * @argv: of the command, options and operands may be mixed
 * @options: long options as for getopt_long(), ended by a zero line; --help (-h) and --json are
 *           served here and are not in it; val is returned and must be > 0. A val that is a
 *           letter or digit is a short option too.
 *
 * The argument of an option is in optarg, as with getopt_long().
 */
int gpumon_option(struct gpumon_context *context, int argc, char **argv,
		  const struct option *options);

/* --json is accepted by gpumon_option() only where the table has this line. */
#define GPUMON_OPTION_JSON                                          \
	{                                                           \
		"json", no_argument, NULL, GPUMON_OPTION_JSON_VALUE \
	}
#define GPUMON_OPTION_JSON_VALUE 0x100 /* handled inside, never returned */
#define GPUMON_OPTION_FIRST	 0x101 /* first free value for long-only options */

/**
 * gpumon_report() - tell the user about a failure
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

/* Parse numbers of arguments. 0, or -1 having called gpumon_usage() ("--count: …"). */
int gpumon_argument_u64(struct gpumon_context *context, const char *what, const char *text,
			uint64_t min, uint64_t max, uint64_t *value);
/* Seconds with fractions, or with a unit ns, us, ms, s, m, h, into nanoseconds, at least 1 ms. */
int gpumon_argument_duration(struct gpumon_context *context, const char *what, const char *text,
			     uint64_t *ns);

/* "4096", "64K", "16M", "1G". 0, or -1 having called gpumon_usage(). */
int gpumon_argument_size(struct gpumon_context *context, const char *what, const char *text,
			 uint64_t min, uint64_t max, uint64_t *bytes);

#endif /* GPUMON_BASE_COMMAND_H */
