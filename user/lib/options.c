// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "json.h"
#include "memory.h"
#include "options.h"

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

static char *help_of(const struct gpumon_command *command)
{
#ifdef GPUMON_SMALL
	return gpumon_small_help(command->name);
#else
	return gpumon_strdup(command->help);
#endif
}

void gpumon_command_help(struct gpumon_context *context)
{
	const struct gpumon_command *command = context->command;
	char *help = help_of(command), *examples = strstr(help, "\n\nExample");
	int options = examples ? (int)(examples + 1 - help) : (int)strlen(help);

	fprintf(context->out, "Usage: gpumon-user %s %s\n\n%s.\n\n%.*s%s%s", command->name,
		command->usage, command->summary, options, help,
		"  -h, --help             this text\n", help + options);
	free(help);
}

#define OPTIONS_MAX 96

/* Above all letters, so that a long option's value never equals a short option's letter. */
#define FIRST 0x100

static bool has_argument(const struct gpumon_option *option)
{
	return option->kind >= GPUMON_OPTION_TEXT;
}

/* 0, or -1 after calling gpumon_usage(). */
static int take_text(struct gpumon_context *context, const char *what, struct gpumon_texts *texts)
{
	if (!*optarg || texts->n == GPUMON_MAX_TEXTS) {
		if (*optarg)
			gpumon_usage(context, "%s is given more than %d times", what,
				     GPUMON_MAX_TEXTS);
		else
			gpumon_usage(context, "%s: the name is empty", what);
		return -1;
	}
	texts->texts[texts->n++] = optarg;
	return 0;
}

static int take_option(struct gpumon_context *context, const struct gpumon_option *option)
{
	uint32_t *word = option->value;
	uint64_t number;
	char what[64];

	snprintf(what, sizeof(what), "--%s", option->name);
	switch (option->kind) {
	case GPUMON_OPTION_FLAG:
	case GPUMON_OPTION_NO_FLAG:
		*(bool *)option->value = option->kind == GPUMON_OPTION_FLAG;
		return 0;
	case GPUMON_OPTION_BITS:
		*word |= (uint32_t)option->min;
		return 0;
	case GPUMON_OPTION_NO_BITS:
		*word &= ~(uint32_t)option->min;
		return 0;
	case GPUMON_OPTION_SET:
		*word = (uint32_t)option->min;
		return 0;
	case GPUMON_OPTION_TEXT:
		*(const char **)option->value = optarg;
		if (*optarg)
			return 0;
		gpumon_usage(context, "%s: the name is empty", what);
		return -1;
	case GPUMON_OPTION_TEXTS:
		return take_text(context, what, option->value);
	case GPUMON_OPTION_U32:
		if (gpumon_argument_u64(context, what, optarg, option->min, option->max, &number))
			return -1;
		*word = (uint32_t)number;
		return 0;
	case GPUMON_OPTION_U64:
		return gpumon_argument_u64(context, what, optarg, option->min, option->max,
					   option->value);
	case GPUMON_OPTION_TIME:
		return gpumon_argument_duration(context, what, optarg, option->value);
	case GPUMON_OPTION_SIZE:
		return gpumon_argument_size(context, what, optarg, option->min, option->max,
					    option->value);
	case GPUMON_OPTION_TAKE:
		return option->take(context, optarg, option->value);
	}
	return -1;
}

/* Report what getopt_long() rejected: @word is the argument, @value its return value. */
static int report_bad_option(struct gpumon_context *context, const char *word, int value)
{
	if (value == ':')
		return gpumon_usage(context, "option %s needs an argument", word);
	/*
	 * optopt is 0 for an unknown long name, FIRST or more for "--json=x", and a letter for an
	 * unknown short option.
	 */
	if (!optopt)
		return gpumon_usage(context, "unknown option %s", word);
	if (optopt >= FIRST)
		return gpumon_usage(context, "option %s takes no argument", word);
	return gpumon_usage(context, "unknown option -%c", optopt);
}

/* A flag of the same name further on in the table, for the name without "=": NULL if there is none. */
static const struct gpumon_option *namesake(const struct gpumon_option *option)
{
	for (const struct gpumon_option *other = option + 1; other->name; other++) {
		if (!strcmp(other->name, option->name) && !has_argument(other))
			return other;
	}
	return NULL;
}

bool gpumon_options_have_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			return true;
	}
	return false;
}

