// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user record: record a program's GPU use into a capture. */
#include "commands.h"
#include "lib/privileges.h"
#include "gpuprog_arguments.h"
#include "record/continuous.h"
#include "record/options.h"

static int record_run(struct gpumon_context *context, struct gpumon_session_options *options,
		      struct gpumon_gpuprog_arguments *probe)
{
	struct gpumon_session_result result;
	struct gpumon_error err;
	int ret = gpumon_record_privileges(context, options, probe->name);

	if (ret)
		return ret;
	ret = gpumon_gpuprog_within_open(context, probe, options);
	if (!ret && gpumon_session_run(context, options, &result, &err))
		ret = gpumon_report(context, &err);
	else if (!ret)
		ret = result.exit_status;
	gpumon_gpuprog_within_close(probe);
	return ret;
}

static int record_ask(struct gpumon_context *context, const char *directory, bool records)
{
	struct gpumon_error err;

	if (records)
		return gpumon_usage(context,
				    "--ask goes without a program, --pid and --continuous");
	gpumon_privileges_keep(GPUMON_PRIVILEGE_FILES);
	return gpumon_continuous_ask(directory, &err) ? gpumon_report(context, &err) :
							GPUMON_EXIT_OK;
}

static int command_record(struct gpumon_context *context, int argc, char **argv)
{
	struct gpumon_continuous_choice arguments = { 0 };
	struct gpumon_gpuprog_arguments probe = { 0 };
	struct gpumon_session_options session;
	const struct gpumon_option options[] = {
		GPUMON_RECORD_OPTIONS(&session),
		GPUMON_CONTINUOUS_OPTIONS(&arguments),
		GPUMON_GPUPROG_WITHIN_OPTIONS(&probe),
		GPUMON_OPTION("quiet", 'q', GPUMON_OPTION_FLAG, &session.quiet),
		{ 0 },
	};
	int status;

	gpumon_record_options_default(&session);
	session.recorder.root = context->root;
	status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_PROGRAM);
	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (arguments.ask)
		return record_ask(context, arguments.ask,
				  argc || session.pid_count || session.group_count ||
					  arguments.continuous.on);
	if (argc)
		session.argv = argv;
	if (!session.argv && !session.pid_count && !session.group_count)
		return gpumon_usage(context, "no program to run, and no --pid");
	status = gpumon_continuous_options_check(context, &arguments, &session);
	if (!status)
		status = gpumon_record_options_check(context, &session);
	if (!status)
		status = gpumon_gpuprog_within_check(context, &probe, &session);
	return status ? status : record_run(context, &session, &probe);
}

const struct gpumon_command gpumon_command_record = {
	.name = "record",
	.summary = "Record which code launched what on the GPU, into a directory",
	.usage =
		"[-o DIR] [OPTION]... [--] PROGRAM [ARGUMENT]... | -p PID... [OPTION]... | --ask DIR",
	.help = "Runs the program as it is, with its own input, output, signals and exit status, and\n"
		"records every kernel, copy and memset of it and its children with the call path that\n"
		"launched it. Nothing is printed until it has ended.\n"
		"\n"
		"With -p, a running process is recorded until it ends, the time is over, or Ctrl-C. Of one that\n"
		"uses CUDA everything is recorded, prepared or not: libgpumon-inject.so is brought in by ptrace.\n"
		"With another API it has to be there from the start (OPENCL_LAYERS or LD_PRELOAD); without it,\n"
		"uprobes record the calls, which needs root.\n"
		"\n"
		"Options:\n" GPUMON_RECORD_HELP GPUMON_CONTINUOUS_HELP
		"  -q, --quiet            print nothing at the end either\n" GPUMON_GPUPROG_WITHIN_HELP
		"\n"
		"Examples:\n"
		"  gpumon-user record -o run1 -- python3 train.py\n"
		"  gpumon-user correlate run1\n"
		"  gpumon-user record --probe cuda-counter -o run2 -- ./train\n"
		"  gpumon-user record -p 4242 --duration 10\n"
		"  gpumon-user record --continuous --low-overhead -o last -- ./server\n"
		"  gpumon-user record --ask last\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROCESSES |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_record,
};
