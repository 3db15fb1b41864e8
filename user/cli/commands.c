// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "../kmod/uapi/gpumon_netlink.h"
#include "base/privileges.h"
#include "base/version.h"
#include "commands.h"

static const struct gpumon_command *const commands[] = {
#define GPUMON_COMMAND_ENTRY(name) &gpumon_command_##name,
	GPUMON_COMMANDS(GPUMON_COMMAND_ENTRY)
#undef GPUMON_COMMAND_ENTRY
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_overview(FILE *out)
{
	fputs("Usage: gpumon-user COMMAND [OPTION]…\n\n"
	      "What GPU drivers do, and which code launched what on the GPU.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nOptions:\n"
	      "  -h, --help       this text; after a command, that command's\n"
	      "  -V, --version    version of this program\n\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 77 not possible on this machine.\n",
	      out);
}

static const struct gpumon_command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

/* So that a complaint about an option before --json is JSON too. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			return true;
	}
	return false;
}

int gpumon_run(struct gpumon_context *context, int argc, char **argv)
{
	context->json = wants_json(argc, argv);
	context->command = NULL;

	if (argc < 2)
		return gpumon_usage(context, "no command given");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_overview(context->out);
		return GPUMON_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		fprintf(context->out, "gpumon-user %s (netlink schema %d)\n", GPUMON_VERSION,
			GPUMON_SCHEMA);
		return GPUMON_EXIT_OK;
	}
	if (argv[1][0] == '-')
		return gpumon_usage(context, "unknown option %s", argv[1]);

	context->command = find(argv[1]);
	if (!context->command)
		return gpumon_usage(context, "unknown command \"%s\"", argv[1]);

	gpumon_privileges_keep(context->command->privileges);
	return context->command->run(context, argc - 1, argv + 1);
}
