// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user correlate: which code launched which GPU operations, for a program or captures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "lib/privileges.h"
#include "gpuprog_arguments.h"
#include "lib/launch.h"
#include "record/status_line.h"
#include "record/options.h"
#include "show.h"
#include "record/directories.h"

/**
 * struct correlate_run - state of the command
 * @session: recording of a program or processes
 * @probe: programs in its kernels
 * @show: captures to show
 * @summary: options of the output
 * @no_live: print nothing before the end
 * @no_verdict: the output has no verdict
 */
struct correlate_run {
	struct gpumon_context *context;
	struct gpumon_session_options session;
	struct gpumon_gpuprog_arguments probe;
	struct gpumon_show show;
	struct gpumon_summary_options summary;
	bool no_live;
	bool no_verdict;
};

static int write_summary(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct correlate_run *run = data;
	struct gpumon_view shown = *view;
	struct gpumon_term term;

	shown.no_verdict = run->no_verdict;
	if (run->context->json)
		return gpumon_output_json(out, &shown);
	gpumon_term_get(&term, out);
	return gpumon_output_summary(out, &term, &shown, &run->summary);
}

static int show_summary(struct correlate_run *run)
{
	return gpumon_show_profile(run->context, &run->show, 0, GPUMON_OUTPUT_TEXT, write_summary,
				   run);
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

	/* The program may run for hours: first find out whether there is a place for the summary. */
	if (gpumon_show_check_file(run->show.output, run->show.force, &err))
		return gpumon_report(run->context, &err);
	if (!run->session.directory[0]) {
		/* Without -o the capture is private and temporary. */
		if (gpumon_temporary_make(&temporary, &err))
			return gpumon_report(run->context, &err);
		memcpy(run->session.directory, temporary.path, sizeof(temporary.path));
		/* The capture is read right here, so it need not contain the names. */
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
	/* A script that reads the output expects a document in any case. */
	if (result.counts.processes + result.counts.probed || run->context->json ||
	    run->show.output) {
		/* Standard output belongs to the recorded program. */
		if (run->session.argv)
			run->context->out = run->context->err;
		status = show_summary(run);
		run->context->out = out;
	}
	gpumon_temporary_remove(&temporary);
	return result.exit_status ? result.exit_status : status;
}

/* A directory is a capture, anything else is a program. */
static bool is_capture(const char *word)
{
	struct stat status;

	return !stat(word, &status) && S_ISDIR(status.st_mode);
}

static bool is_nothing(const char *word)
{
	char path[PATH_MAX];

	return !gpumon_launch_find_program(word, path);
}

/* Whether an option about recording has another value than without it. */
static bool is_about_recording(const struct correlate_run *run)
{
	struct gpumon_session_options none;

	gpumon_record_options_default(&none);
	none.recorder.root = run->session.recorder.root;
	return memcmp(&run->session, &none, sizeof(none)) != 0 ||
	       gpumon_gpuprog_arguments_given(&run->probe);
}

static int check_summary(struct correlate_run *run)
{
	if (gpumon_show_check_rows(run->context, run->summary.rows))
		return GPUMON_EXIT_USAGE;
	return gpumon_show_check(run->context, &run->show);
}

static int show_captures(struct correlate_run *run, int argc, char **argv)
{
	if (is_about_recording(run))
		return gpumon_usage(
			run->context,
			"a capture is shown, and nothing is recorded: leave out -o, -p, -d and all other options of record");
	if (check_summary(run) || gpumon_show_operands(run->context, &run->show, argc, argv))
		return GPUMON_EXIT_USAGE;
	gpumon_privileges_keep(GPUMON_PRIVILEGE_FILES);
	return show_summary(run);
}

static int command_correlate(struct gpumon_context *context, int argc, char **argv)
{
	struct correlate_run run = { .context = context };
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_RECORD_OPTIONS(&run.session),
		GPUMON_GPUPROG_WITHIN_OPTIONS(&run.probe),
		GPUMON_SHOW_TREE_OPTIONS(&run.show),
		GPUMON_OPTION("force", 0, GPUMON_OPTION_FLAG, &run.show.force),
		GPUMON_OPTION_RANGE("rows", 0, GPUMON_OPTION_U32, &run.summary.rows, 1,
				    GPUMON_SUMMARY_ROWS_MAX),
		GPUMON_OPTION("summary", 0, GPUMON_OPTION_TEXT, &run.show.output),
		GPUMON_OPTION("no-live", 0, GPUMON_OPTION_FLAG, &run.no_live),
		GPUMON_OPTION("no-verdict", 0, GPUMON_OPTION_FLAG, &run.no_verdict),
		{ 0 },
	};
	struct gpumon_error err;
	int status;

	gpumon_record_options_default(&run.session);
	run.session.recorder.root = context->root;
	status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_PROGRAM);
	if (status == GPUMON_OPTIONS_GO_ON && argc && !context->explicit && is_capture(argv[0])) {
		/* Options may follow captures. Options after a program belong to the program. */
		argc++;
		argv--;
		status =
			gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);
		if (status == GPUMON_OPTIONS_GO_ON)
			status = show_captures(&run, argc, argv);
	}
	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (run.show.profile.symbol_root)
		return gpumon_usage(context, "--symbol-root is for captures of another machine");
	if (argc)
		run.session.argv = argv;
	if (!run.session.argv && !run.session.pid_count && !run.session.group_count)
		return gpumon_usage(context, "no program, no --pid and no capture");
	if (run.session.argv && !context->explicit && is_nothing(run.session.argv[0])) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, -ENOENT, GPUMON_ERROR_IO,
				 "%.300s: neither a capture nor a program", run.session.argv[0]);
		return gpumon_report(context, &err);
	}
	status = check_summary(&run);
	if (!status)
		status = gpumon_record_options_check(context, &run.session);
	if (!status)
		status = gpumon_gpuprog_within_check(context, &run.probe, &run.session);
	if (!status)
		status = gpumon_record_privileges(context, &run.session, run.probe.name);
	if (status)
		return status;
	status = gpumon_gpuprog_within_open(context, &run.probe, &run.session);
	if (!status)
		status = record_and_show(&run);
	gpumon_gpuprog_within_close(&run.probe);
	return status;
}

const struct gpumon_command gpumon_command_correlate = {
	.name = "correlate",
	.summary = "Show which code launched what on the GPU, of a program or of captures",
	.usage =
		"[-o DIR] [OPTION]... [--] PROGRAM [ARGUMENT]... | -p PID... [OPTION]... | DIR... [OPTION]...",
	.help = "Runs the program as \"record\" does and prints a summary to standard error when it has\n"
		"ended (a terminal has a line of status meanwhile): where wall time went, kernels, call paths,\n"
		"devices and streams, latencies, idle times, NVTX ranges, losses. Of captures, the summary\n"
		"goes to standard output; several captures of one job (ranks, hosts) become one.\n"
		"\n"
		"Options:\n"
		"      --json             one JSON document\n"
		"      --rows N           rows of each table at most; if not given 10, or 5 about time\n"
		"      --summary FILE     where the summary goes, - for standard output; FILE.gz is compressed\n"
		"      --force            replace FILE\n"
		"      --no-verdict       tables without the sentences on what limits the program\n"
		"      --no-live          no line of status on the terminal\n" GPUMON_RECORD_HELP
			GPUMON_GPUPROG_WITHIN_HELP GPUMON_SHOW_TREE_HELP "\n"
		"Examples:\n"
		"  gpumon-user correlate -- python3 train.py\n"
		"  gpumon-user correlate rank0 rank1\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROCESSES |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_correlate,
};
