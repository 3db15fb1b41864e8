// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user frames: frame times of captures, and why frames were late. */
#include "commands.h"
#include "lib/privileges.h"
#include "report/frames.h"
#include "show.h"

#define ROWS	 20
#define LATE_MAX 60000

static int show_frames(struct gpumon_context *context, const struct gpumon_show *show,
		       uint64_t late_ns, uint32_t rows)
{
	struct gpumon_frames frames;
	struct gpumon_error err;
	int ret = gpumon_frames_read(show->paths, show->count, &show->profile, late_ns, &frames);

	if (ret)
		ret = gpumon_load_output_failed(show->paths[0], 0, &err);
	else if (!frames.chain_count)
		ret = gpumon_error_set(
			&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_UNSUPPORTED,
			"%.300s: no presents in it, so there are no frames: record a program that presents images through Vulkan, or one that does through OpenGL with record --gl",
			show->paths[0]);
	else if (context->json)
		ret = gpumon_frames_json(context->out, &frames) ? gpumon_error_output(&err) : 0;
	else
		gpumon_frames_print(context->out, &frames, rows);
	gpumon_frames_clear(&frames);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}

static int command_frames(struct gpumon_context *context, int argc, char **argv)
{
	struct gpumon_show show = { 0 };
	uint32_t late_ms = 0, rows = 0;
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_OPTION_RANGE("late", 0, GPUMON_OPTION_U32, &late_ms, 1, LATE_MAX),
		GPUMON_OPTION_RANGE("rows", 0, GPUMON_OPTION_U32, &rows, 1, GPUMON_FRAMES_LATE_MAX),
		GPUMON_OPTION("symbol-root", 0, GPUMON_OPTION_TEXT, &show.profile.symbol_root),
		GPUMON_SHOW_PART_OPTIONS(&show),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (gpumon_show_check_rows(context, rows) || gpumon_show_check(context, &show) ||
	    gpumon_show_operands(context, &show, argc, argv))
		return GPUMON_EXIT_USAGE;
	return show_frames(context, &show, (uint64_t)late_ms * 1000000, rows ? rows : ROWS);
}

const struct gpumon_command gpumon_command_frames = {
	.name = "frames",
	.summary = "Show frame times of captures, and why frames were late",
	.usage = "DIR... [--json] [--late MS] [--rows N] [--symbol-root DIR]\n"
		 "[--from TIME] [--to TIME] [--range NAME[:N]]",
	.help = "Options:\n"
		"      --json             one JSON document\n"
		"      --late MS          a longer frame is late; if not given: 1.5 times the median, and at\n"
		"                         least 1 ms more\n"
		"      --rows N           late frames at most, 20 if not given\n"
		"      --symbol-root DIR  where the files of the recorded machine are, if not here\n" GPUMON_SHOW_PART_HELP
		"\n"
		"Example:\n"
		"  gpumon-user frames run1 --late 17\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = command_frames,
};
