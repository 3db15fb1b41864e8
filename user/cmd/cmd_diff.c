// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user diff: what got slower between two captures. */
#include <errno.h>
#include <string.h>

#include "commands.h"
#include "lib/privileges.h"
#include "lib/output_file.h"
#include "show.h"

/**
 * struct diff_run - state of the command
 * @summary: number of rows of each table
 */
struct diff_run {
	struct gpumon_context *context;
	struct gpumon_show show;
	struct gpumon_summary_options summary;
};

static int write_flamegraph(struct diff_run *run, const struct gpumon_diff *diff,
			    struct gpumon_error *err)
{
	struct gpumon_output_file file;
	int ret;

	if (gpumon_output_file_open(&file, run->show.picture, run->show.force, GPUMON_OUTPUT_BINARY,
				    run->context->out, err))
		return -1;
	errno = 0;
	ret = gpumon_diff_flamegraph(file.stream, diff);
	if (ret)
		gpumon_load_output_failed(file.path, errno, err);
	if (gpumon_output_file_close(&file, !ret, err))
		ret = -1;
	return ret;
}

static int write_tables(struct diff_run *run, const struct gpumon_diff *diff,
			struct gpumon_error *err)
{
	struct gpumon_output_file file;
	struct gpumon_term term;
	int ret;

	if (gpumon_output_file_open(&file, run->show.output, run->show.force, GPUMON_OUTPUT_TEXT,
				    run->context->out, err))
		return -1;
	gpumon_term_get(&term, file.stream);
	errno = 0;
	if (run->context->json)
		ret = gpumon_diff_json(file.stream, diff);
	else
		ret = gpumon_diff_print(file.stream, &term, diff, &run->summary);
	if (ret)
		gpumon_load_output_failed(file.path, errno, err);
	if (gpumon_output_file_close(&file, !ret, err))
		ret = -1;
	return ret;
}

static bool is_standard(const char *name)
{
	return name && !strcmp(name, "-");
}

static int diff_run(struct diff_run *run)
{
	const struct gpumon_show *show = &run->show;
	struct gpumon_load before = { 0 }, after = { 0 };
	struct gpumon_diff *diff = NULL;
	struct gpumon_error err;
	int ret;

	/* Neither file is written if the other one cannot be. */
	ret = gpumon_show_check_file(show->picture, show->force, &err);
	if (!ret)
		ret = gpumon_show_check_file(show->output, show->force, &err);
	if (!ret)
		ret = gpumon_load_captures(&before, &show->paths[0], 1, &show->profile, 0, &err);
	if (!ret)
		ret = gpumon_load_captures(&after, &show->paths[1], 1, &show->profile, 0, &err);
	if (!ret)
		diff = gpumon_diff_new(&before.view, &after.view);
	if (!ret && run->show.picture)
		ret = write_flamegraph(run, diff, &err);
	/* If the flame graph goes to standard output, nothing else may. */
	if (!ret && (!is_standard(run->show.picture) || !is_standard(show->output)))
		ret = write_tables(run, diff, &err);
	if (diff)
		gpumon_diff_free(diff);
	gpumon_load_free(&after);
	gpumon_load_free(&before);
	return ret ? gpumon_report(run->context, &err) : GPUMON_EXIT_OK;
}

static int command_diff(struct gpumon_context *context, int argc, char **argv)
{
	struct diff_run run = { .context = context,
				.show = { .compare = true, .profile.join_processes = true } };
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_SHOW_OUTPUT_OPTIONS(&run.show),
		GPUMON_SHOW_TREE_OPTIONS(&run.show),
		GPUMON_OPTION("flamegraph", 0, GPUMON_OPTION_TEXT, &run.show.picture),
		GPUMON_OPTION_RANGE("rows", 0, GPUMON_OPTION_U32, &run.summary.rows, 1,
				    GPUMON_SUMMARY_ROWS_MAX),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (argc != 2)
		return gpumon_usage(context, "two captures are compared: BEFORE AFTER");
	if (gpumon_show_operands(context, &run.show, argc, argv) ||
	    gpumon_show_check_rows(context, run.summary.rows))
		return GPUMON_EXIT_USAGE;
	if (run.show.picture && run.show.output && !is_standard(run.show.picture) &&
	    !is_standard(run.show.output) &&
	    gpumon_output_file_same(run.show.picture, run.show.output))
		return gpumon_usage(context, "-o and --flamegraph name the same file: name two");
	if (is_standard(run.show.picture) && !run.show.output)
		run.show.output = "-";
	if (is_standard(run.show.picture) && is_standard(run.show.output) && context->json)
		return gpumon_usage(
			context,
			"--flamegraph - and --json both go to standard output: say where one goes with -o FILE or --flamegraph FILE");
	return diff_run(&run);
}

const struct gpumon_command gpumon_command_diff = {
	.name = "diff",
	.summary = "Compare two captures: what got slower, by kernel and call path",
	.usage = "BEFORE AFTER [--json] [--flamegraph FILE] [OPTION]...",
	.help = "Processes are added up, since their pids are others in each run, unless --processes is given.\n"
		"\n"
		"Options:\n"
		"      --json             one JSON document\n"
		"      --flamegraph FILE  also a picture: widths of AFTER, red slower, blue faster\n"
		"      --rows N           rows of each table at most, 10 if not given\n" GPUMON_SHOW_OUTPUT_HELP
			GPUMON_SHOW_TREE_HELP "\n"
		"Example:\n"
		"  gpumon-user diff yesterday today --flamegraph slower.svg\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_diff,
};
