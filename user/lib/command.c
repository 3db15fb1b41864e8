// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <string.h>

#include "command.h"
#include "json.h"

int gpumon_report(struct gpumon_context *context, const struct gpumon_error *err)
{
	fflush(context->out);
	if (context->json)
		gpumon_json_print(gpumon_json_error(err), true, context->out);
	fprintf(context->err, "gpumon-user: %s\n", err->message);
	return err->status;
}

int gpumon_usage(struct gpumon_context *context, const char *format, ...)
{
	const char *name = context->command ? context->command->name : NULL;
	struct gpumon_error err;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	gpumon_error_set(&err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
			 "%s%s%s (see gpumon-user %s%s--help)", name ? name : "", name ? ": " : "",
			 text, name ? name : "", name ? " " : "");
	return gpumon_report(context, &err);
}

void gpumon_command_help(struct gpumon_context *context)
{
	const struct gpumon_command *command = context->command;
	const char *examples = strstr(command->help, "\n\nExample");
	int options = examples ? (int)(examples + 1 - command->help) : (int)strlen(command->help);

	fprintf(context->out, "Usage: gpumon-user %s %s\n\n%s.\n\n%.*s%s%s", command->name,
		command->usage, command->summary, options, command->help,
		"  -h, --help             this text\n", command->help + options);
}
