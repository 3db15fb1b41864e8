// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user export: captures for other programs. */
#include "commands.h"
#include "base/privileges.h"
#include "show.h"

enum {
	OPTION_CHROME = GPUMON_SHOW_OPTION_NEXT,
	OPTION_PERFETTO,
	OPTION_FOLDED,
	OPTION_JSON,
	OPTION_PPROF,
};

static int write_folded(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct gpumon_show *show = data;

	return gpumon_output_folded(out, view->root,
				    show->profile.cpu_only ? GPUMON_WEIGHT_CPU_NS :
							     GPUMON_WEIGHT_GPU_NS);
}

static int write_json(FILE *out, const struct gpumon_view *view, void *data)
{
	(void)data;
	return gpumon_output_json(out, view);
}

static int write_pprof(FILE *out, const struct gpumon_view *view, void *data)
{
	(void)data;
	return gpumon_output_pprof(out, view);
}

static int export_as(struct gpumon_context *context, struct gpumon_show *show, int format)
{
	switch (format) {
	case OPTION_CHROME:
		return gpumon_show_stream(context, show, true, gpumon_output_chrome);
	case OPTION_PERFETTO:
		return gpumon_show_stream(context, show, false, gpumon_output_perfetto);
	case OPTION_FOLDED:
		return gpumon_show_profile(context, show, 0, true, write_folded, show);
	case OPTION_JSON:
		/* Failures are JSON then, too. */
		context->json = true;
		return gpumon_show_profile(context, show, 0, true, write_json, NULL);
	default:
		return gpumon_show_profile(context, show, 0, false, write_pprof, NULL);
	}
}

static int command_export(struct gpumon_context *context, int argc, char **argv)
{
	/* --json is a format here, not a way to print. */
	static const struct option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS,
		GPUMON_SHOW_TREE_OPTIONS,
		{ "chrome", no_argument, NULL, OPTION_CHROME },
		{ "perfetto", no_argument, NULL, OPTION_PERFETTO },
		{ "folded", no_argument, NULL, OPTION_FOLDED },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "pprof", no_argument, NULL, OPTION_PPROF },
		{ 0 },
	};
	struct gpumon_show show = { 0 };
	int format = 0;

	for (;;) {
		int option = gpumon_option(context, argc, argv, options);

		if (option == GPUMON_OPTION_END)
			break;
		if (option == GPUMON_OPTION_HELP)
			return GPUMON_EXIT_OK;
		if (option == GPUMON_OPTION_BAD)
			return GPUMON_EXIT_USAGE;
		if (gpumon_show_option(&show, option))
			continue;
		if (format && format != option)
			return gpumon_usage(context, "one format at a time");
		format = option;
	}
	if (!format)
		return gpumon_usage(
			context, "which format? --chrome, --perfetto, --folded, --json or --pprof");
	if (gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	return export_as(context, &show, format);
}

const struct gpumon_command gpumon_command_export = {
	.name = "export",
	.summary = "Write a capture for other programs",
	.usage =
		"{--chrome | --perfetto | --folded | --json | --pprof} DIR... [-o FILE] [OPTION]...",
	.help = "Options:\n"
		"      --chrome           trace events as JSON, for chrome://tracing and others\n"
		"      --perfetto         Perfetto's own format, for ui.perfetto.dev\n"
		"      --folded           call paths with nanoseconds, for flame graph programs\n"
		"      --json             all tables and the tree, for scripts\n"
		"      --pprof            profile.proto, for pprof\n" GPUMON_SHOW_OUTPUT_HELP
			GPUMON_SHOW_TREE_HELP "\n"
		"Example:\n"
		"  gpumon-user export --perfetto run1 -o run1.pftrace\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_export,
};
