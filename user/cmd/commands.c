// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "../kmod/uapi/gpumon_netlink.h"
#include "lib/options.h"
#include "lib/privileges.h"
#include "lib/version.h"
#include "commands.h"

static const struct gpumon_command *const commands[] = {
#define GPUMON_COMMAND_ENTRY(name) &gpumon_command_##name,
	GPUMON_COMMANDS(GPUMON_COMMAND_ENTRY)
#undef GPUMON_COMMAND_ENTRY
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

const struct gpumon_command *gpumon_command_at(size_t i)
{
	return i < N_COMMANDS ? commands[i] : NULL;
}

static const struct gpumon_command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

/* Those of all builds. */
static const char *const names[] = {
#define GPUMON_COMMAND_NAME(name) #name,
	GPUMON_ALL_COMMANDS(GPUMON_COMMAND_NAME)
#undef GPUMON_COMMAND_NAME
};

#define N_NAMES (sizeof(names) / sizeof(names[0]))

static void print_left_out(FILE *out)
{
	fputs("\nThis is the small build, without", out);
	for (size_t i = 0; i < N_NAMES; i++)
		if (!find_command(names[i]))
			fprintf(out, " %s,", names[i]);
	fputs(" BPF, --listen and .gz.\n", out);
}

static void print_overview(FILE *out)
{
	fputs("Usage: gpumon-user COMMAND [OPTION]…\n\n"
	      "What GPU drivers do, and which code launched what on the GPU.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("  help       Show the help of a command\n", out);
	if (GPUMON_IS_SMALL)
		print_left_out(out);
	fputs("\nOptions:\n"
	      "  -h, --help       this text; after a command, that command's\n"
	      "  -V, --version    version of this program\n\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 77 not possible on this machine.\n",
	      out);
}

static int unknown_command(struct gpumon_context *context, const char *name)
{
	struct gpumon_error err;

	for (size_t i = 0; GPUMON_IS_SMALL && i < N_NAMES; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		gpumon_error_set(&err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
				 "%s is not in this gpumon-user: " GPUMON_BECAUSE(""), name);
		return gpumon_report(context, &err);
	}
	return gpumon_usage(context, "unknown command \"%s\"", name);
}

static int run_help(struct gpumon_context *context, const char *name)
{
	if (!name || !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_overview(context->out);
		return GPUMON_EXIT_OK;
	}
	context->command = find_command(name);
	if (!context->command)
		return unknown_command(context, name);
	gpumon_command_help(context);
	return GPUMON_EXIT_OK;
}

int gpumon_run(struct gpumon_context *context, int argc, char **argv)
{
	context->json = gpumon_options_have_json(argc, argv);
	context->command = NULL;

	/* Show the list of commands. The exit status still says that nothing was done. */
	if (argc < 2) {
		print_overview(context->out);
		return GPUMON_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		if (argc > 2)
			return gpumon_usage(context, "unexpected argument \"%s\"", argv[2]);
		fprintf(context->out, "gpumon-user %s (netlink schema %d%s)\n", GPUMON_VERSION,
			GPUMON_SCHEMA, GPUMON_IS_SMALL ? ", small build" : "");
		return GPUMON_EXIT_OK;
	}
	/* Shells ask so, see user/completion/. */
	if (!strcmp(argv[1], "--complete")) {
		gpumon_privileges_keep(0);
		return gpumon_complete(context, argc - 2, argv + 2);
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		if (argc > 3)
			return gpumon_usage(context, "help is of one command at a time");
		return run_help(context, argc > 2 ? argv[2] : NULL);
	}
	if (argv[1][0] == '-')
		return gpumon_usage(context, "unknown option %s", argv[1]);

	context->command = find_command(argv[1]);
	if (!context->command)
		return unknown_command(context, argv[1]);

	/* From here on the command's own options say whether --json is given. */
	context->json = false;
	gpumon_privileges_keep(context->command->privileges);
	return context->command->run(context, argc - 1, argv + 1);
}
