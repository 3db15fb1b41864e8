// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user correlate: which code launched what, of a program or of captures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "base/privileges.h"
#include "process/launch.h"
#include "record/live.h"
#include "record/options.h"
#include "base/output_file.h"
#include "show.h"
#include "record/temporary.h"

enum {
	OPTION_ROWS = GPUMON_SHOW_OPTION_NEXT,
	OPTION_SUMMARY,
	OPTION_NO_LIVE,
};

/**
 * struct correlate_run - a run of the command
 * @session: of a program or processes
 * @show: of captures
 * @summary: what is printed
 * @no_live: nothing before the end
 */
struct correlate_run {
	struct gpumon_context *context;
	struct gpumon_session_options session;
	struct gpumon_show show;
	struct gpumon_summary_options summary;
	bool no_live;
};

static int write_summary(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct correlate_run *run = data;
	struct gpumon_term term;

	if (run->context->json)
		return gpumon_output_json(out, view);
	gpumon_term_get(&term, out);
	return gpumon_output_summary(out, &term, view, &run->summary);
}

static int show(struct correlate_run *run)
{
	return gpumon_show_profile(run->context, &run->show, 0, true, write_summary, run);
}

static int record_and_show(struct correlate_run *run)
{
	FILE *out = run->context->out;
	struct gpumon_temporary temporary = { 0 };
	struct gpumon_session_result result;
	const char *path = result.directory;
	struct gpumon_live *live = NULL;
	struct gpumon_error err;
	int ret, status;

	if (!run->session.directory[0]) {
		/* A capture that is not asked for is nobody else's, and does not stay. */
		if (gpumon_temporary_make(&temporary, &err))
			return gpumon_report(run->context, &err);
		memcpy(run->session.directory, temporary.path, sizeof(temporary.path));
		/* It is read here and now. */
		run->session.no_names = true;
	}
	run->session.brief = true;
	if (!run->no_live)
		live = gpumon_live_new(run->context->err, &run->session);
	ret = gpumon_session_run(run->context, &run->session, &result, &err);
	gpumon_live_free(live);
	if (ret) {
		gpumon_temporary_remove(&temporary);
		return gpumon_report(run->context, &err);
	}
	run->show.paths = &path;
	run->show.count = 1;
	status = 0;
	/* A program that reads it has to have something to read. */
	if (result.counts.processes + result.counts.probed || run->context->json ||
	    run->show.output) {
		/* Standard output is the program's. */
		if (run->session.argv)
			run->context->out = run->context->err;
		status = show(run);
		run->context->out = out;
	}
	gpumon_temporary_remove(&temporary);
	return result.exit_status ? result.exit_status : status;
}

/* A word that is no directory is a program. */
static bool are_captures(int argc, char **argv)
{
	struct stat status;

	return optind < argc && !stat(argv[optind], &status) && S_ISDIR(status.st_mode);
}

static bool is_nothing(const char *word)
{
	char path[PATH_MAX];

	return !gpumon_launch_find_program(word, path);
}

static int parse(struct correlate_run *run, int argc, char **argv, const struct option *options)
{
	struct gpumon_context *context = run->context;
	uint64_t number;

	for (;;) {
		int option = gpumon_option(context, argc, argv, options);

		switch (option) {
		case GPUMON_OPTION_END:
		case GPUMON_OPTION_HELP:
		case GPUMON_OPTION_BAD:
			return option;
		case OPTION_ROWS:
			if (gpumon_argument_u64(context, "--rows", optarg, 1, 100000, &number))
				return GPUMON_OPTION_BAD;
			run->summary.rows = (unsigned int)number;
			break;
		case OPTION_SUMMARY:
			run->show.output = optarg;
			break;
		case OPTION_NO_LIVE:
			run->no_live = true;
			break;
		default:
			/* -o is the capture's here. */
			if (option != 'o' && gpumon_show_option(&run->show, option))
				break;
			if (gpumon_record_option(context, &run->session, option))
				return GPUMON_OPTION_BAD;
		}
	}
}

static int command_correlate(struct gpumon_context *context, int argc, char **argv)
{
	static const struct option options[] = {
		GPUMON_OPTION_JSON,
		GPUMON_RECORD_OPTIONS,
		GPUMON_SHOW_TREE_OPTIONS,
		{ "force", no_argument, NULL, GPUMON_SHOW_OPTION_FORCE },
		{ "rows", required_argument, NULL, OPTION_ROWS },
		{ "summary", required_argument, NULL, OPTION_SUMMARY },
		{ "no-live", no_argument, NULL, OPTION_NO_LIVE },
		{ 0 },
	};
	struct correlate_run run = { .context = context };
	struct gpumon_error err;
	bool explicit;
	int words = gpumon_record_split(argc, argv, options, &explicit), status;

	gpumon_record_options_default(&run.session);
	run.session.recorder.root = context->root;
	/* Captures may have options behind them; a program's are its own. */
	optind = words;
	if (!explicit && are_captures(argc, argv))
		words = argc;
	optind = 0;
	switch (parse(&run, words, argv, options)) {
	case GPUMON_OPTION_HELP:
		return GPUMON_EXIT_OK;
	case GPUMON_OPTION_BAD:
		return GPUMON_EXIT_USAGE;
	}
	if (optind < words) {
		if (run.session.pid_count || run.session.directory[0] || run.session.duration_ns)
			return gpumon_usage(context,
					    "captures are shown as they are: leave out -o, -p, -d");
		if (gpumon_show_operands(context, &run.show, words, argv))
			return GPUMON_EXIT_USAGE;
		gpumon_privileges_keep(GPUMON_PRIVILEGE_FILES);
		return show(&run);
	}
	if (run.show.profile.symbol_root)
		return gpumon_usage(context, "--symbol-root is for captures of another machine");
	words += explicit;
	if (words < argc)
		run.session.argv = argv + words;
	if (run.session.argv && run.session.pid_count)
		return gpumon_usage(context, "either a program or --pid, not both");
	if (!run.session.argv && !run.session.pid_count)
		return gpumon_usage(context, "no program, no --pid and no capture");
	if (run.session.argv && !explicit && is_nothing(run.session.argv[0])) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, -ENOENT, "io",
				 "%.300s: neither a capture nor a program", run.session.argv[0]);
		return gpumon_report(context, &err);
	}
	status = gpumon_record_privileges(context, &run.session);
	return status ? status : record_and_show(&run);
}

const struct gpumon_command gpumon_command_correlate = {
	.name = "correlate",
	.summary = "Show which code launched what on the GPU, of a program or of captures",
	.usage =
		"[-o DIR] [OPTION]... [--] PROGRAM [ARGUMENT]... | -p PID... [OPTION]... | DIR... [OPTION]...",
	.help = "Runs the program as \"record\" does and prints a summary to standard error when it has\n"
		"ended, on a terminal also while it runs: kernels, call paths, devices and streams,\n"
		"latencies, idle times, NVTX ranges, losses. Of captures, the summary goes to standard\n"
		"output; several captures of one job (ranks, hosts) become one.\n"
		"\n"
		"Options:\n"
		"      --json             one JSON document\n"
		"      --rows N           rows of each table at most, 10 if not given\n"
		"      --summary FILE     where the summary goes, - for standard output\n"
		"      --force            replace FILE\n"
		"      --no-live          nothing on the terminal before the end\n" GPUMON_RECORD_HELP
			GPUMON_SHOW_TREE_HELP "\n"
		"Examples:\n"
		"  gpumon-user correlate -- python3 train.py\n"
		"  gpumon-user correlate rank0 rank1\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROCESSES |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_correlate,
};
