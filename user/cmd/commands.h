/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The table of subcommands.
 *
 * A new command is one file cmd_NAME.c, which defines "gpumon_command_NAME", and one line in
 * GPUMON_ALL_COMMANDS(). The Makefile takes every cmd_*.c.
 */
#ifndef GPUMON_CMD_COMMANDS_H
#define GPUMON_CMD_COMMANDS_H

#include "lib/options.h"
#include "lib/profile.h"

#define GPUMON_ALL_COMMANDS(X) \
	X(stat)                \
	X(top)                 \
	X(trace)               \
	X(alerts)              \
	X(metrics)             \
	X(record)              \
	X(correlate)           \
	X(flamegraph)          \
	X(report)              \
	X(frames)              \
	X(export)              \
	X(diff)                \
	X(probe)               \
	X(set)                 \
	X(doctor)

#if GPUMON_IS_SMALL
/* Those that the Makefile's COMMANDS names. */
#define GPUMON_COMMANDS(X) GPUMON_SMALL_COMMANDS(X)
#else
#define GPUMON_COMMANDS(X) GPUMON_ALL_COMMANDS(X)
#endif

/* Declares all of them. C accepts the last name repeated after the list. */
#define GPUMON_COMMAND_DECLARE(name) gpumon_command_##name,
extern const struct gpumon_command GPUMON_COMMANDS(GPUMON_COMMAND_DECLARE) gpumon_command_stat;
#undef GPUMON_COMMAND_DECLARE

/* A command by its place in the table, NULL behind the last. */
const struct gpumon_command *gpumon_command_at(size_t i);

/**
 * gpumon_complete() - print what a word of a command line may be, for user/completion/
 * @context: @out gets a line "WORD<tab>DESCRIPTION" for each, and ":files" where it may be a file
 * @argc: number of words behind the program's name
 * @argv: the words; the last one is being typed
 *
 * Return: exit status.
 */
int gpumon_complete(struct gpumon_context *context, int argc, char **argv);

/**
 * gpumon_run() - find the command and run it; main() without the process
 * @context: the caller sets out, err and root
 * @argc: as in main()
 * @argv: as in main()
 *
 * Return: exit status.
 */
int gpumon_run(struct gpumon_context *context, int argc, char **argv);

#endif /* GPUMON_CMD_COMMANDS_H */
