// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user report: an HTML page about a capture. */
#include "commands.h"
#include "lib/privileges.h"
#include "report/frames.h"
#include "show.h"

/* About one bin for each column of a wide screen. */
#define TIMELINE_BINS 4000

struct report {
	struct gpumon_show show;
	bool no_verdict;
};

/* Frames are of the captures, as no profile has them. */
static int write_report(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct report *report = data;
	const struct gpumon_show *show = &report->show;
	struct gpumon_view shown = *view;
	struct gpumon_frames frames = { 0 };
	int ret = 0;

	shown.no_verdict = report->no_verdict;
	if (view->has_presents) {
		ret = gpumon_frames_read(show->paths, show->count, &show->profile, 0, &frames);
		shown.frames = &frames;
	}
	if (!ret)
		ret = gpumon_output_report(out, &shown);
	gpumon_frames_clear(&frames);
	return ret;
}

static int command_report(struct gpumon_context *context, int argc, char **argv)
{
	struct report report = { 0 };
	const struct gpumon_option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS(&report.show),
		GPUMON_OPTION("no-verdict", 0, GPUMON_OPTION_FLAG, &report.no_verdict),
		GPUMON_SHOW_TREE_OPTIONS(&report.show),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (gpumon_show_operands(context, &report.show, argc, argv))
		return GPUMON_EXIT_USAGE;
	return gpumon_show_profile(context, &report.show, TIMELINE_BINS, GPUMON_OUTPUT_BINARY,
				   write_report, &report);
}

const struct gpumon_command gpumon_command_report = {
	.name = "report",
	.summary = "Write one HTML page about a capture",
	.usage = "DIR... [-o FILE] [OPTION]...",
	.help = "Verdict, frames, timeline, flame graph, tables, histograms and losses in one file that opens offline.\n"
		"\n"
		"Options:\n" GPUMON_SHOW_OUTPUT_HELP
		"      --no-verdict       without the sentences on what limits the program\n" GPUMON_SHOW_TREE_HELP
		"\n"
		"Example:\n"
		"  gpumon-user report run1 -o run1.html\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_report,
};
