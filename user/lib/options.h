/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a subcommand gets, how it reports failures, and its options. */
#ifndef GPUMON_LIB_OPTIONS_H
#define GPUMON_LIB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "profile.h"

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

/* Around the text of @help below. user/Makefile defines it otherwise to take the text out of the file. */
#ifdef GPUMON_HELP
#elif GPUMON_IS_SMALL
#define GPUMON_HELP(...) NULL
#else
#define GPUMON_HELP(...) __VA_ARGS__
#endif

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

/* The options of a command, each with the variable that gets its value. */

#define GPUMON_MAX_TEXTS 64

/**
 * struct gpumon_texts - arguments of an option that is given several times
 * @texts: in their order, none is empty
 * @n: how many
 */
struct gpumon_texts {
	const char *texts[GPUMON_MAX_TEXTS];
	uint32_t n;
};

/**
 * enum gpumon_option_kind - what an option takes, and what @value of it points to
 * @GPUMON_OPTION_FLAG: no argument; a bool that becomes true
 * @GPUMON_OPTION_NO_FLAG: no argument; a bool that becomes false
 * @GPUMON_OPTION_BITS: no argument; a uint32_t in which the bits of @min are set
 * @GPUMON_OPTION_NO_BITS: no argument; a uint32_t in which the bits of @min are cleared
 * @GPUMON_OPTION_SET: no argument; a uint32_t that becomes @min
 * @GPUMON_OPTION_TEXT: a const char *; the argument may not be empty
 * @GPUMON_OPTION_TEXTS: a struct gpumon_texts, which gets each argument that is given
 * @GPUMON_OPTION_U32: a uint32_t from @min to @max
 * @GPUMON_OPTION_U64: a uint64_t from @min to @max
 * @GPUMON_OPTION_TIME: a uint64_t in nanoseconds
 * @GPUMON_OPTION_SIZE: a uint64_t in bytes, from @min to @max
 * @GPUMON_OPTION_TAKE: @take is called with the argument
 */
enum gpumon_option_kind {
	GPUMON_OPTION_FLAG,
	GPUMON_OPTION_NO_FLAG,
	GPUMON_OPTION_BITS,
	GPUMON_OPTION_NO_BITS,
	GPUMON_OPTION_SET,
	GPUMON_OPTION_TEXT,
	GPUMON_OPTION_TEXTS,
	GPUMON_OPTION_U32,
	GPUMON_OPTION_U64,
	GPUMON_OPTION_TIME,
	GPUMON_OPTION_SIZE,
	GPUMON_OPTION_TAKE,
};

/**
 * struct gpumon_option - an option of a command
 * @name: long name; --help (-h) is added to every table
 * @letter: short name, 0 for none
 * @kind: type of its argument
 * @value: variable that is set, or data for @take
 * @min: smallest number, or bits
 * @max: largest number
 * @take: returns 0, or -1 after calling gpumon_usage()
 */
struct gpumon_option {
	const char *name;
	char letter;
	enum gpumon_option_kind kind;
	void *value;
	uint64_t min;
	uint64_t max;
	int (*take)(struct gpumon_context *context, const char *text, void *value);
};

/*
 * A table can have a name twice, first with an argument and further on as a flag: "--name=x" is the
 * first then, "--name" the second.
 */

/* Lines of a table: without argument or limits, with both, and with a function. */
#define GPUMON_OPTION(name, letter, kind, where)   \
	{                                          \
		name, letter, kind, .value = where \
	}
#define GPUMON_OPTION_RANGE(name, letter, kind, where, min, max) \
	{                                                        \
		name, letter, kind, .value = where, min, max     \
	}
#define GPUMON_OPTION_CALL(name, letter, where, take)                        \
	{                                                                    \
		name, letter, GPUMON_OPTION_TAKE, .value = where, 0, 0, take \
	}
#define GPUMON_OPTION_JSON(context) GPUMON_OPTION("json", 0, GPUMON_OPTION_FLAG, &(context)->json)

/**
 * enum gpumon_operands - which operands a command accepts
 * @GPUMON_OPERANDS_NONE: none
 * @GPUMON_OPERANDS_MIXED: any, before, between and after the options
 * @GPUMON_OPERANDS_PROGRAM: a program with its own options, after those of the command
 */
enum gpumon_operands {
	GPUMON_OPERANDS_NONE,
	GPUMON_OPERANDS_MIXED,
	GPUMON_OPERANDS_PROGRAM,
};

#define GPUMON_OPTIONS_GO_ON (-1)

/* Whether --json is among the words before "--", be it an option or not. */
bool gpumon_options_have_json(int argc, char **argv);

/**
 * gpumon_options_parse() - parse the options of a command
 * @context: its @explicit is set; its @json, too, if wrong usage is reported
 * @argc: in: arguments with the command's name; out: number of operands
 * @argv: likewise; may be reordered
 * @options: ends with an entry without a name
 * @operands: which operands are accepted
 *
 * Return: GPUMON_OPTIONS_GO_ON, or an exit status if the help was printed or wrong usage reported.
 */
int gpumon_options_parse(struct gpumon_context *context, int *argc, char ***argv,
			 const struct gpumon_option *options, enum gpumon_operands operands);

/* Parse the number in an argument. 0, or -1 after calling gpumon_usage() ("--count: …"). */
int gpumon_argument_u64(struct gpumon_context *context, const char *what, const char *text,
			uint64_t min, uint64_t max, uint64_t *value);
/* Parse seconds with fractions, or a number with a unit ns, us, ms, s, m or h, at least 1 ms. */
int gpumon_argument_duration(struct gpumon_context *context, const char *what, const char *text,
			     uint64_t *ns);

/* A time since a beginning: the same from 0 on, also "+125ms". */
int gpumon_argument_moment(struct gpumon_context *context, const char *what, const char *text,
			   uint64_t *ns);

/* "4096", "64K", "16M", "1G". 0, or -1 after calling gpumon_usage(). */
int gpumon_argument_size(struct gpumon_context *context, const char *what, const char *text,
			 uint64_t min, uint64_t max, uint64_t *bytes);

#endif /* GPUMON_LIB_OPTIONS_H */
