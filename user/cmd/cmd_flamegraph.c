// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user flamegraph: GPU, wall or idle time by call path as a flame graph. */
#include "commands.h"
#include "lib/privileges.h"
#include "show.h"

struct flamegraph {
	bool folded;
	bool no_merge;
	bool icicle;
	bool functions;
	bool count;
	enum gpumon_weight weight;
};

static int write_graph(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct flamegraph *flamegraph = data;

	if (flamegraph->folded)
		return gpumon_output_folded(out, view->root,
					    flamegraph->weight == GPUMON_WEIGHT_GPU_NS ?
						    gpumon_view_weight(view) :
						    flamegraph->weight,
					    !flamegraph->functions);
	return gpumon_output_flamegraph_view(out, view, flamegraph->weight, flamegraph->icicle);
}

static int command_flamegraph(struct gpumon_context *context, int argc, char **argv)
{
	struct flamegraph flamegraph = { 0 };
	struct gpumon_show show = { 0 };
	const struct gpumon_option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS(&show),
		GPUMON_SHOW_TREE_OPTIONS(&show),
		GPUMON_SHOW_TIME_OPTIONS(&show),
		GPUMON_OPTION("folded", 0, GPUMON_OPTION_FLAG, &flamegraph.folded),
		GPUMON_OPTION("no-merge", 0, GPUMON_OPTION_FLAG, &flamegraph.no_merge),
		GPUMON_OPTION("count", 0, GPUMON_OPTION_FLAG, &flamegraph.count),
		GPUMON_OPTION("icicle", 0, GPUMON_OPTION_FLAG, &flamegraph.icicle),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	if (flamegraph.folded && flamegraph.icicle)
		return gpumon_usage(
			context,
			"--icicle is about the picture, and --folded draws none: leave one out");
	if (flamegraph.count && (show.wall || show.idle))
		return gpumon_usage(
			context,
			"widths are numbers with --count and a time with --%s: leave one out",
			show.wall ? "wall" : "idle");
	if (flamegraph.no_merge) {
		/* Keep threads, devices, streams and graphs apart. */
		show.profile.processes = true;
		show.profile.threads = true;
		show.profile.devices = true;
		show.profile.streams = true;
		show.profile.graphs = true;
	}
	flamegraph.functions = show.profile.functions;
	flamegraph.weight = flamegraph.count ? GPUMON_WEIGHT_COUNT :
					       gpumon_show_weight(&show, GPUMON_WEIGHT_GPU_NS);
	return gpumon_show_profile(context, &show, 0,
				   flamegraph.folded ? GPUMON_OUTPUT_TEXT : GPUMON_OUTPUT_BINARY,
				   write_graph, &flamegraph);
}

const struct gpumon_command gpumon_command_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw GPU time by call path",
	.usage = "DIR... [-o FILE] [--folded] [OPTION]...",
	.help = "Writes an SVG that needs nothing else: click to zoom, search, hover for times and percent.\n"
		"Several captures of one job (ranks, hosts) become one picture.\n"
		"\n"
		"Options:\n" GPUMON_SHOW_OUTPUT_HELP
		"      --folded           lines \"path;path;kernel nanoseconds\" for other programs\n"
		"      --wall             widths are wall time: of threads, in calls and between them\n"
		"      --idle             widths are time in which a GPU was idle, by what the thread\n"
		"                         that launched next did meanwhile\n"
		"      --count            widths are numbers of operations, and of launches without one\n"
		"      --icicle           callers on top\n" GPUMON_SHOW_TREE_HELP
		"      --no-merge         all of these levels: nothing is added up\n"
		"\n"
		"Example:\n"
		"  gpumon-user flamegraph run1 -o run1.svg\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_flamegraph,
};
