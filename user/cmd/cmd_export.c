// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user export: captures in the formats of other programs. */
#include <string.h>

#include "commands.h"
#include "lib/privileges.h"
#include "show.h"

enum export_format {
	EXPORT_CHROME,
	EXPORT_PERFETTO,
	EXPORT_FOLDED,
	EXPORT_JSON,
	EXPORT_PPROF,
	EXPORT_SQLITE,
	EXPORT_FORMATS
};

static int write_folded(FILE *out, const struct gpumon_view *view, void *data)
{
	const struct gpumon_show *show = data;

	return gpumon_output_folded(out, view->root,
				    gpumon_show_weight(show, gpumon_view_weight(view)),
				    !show->profile.functions);
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

static int export_as(struct gpumon_context *context, struct gpumon_show *show,
		     enum export_format format)
{
	switch (format) {
	case EXPORT_CHROME:
		return gpumon_show_stream(context, show, GPUMON_OUTPUT_TEXT, gpumon_output_chrome);
	case EXPORT_PERFETTO:
		return gpumon_show_stream(context, show, GPUMON_OUTPUT_BINARY,
					  gpumon_output_perfetto);
	case EXPORT_SQLITE:
		return gpumon_show_stream(context, show, GPUMON_OUTPUT_BINARY,
					  gpumon_output_sqlite);
	case EXPORT_FOLDED:
		return gpumon_show_profile(context, show, 0, GPUMON_OUTPUT_TEXT, write_folded,
					   show);
	case EXPORT_JSON:
		return gpumon_show_profile(context, show, 0, GPUMON_OUTPUT_TEXT, write_json, NULL);
	default:
		return gpumon_show_profile(context, show, 0, GPUMON_OUTPUT_GZIP, write_pprof, NULL);
	}
}

/* Whether an option says what the tree has, in place of what call paths have. */
static bool is_about_tree(const struct gpumon_profile_options *options)
{
	return options->cpu_only || options->gpu_only || options->devices || options->streams ||
	       options->graphs || options->threads || options->processes || options->functions;
}

static int command_export(struct gpumon_context *context, int argc, char **argv)
{
	bool formats[EXPORT_FORMATS] = { false };
	enum export_format format = EXPORT_FORMATS;
	struct gpumon_show show = { 0 };
	struct gpumon_error err;
	/* Here --json is an export format, not a way to print. */
	const struct gpumon_option options[] = {
		GPUMON_SHOW_OUTPUT_OPTIONS(&show),
		GPUMON_SHOW_TREE_OPTIONS(&show),
		GPUMON_SHOW_TIME_OPTIONS(&show),
		GPUMON_OPTION("chrome", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_CHROME]),
		GPUMON_OPTION("perfetto", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_PERFETTO]),
		GPUMON_OPTION("folded", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_FOLDED]),
		GPUMON_OPTION("json", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_JSON]),
		GPUMON_OPTION("pprof", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_PPROF]),
		GPUMON_OPTION("sqlite", 0, GPUMON_OPTION_FLAG, &formats[EXPORT_SQLITE]),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	/* With --json failures are JSON, too. */
	context->json = formats[EXPORT_JSON];
	for (unsigned int i = 0; i < EXPORT_FORMATS; i++) {
		if (!formats[i])
			continue;
		if (format != EXPORT_FORMATS)
			return gpumon_usage(context, "one format at a time");
		format = i;
	}
	if (format == EXPORT_FORMATS)
		return gpumon_usage(
			context,
			"which format? --chrome, --perfetto, --folded, --json, --pprof or --sqlite");
	if (gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	if ((show.wall || show.idle) && format != EXPORT_FOLDED)
		return gpumon_usage(
			context,
			"--%s chooses the number at the end of a line of --folded: other formats have each of them",
			show.wall ? "wall" : "idle");
	if (format == EXPORT_SQLITE && !gpumon_output_has_sqlite()) {
		gpumon_error_set(
			&err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
			"SQLite is not in this gpumon-user: it was built without libsqlite3-dev; install it and build it again");
		return gpumon_report(context, &err);
	}
	if (format == EXPORT_SQLITE && (!show.output || !strcmp(show.output, "-")))
		return gpumon_usage(
			context,
			"a database is written in several places, which standard output cannot be: name a file, -o FILE");
	if (format == EXPORT_SQLITE && gpumon_output_file_is_gzip(show.output))
		return gpumon_usage(
			context,
			"a database is written in several places: compress it when it is complete, and leave out .gz");
	if (format == EXPORT_SQLITE && is_about_tree(&show.profile))
		return gpumon_usage(
			context,
			"tables have all columns: of the options of call paths, give only --no-inline, --interpreter and --symbol-root");
	if ((format == EXPORT_CHROME || format == EXPORT_PERFETTO) && is_about_tree(&show.profile))
		return gpumon_usage(
			context,
			"timelines have all rows: of the options of call paths, give only --no-inline, --interpreter and --symbol-root");
	return export_as(context, &show, format);
}

const struct gpumon_command gpumon_command_export = {
	.name = "export",
	.summary = "Write a capture for other programs",
	.usage =
		"{--chrome | --perfetto | --folded | --json | --pprof | --sqlite} DIR... [-o FILE] [OPTION]...",
	.help = "Options:\n"
		"      --chrome           trace events as JSON, for chrome://tracing and others\n"
		"      --perfetto         Perfetto's own format, for ui.perfetto.dev\n"
		"      --folded           call paths with nanoseconds, for flame graph programs; with\n"
		"                         counts if launches have no GPU time\n"
		"      --wall             with --folded: wall time of threads, in calls and between them\n"
		"      --idle             with --folded: time in which a GPU was idle\n"
		"      --json             all tables and the tree, for scripts\n"
		"      --pprof            profile.proto, for pprof\n"
		"      --sqlite           tables for SQL; needs -o\n" GPUMON_SHOW_OUTPUT_HELP
			GPUMON_SHOW_TREE_HELP "\n"
		"Example:\n"
		"  gpumon-user export --perfetto run1 -o run1.pftrace\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_export,
};
