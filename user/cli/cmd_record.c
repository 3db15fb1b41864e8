// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user record: a program's use of the GPU into a capture. */
#include "commands.h"
#include "base/privileges.h"
#include "record/options.h"

static int record_run(struct gpumon_context *context, struct gpumon_session_options *options)
{
	struct gpumon_session_result result;
	struct gpumon_error err;
	int ret = gpumon_record_privileges(context, options);

	if (ret)
		return ret;
	if (gpumon_session_run(context, options, &result, &err))
		return gpumon_report(context, &err);
	return result.exit_status;
}

static int command_record(struct gpumon_context *context, int argc, char **argv)
{
	static const struct option options[] = {
		GPUMON_RECORD_OPTIONS,
		{ "quiet", no_argument, NULL, 'q' },
		{ 0 },
	};
	struct gpumon_session_options session;
	bool explicit;
	int words = gpumon_record_split(argc, argv, options, &explicit);

	gpumon_record_options_default(&session);
	session.recorder.root = context->root;
	for (;;) {
		int option = gpumon_option(context, words, argv, options);

		if (option == GPUMON_OPTION_END)
			break;
		switch (option) {
		case GPUMON_OPTION_HELP:
			return GPUMON_EXIT_OK;
		case GPUMON_OPTION_BAD:
			return GPUMON_EXIT_USAGE;
		case 'q':
			session.quiet = true;
			break;
		default:
			if (gpumon_record_option(context, &session, option))
				return GPUMON_EXIT_USAGE;
		}
	}
	words += explicit;
	if (words < argc)
		session.argv = argv + words;
	if (session.argv && session.pid_count)
		return gpumon_usage(context, "either a program or --pid, not both");
	if (!session.argv && !session.pid_count)
		return gpumon_usage(context, "no program to run, and no --pid");
	return record_run(context, &session);
}

const struct gpumon_command gpumon_command_record = {
	.name = "record",
	.summary = "Record which code launched what on the GPU, into a directory",
	.usage = "[-o DIR] [OPTION]... [--] PROGRAM [ARGUMENT]... | -p PID... [OPTION]...",
	.help = "Runs the program as it is, with its own input, output, signals and exit status, and\n"
		"records every kernel, copy and memset of it and its children with the call path that\n"
		"launched it. Nothing is printed until it has ended.\n"
		"\n"
		"With -p, a process in which libgpumon-inject.so sleeps is recorded until it ends, the time\n"
		"is over, or Ctrl-C.\n"
		"\n"
		"Options:\n" GPUMON_RECORD_HELP
		"  -q, --quiet            print nothing at the end either\n"
		"\n"
		"Examples:\n"
		"  gpumon-user record -o run1 -- python3 train.py\n"
		"  gpumon-user correlate run1\n"
		"  gpumon-user record -p 4242 --duration 10\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROCESSES |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_record,
};
