// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privileges.h"
#include "options.h"
#include "process/process_info.h"

#define MIB (1ULL << 20)

/* CUPTI is asked for what is complete about twice a second. */
#define FLUSH_MS	 500
#define STACK_DEPTH	 128
#define CUPTI_BUFFER_MIB 256

void gpumon_record_options_default(struct gpumon_session_options *options)
{
	struct gpumon_message_settings *settings = &options->recorder.settings;

	memset(options, 0, sizeof(*options));
	settings->record = GPUMON_RECORD_BY_DEFAULT;
	settings->window = GPUMON_WINDOW_ALWAYS;
	settings->flush_ms = FLUSH_MS;
	settings->stack_depth = STACK_DEPTH;
	settings->buffer_mib = CUPTI_BUFFER_MIB;
	options->recorder.driver = true;
}

static int add_pid(struct gpumon_context *context, struct gpumon_session_options *options)
{
	uint64_t pid;

	if (gpumon_argument_u64(context, "--pid", optarg, 1, INT32_MAX, &pid))
		return -1;
	/* Named twice, it is recorded once. */
	for (unsigned int i = 0; i < options->pid_count; i++)
		if (options->pids[i] == (pid_t)pid)
			return 0;
	if (options->pid_count >= GPUMON_SESSION_PIDS_MAX) {
		gpumon_usage(context, "--pid: at most %d processes", GPUMON_SESSION_PIDS_MAX);
		return -1;
	}
	options->pids[options->pid_count++] = (pid_t)pid;
	return 0;
}

static int set_window(struct gpumon_context *context, struct gpumon_message_settings *settings)
{
	const char *name = optarg + 6;

	if (!strcmp(optarg, "profiler")) {
		settings->window = GPUMON_WINDOW_PROFILER;
		return 0;
	}
	if (strncmp(optarg, "range:", 6) != 0 || !*name) {
		gpumon_usage(context, "--window: \"%s\" is neither profiler nor range:NAME",
			     optarg);
		return -1;
	}
	if (strlen(name) >= sizeof(settings->range)) {
		gpumon_usage(context, "--window: a range's name has at most %zu bytes",
			     sizeof(settings->range) - 1);
		return -1;
	}
	settings->window = GPUMON_WINDOW_RANGE;
	settings->record |= GPUMON_RECORD_RANGES;
	memcpy(settings->range, name, strlen(name) + 1);
	return 0;
}

/* Of this very process: ranks are started as "mpirun gpumon-user record ...". */
static uint32_t own_rank(void)
{
	struct gpumon_process_info info;

	gpumon_process_info_read(&info, "", getpid());
	return info.rank;
}

static int expand(struct gpumon_context *context, char letter, char *text, size_t room)
{
	switch (letter) {
	case '%':
		snprintf(text, room, "%%");
		return 0;
	case 'p':
		snprintf(text, room, "%d", (int)getpid());
		return 0;
	case 'h':
		if (gethostname(text, room))
			snprintf(text, room, "localhost");
		text[room - 1] = '\0';
		return 0;
	case 'r':
		if (own_rank() == UINT32_MAX) {
			gpumon_usage(
				context,
				"--output: %%r, but no launcher set a rank in the environment");
			return -1;
		}
		snprintf(text, room, "%u", own_rank());
		return 0;
	default:
		gpumon_usage(context,
			     "--output: only %%h, %%p, %%r and %%%% mean anything behind %%");
		return -1;
	}
}

int gpumon_record_directory(struct gpumon_context *context, const char *text, char *name)
{
	size_t length = 0;

	for (; *text; text++) {
		char part[256] = { *text };

		if (*text == '%' && expand(context, *++text, part, sizeof(part)))
			return -1;
		if (length + strlen(part) >= PATH_MAX) {
			gpumon_usage(context, "--output: the name is too long");
			return -1;
		}
		memcpy(name + length, part, strlen(part) + 1);
		length += strlen(part);
	}
	return 0;
}

/* Options that are a bit, or take one away. */
static bool set_bit(struct gpumon_message_settings *settings, int option)
{
	switch (option) {
	case GPUMON_RECORD_OPTION_SYNC:
		settings->record |= GPUMON_RECORD_SYNCHRONISATION;
		return true;
	case GPUMON_RECORD_OPTION_MEMORY:
		settings->record |= GPUMON_RECORD_ALLOCATIONS;
		return true;
	case GPUMON_RECORD_OPTION_UNIFIED_MEMORY:
		settings->record |= GPUMON_RECORD_UNIFIED;
		return true;
	case GPUMON_RECORD_OPTION_NVTX:
		settings->record |= GPUMON_RECORD_RANGES;
		return true;
	case GPUMON_RECORD_OPTION_API:
		settings->record |= GPUMON_RECORD_ALL_CALLS;
		return true;
	case GPUMON_RECORD_OPTION_LATENCY:
		settings->record |= GPUMON_RECORD_LATENCY;
		return true;
	case GPUMON_RECORD_OPTION_NO_STACKS:
		settings->record &= ~(GPUMON_RECORD_STACKS | GPUMON_RECORD_PYTHON);
		return true;
	case GPUMON_RECORD_OPTION_NO_PYTHON:
		settings->record &= ~GPUMON_RECORD_PYTHON;
		return true;
	default:
		return false;
	}
}

