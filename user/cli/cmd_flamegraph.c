// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user flamegraph: GPU time by call path, as a picture. */
#include "commands.h"
#include "base/privileges.h"
#include "show.h"

enum {
	OPTION_FOLDED = GPUMON_SHOW_OPTION_NEXT,
	OPTION_NO_MERGE,
	OPTION_COUNT,
	OPTION_ICICLE
};

struct flamegraph {
	bool folded;
	bool no_merge;
	bool icicle;
	enum gpumon_weight weight;
};

static int write_graph(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct flamegraph *flamegraph = data;

	if (flamegraph->folded)
		return gpumon_output_folded(out, view->root, flamegraph->weight);
	return gpumon_output_flamegraph_view(out, view, flamegraph->weight, flamegraph->icicle);
}

static int command_flamegraph(struct gpumon_context *context, int argc, char **argv)
{
	static const struct option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS,
		GPUMON_SHOW_TREE_OPTIONS,
		{ "folded", no_argument, NULL, OPTION_FOLDED },
		{ "no-merge", no_argument, NULL, OPTION_NO_MERGE },
		{ "count", no_argument, NULL, OPTION_COUNT },
		{ "icicle", no_argument, NULL, OPTION_ICICLE },
		{ 0 },
	};
	struct flamegraph flamegraph = { .weight = GPUMON_WEIGHT_GPU_NS };
	struct gpumon_show show = { 0 };

	for (;;) {
		int option = gpumon_option(context, argc, argv, options);

		if (option == GPUMON_OPTION_END)
			break;
		switch (option) {
		case GPUMON_OPTION_HELP:
			return GPUMON_EXIT_OK;
		case GPUMON_OPTION_BAD:
			return GPUMON_EXIT_USAGE;
		case OPTION_FOLDED:
			flamegraph.folded = true;
			break;
		case OPTION_NO_MERGE:
			flamegraph.no_merge = true;
			break;
		case OPTION_COUNT:
			flamegraph.weight = GPUMON_WEIGHT_COUNT;
			break;
		case OPTION_ICICLE:
			flamegraph.icicle = true;
			break;
		default:
			(void)gpumon_show_option(&show, option);
		}
	}
	if (gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	if (flamegraph.no_merge) {
		/* Nothing is added up over threads, devices, streams, graphs. */
		show.profile.processes = true;
		show.profile.threads = true;
		show.profile.devices = true;
		show.profile.streams = true;
		show.profile.graphs = true;
	}
	if (show.profile.cpu_only && flamegraph.weight == GPUMON_WEIGHT_GPU_NS)
		flamegraph.weight = GPUMON_WEIGHT_CPU_NS;
	return gpumon_show_profile(context, &show, 0, flamegraph.folded, write_graph, &flamegraph);
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
		"      --count            widths are numbers of kernels and copies, not their time\n"
		"      --icicle           callers on top\n" GPUMON_SHOW_TREE_HELP
		"      --no-merge         all of these levels: nothing is added up\n"
		"\n"
		"Example:\n"
		"  gpumon-user flamegraph run1 -o run1.svg\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_flamegraph,
};