int gpumon_options_parse(struct gpumon_context *context, int *argc, char ***argv,
			 const struct gpumon_option *options, enum gpumon_operands operands)
{
	struct option names[OPTIONS_MAX + 2] = { { 0 } };
	char letters[2 * OPTIONS_MAX + 4] = "";
	bool json = context->json;
	int n, value, argument = 0;

	/* "+": stop at the first operand. ":": return ':' for a missing argument. */
	strcpy(letters, operands == GPUMON_OPERANDS_PROGRAM ? "+:h" : ":h");
	for (n = 0; options[n].name && n < OPTIONS_MAX; n++) {
		char letter[3] = { options[n].letter, has_argument(&options[n]) ? ':' : '\0' };

		names[n] = (struct option){ options[n].name, has_argument(&options[n]), NULL,
					    FIRST + n };
		if (has_argument(&options[n]) && namesake(&options[n]))
			names[n].has_arg = optional_argument;
		strcat(letters, letter);
	}
	/* The caller's table is too long: a bug of this program. */
	if (options[n].name)
		abort();
	names[n] = (struct option){ "help", no_argument, NULL, FIRST + n };

	/* An error in an option before --json is JSON, too. */
	context->json = json || gpumon_options_have_json(*argc, *argv);
	/* We print messages ourselves and point to the help. glibc restarts when optind is 0. */
	opterr = 0;
	optind = 0;
	while ((value = getopt_long(*argc, *argv, letters, names, NULL)) != -1) {
		if (value == ':' || value == '?')
			return report_bad_option(context, (*argv)[optind - 1], value);
		if (value == 'h' || value == FIRST + n) {
			gpumon_command_help(context);
			return GPUMON_EXIT_OK;
		}
		for (int i = 0; i < n; i++) {
			if (value != FIRST + i && value != options[i].letter)
				continue;
			if (options[i].value == &context->json)
				json = true;
			/* The argument is the next word, and not the rest of this one. */
			if (has_argument(&options[i]) && optarg == (*argv)[optind - 1])
				argument = optind;
			if (take_option(context, has_argument(&options[i]) && !optarg ?
							 namesake(&options[i]) :
							 &options[i]))
				return GPUMON_EXIT_USAGE;
			break;
		}
	}
	context->explicit = optind != argument && !strcmp((*argv)[optind - 1], "--");
	*argc -= optind;
	*argv += optind;
	if (*argc && operands == GPUMON_OPERANDS_NONE)
		return gpumon_usage(context, "unexpected argument \"%s\"", (*argv)[0]);
	/* The word may have been a program's option, or the argument of one. */
	context->json = json;
	return GPUMON_OPTIONS_GO_ON;
}

int gpumon_argument_u64(struct gpumon_context *context, const char *what, const char *text,
			uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	/* strtoull() also accepts blanks and "-1". */
	if (!isdigit((unsigned char)text[0]) || *end || errno || number < min || number > max) {
		gpumon_usage(context, "%s: \"%s\" is not a whole number from %llu to %llu", what,
			     text, (unsigned long long)min, (unsigned long long)max);
		return -1;
	}
	*value = number;
	return 0;
}

/* Seconds with fractions, or a number with a unit, from @min to @max. */
static bool parse_time(const char *text, double min, double max, uint64_t *ns)
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

	number = gpumon_decimal_parse(text, &end);
	if (end == text)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		number *= units[i].ns;
		if (!(number >= min && number <= max))
			return false;
		*ns = (uint64_t)(number + 0.5);
		return true;
	}
	return false;
}

#define TIME_MAX (366 * 86400e9)

int gpumon_argument_duration(struct gpumon_context *context, const char *what, const char *text,
			     uint64_t *ns)
{
	if (parse_time(text, 1e6, TIME_MAX, ns))
		return 0;
	gpumon_usage(context,
		     "%s: \"%s\" is not a time from 1ms to 366 days, such as 1, 0.5, 200ms", what,
		     text);
	return -1;
}

int gpumon_argument_moment(struct gpumon_context *context, const char *what, const char *text,
			   uint64_t *ns)
{
	if (parse_time(text + (*text == '+'), 0, TIME_MAX, ns))
		return 0;
	gpumon_usage(
		context,
		"%s: \"%s\" is not a time since the beginning of the recording, such as 1.5s, 125ms",
		what, text);
	return -1;
}

/* As it would be given: in the largest unit that leaves no rest. */
static const char *size_text(char text[24], uint64_t bytes)
{
	static const char *const units[] = { "", "K", "M", "G" };
	size_t i = 0;

	for (; i < 3 && bytes && !(bytes % 1024); i++)
		bytes /= 1024;
	snprintf(text, 24, "%llu%s", (unsigned long long)bytes, units[i]);
	return text;
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
	char from[24], to[24], *end;

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
	gpumon_usage(context, "%s: \"%s\" is not a size from %s to %s", what, text,
		     size_text(from, min), size_text(to, max));
	return -1;
}