int gpumon_record_option(struct gpumon_context *context, struct gpumon_session_options *options,
			 int option)
{
	struct gpumon_message_settings *settings = &options->recorder.settings;
	uint64_t number;

	if (set_bit(settings, option))
		return 0;
	switch (option) {
	case 'o':
		if (!*optarg) {
			gpumon_usage(context, "--output: the name is empty");
			return -1;
		}
		return gpumon_record_directory(context, optarg, options->directory);
	case 'p':
		return add_pid(context, options);
	case 'd':
		return gpumon_argument_duration(context, "--duration", optarg,
						&options->duration_ns);
	case GPUMON_RECORD_OPTION_NO_NAMES:
		options->no_names = true;
		return 0;
	case GPUMON_RECORD_OPTION_NO_DRIVER:
		options->recorder.driver = false;
		return 0;
	case GPUMON_RECORD_OPTION_RUN_AS:
		options->run_as = optarg;
		return 0;
	case GPUMON_RECORD_OPTION_WINDOW:
		return set_window(context, settings);
	case GPUMON_RECORD_OPTION_BUFFER:
		return gpumon_argument_size(context, "--buffer", optarg, MIB, 1024 * MIB,
					    &options->recorder.channel_bytes);
	case GPUMON_RECORD_OPTION_MAX_SIZE:
		return gpumon_argument_size(context, "--max-size", optarg, MIB, 1ULL << 50,
					    &options->recorder.max_bytes);
	case GPUMON_RECORD_OPTION_CUPTI_BUFFER:
		if (gpumon_argument_size(context, "--cupti-buffer", optarg, MIB, 16384 * MIB,
					 &number))
			return -1;
		settings->buffer_mib = (uint32_t)(number / MIB);
		return 0;
	case GPUMON_RECORD_OPTION_STACK_DEPTH:
		if (gpumon_argument_u64(context, "--stack-depth", optarg, 1, GPUMON_STACK_DEPTH_MAX,
					&number))
			return -1;
		settings->stack_depth = (uint32_t)number;
		return 0;
	default:
		return -1;
	}
}

int gpumon_record_privileges(struct gpumon_context *context,
			     const struct gpumon_session_options *options)
{
	struct gpumon_error err;

	if (!options->argv) {
		if (options->run_as)
			return gpumon_usage(context, "--run-as goes with a program");
		gpumon_privileges_keep(GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS |
				       GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_FILES |
				       GPUMON_PRIVILEGE_PROCESSES);
		return 0;
	}
	gpumon_privileges_keep(GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS |
			       GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROCESSES |
			       GPUMON_PRIVILEGE_PROGRAM);
	if (gpumon_privileges_become(options->run_as, GPUMON_PRIVILEGE_MODULE,
				     GPUMON_PRIVILEGE_DEBUGFS, &err))
		return gpumon_report(context, &err);
	return 0;
}

static bool letter_has_argument(const struct option *options, int letter)
{
	for (; options->name; options++)
		if (options->val == letter)
			return options->has_arg == required_argument;
	return false;
}

/* As getopt_long(): a whole name, or the beginning of one. */
static bool name_has_argument(const struct option *options, const char *name)
{
	size_t length = strlen(name);
	bool has = false;

	for (; options->name; options++) {
		if (strncmp(options->name, name, length) != 0)
			continue;
		if (!options->name[length])
			return options->has_arg == required_argument;
		has |= options->has_arg == required_argument;
	}
	return has;
}

int gpumon_record_split(int argc, char **argv, const struct option *options, bool *explicit)
{
	int i = 1;

	*explicit = false;
	for (; i < argc; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "--")) {
			*explicit = true;
			return i;
		}
		if (word[0] != '-' || !word[1])
			return i;
		if (word[1] == '-') {
			if (!strchr(word, '=') && name_has_argument(options, word + 2))
				i++;
			continue;
		}
		for (const char *letter = word + 1; *letter; letter++) {
			if (!letter_has_argument(options, *letter))
				continue;
			/* The rest of the word is its argument, or the next word. */
			if (!letter[1])
				i++;
			break;
		}
	}
	return argc;
}
