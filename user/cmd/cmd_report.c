// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user report: an HTML page about a capture. */
#include "commands.h"
#include "lib/privileges.h"
#include "show.h"

/* About one bin for each column of a wide screen. */
#define TIMELINE_BINS 4000

static int write_report(FILE *out, const struct gpumon_view *view, void *data)
{
	const bool *no_verdict = data;
	struct gpumon_view shown = *view;

	shown.no_verdict = *no_verdict;
	return gpumon_output_report(out, &shown);
}

static int command_report(struct gpumon_context *context, int argc, char **argv)
{
	struct gpumon_show show = { 0 };
	bool no_verdict = false;
	const struct gpumon_option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS(&show),
		GPUMON_OPTION("no-verdict", 0, GPUMON_OPTION_FLAG, &no_verdict),
		GPUMON_SHOW_TREE_OPTIONS(&show),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	return gpumon_show_profile(context, &show, TIMELINE_BINS, GPUMON_OUTPUT_BINARY,
				   write_report, &no_verdict);
}

const struct gpumon_command gpumon_command_report = {
	.name = "report",
	.summary = "Write one HTML page about a capture",
	.usage = "DIR... [-o FILE] [OPTION]...",
	.help = "Verdict, timeline, flame graph, tables, histograms and losses in one file that opens offline.\n"
		"\n"
		"Options:\n" GPUMON_SHOW_OUTPUT_HELP
		"      --no-verdict       without the sentences on what limits the program\n" GPUMON_SHOW_TREE_HELP
		"\n"
		"Example:\n"
		"  gpumon-user report run1 -o run1.html\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_report,
};
