// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"

#define MAX_OPTIONS 64
#define MIB	    (1ULL << 20)

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

	gpumon_error_set(&err, GPUMON_EXIT_USAGE, 0, "usage", "%s%s%s (see gpumon-user %s%s--help)",
			 name ? name : "", name ? ": " : "", text, name ? name : "",
			 name ? " " : "");
	return gpumon_report(context, &err);
}

static void print_help(struct gpumon_context *context)
{
	const struct gpumon_command *command = context->command;

	fprintf(context->out, "Usage: gpumon-user %s %s\n\n%s.\n\n%s", command->name,
		command->usage, command->summary, command->help);
	fputs("  -h, --help             this text\n", context->out);
}

static bool is_value(const struct option *options, int value)
{
	for (; options->name; options++) {
		if (options->val == value)
			return true;
	}
	return false;
}

int gpumon_option(struct gpumon_context *context, int argc, char **argv,
		  const struct option *options)
{
	struct option all[MAX_OPTIONS + 2] = { { 0 } };
	char letters[3 * MAX_OPTIONS + 4] = ":h";
	size_t n, length = 2;
	int value;

	for (n = 0; options[n].name && n < MAX_OPTIONS; n++) {
		all[n] = options[n];
		if (all[n].val >= 128 || !isalnum(all[n].val))
			continue;
		letters[length++] = (char)all[n].val;
		if (all[n].has_arg == required_argument)
			letters[length++] = ':';
	}
	/* Ours to see at once, not a user's to wonder about. */
	if (options[n].name)
		abort();
	all[n] = (struct option){ "help", no_argument, NULL, 'h' };

	/* One line of ours with the way to the help, not getopt's. */
	opterr = 0;
	for (;;) {
		value = getopt_long(argc, argv, letters, all, NULL);
		switch (value) {
		case -1:
			return GPUMON_OPTION_END;
		case 'h':
			print_help(context);
			return GPUMON_OPTION_HELP;
		case GPUMON_OPTION_JSON_VALUE:
			context->json = true;
			continue;
		case ':':
			gpumon_usage(context, "option %s needs an argument", argv[optind - 1]);
			return GPUMON_OPTION_BAD;
		case '?':
			/* 0: a long name; a value of the table: "--json=x"; else a letter, of which optind
			 * may still be in the middle.
			 */
			if (!optopt)
				gpumon_usage(context, "unknown option %s", argv[optind - 1]);
			else if (is_value(all, optopt))
				gpumon_usage(context, "option %s takes no argument",
					     argv[optind - 1]);
			else
				gpumon_usage(context, "unknown option -%c", optopt);
			return GPUMON_OPTION_BAD;
		default:
			return value;
		}
	}
}

int gpumon_argument_u64(struct gpumon_context *context, const char *what, const char *text,
			uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	/* strtoull() takes blanks and "-1"; we take digits. */
	if (!isdigit((unsigned char)text[0]) || *end || errno || number < min || number > max) {
		gpumon_usage(context, "%s: \"%s\" is not a whole number from %llu to %llu", what,
			     text, (unsigned long long)min, (unsigned long long)max);
		return -1;
	}
	*value = number;
	return 0;
}

int gpumon_argument_duration(struct gpumon_context *context, const char *what, const char *text,
			     uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "", 1e9 },  { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },
		{ "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	double number;

	number = strtod(text, &end);
	/* strtod() also knows "inf", "nan" and "0x1p3", which nobody means. */
	if (strspn(text, "0123456789.") != (size_t)(end - text) || end == text)
		goto bad;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		number *= units[i].ns;
		if (!(number >= 1e6 && number <= 366 * 86400e9))
			goto bad;
		*ns = (uint64_t)(number + 0.5);
		return 0;
	}
bad:
	gpumon_usage(context,
		     "%s: \"%s\" is not a time from 1ms to 366 days, such as 1, 0.5, 200ms", what,
		     text);
	return -1;
}

int gpumon_argument_size(struct gpumon_context *context, const char *what, const char *text,
			 uint64_t min, uint64_t max, uint64_t *bytes)
{
	static const struct {
		const char *name;
		unsigned int shift;
	} units[] = { { "", 0 },     { "K", 10 }, { "KiB", 10 }, { "M", 20 },
		      { "MiB", 20 }, { "G", 30 }, { "GiB", 30 } };
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	for (size_t i = 0;
	     isdigit((unsigned char)text[0]) && !errno && i < sizeof(units) / sizeof(units[0]);
	     i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (number > UINT64_MAX >> units[i].shift)
			break;
		number <<= units[i].shift;
		if (number < min || number > max)
			break;
		*bytes = number;
		return 0;
	}
	gpumon_usage(context, "%s: \"%s\" is not a size from %lluM to %lluM, such as 64M, 1G", what,
		     text, (unsigned long long)(min / MIB), (unsigned long long)(max / MIB));
	return -1;
}
