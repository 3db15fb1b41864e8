// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "model/json_model.h"
#include "base/privileges.h"
#include "base/version.h"

static const struct gpumon_command *const commands[] = {
#define GPUMON_COMMAND_ENTRY(name) &gpumon_command_##name,
	GPUMON_COMMANDS(GPUMON_COMMAND_ENTRY)
#undef GPUMON_COMMAND_ENTRY
};

#define N_COMMANDS  (sizeof(commands) / sizeof(commands[0]))
#define MAX_OPTIONS 64

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
	/* glibc starts afresh, also its hidden state, when optind is 0: tests run many commands. */
	optind = 0;
	return context->command->run(context, argc - 1, argv + 1);
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

/* Lock-free, so a signal handler may write it. */
static atomic_bool caught;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&caught, true);
}

void gpumon_signals_catch(void)
{
	/* No SA_RESTART: a blocking read or sleep must end. */
	struct sigaction action = { .sa_handler = on_signal };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool gpumon_signals_caught(void)
{
	return atomic_load(&caught);
}

uint64_t gpumon_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

bool gpumon_sleep_until(uint64_t monotonic_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(monotonic_ns / 1000000000ULL),
		.tv_nsec = (long)(monotonic_ns % 1000000000ULL),
	};

	while (!caught && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	return !caught;
}
