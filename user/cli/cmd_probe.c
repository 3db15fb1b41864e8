// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user probe: eBPF programs for GPU kernels. */
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "base/privileges.h"
#include "commands.h"
#include "probe/serve/probe.h"
#include "probe/tool/check.h"
#include "probe/tool/show.h"
#include "probe/tool/tools.h"

struct probe_options {
	bool check;
	bool list;
	struct gpumon_probe_rules rules;
	struct gpumon_probe_options run;
};

static int take_kernel(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_probe_options *options = value;

	if (options->kernels_n == GPUMON_PROBE_MAX_PATTERNS)
		return gpumon_usage(context, "more than %d patterns of kernels",
				    GPUMON_PROBE_MAX_PATTERNS);
	options->kernels[options->kernels_n++] = text;
	return 0;
}

static void report_refusals(struct gpumon_context *context, const struct gpumon_probe_check *check)
{
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (!check->verdicts[i].facts)
			gpumon_report(context, &check->verdicts[i].refusal);
}

static int list_tools(struct gpumon_context *context)
{
	struct gpumon_term term;
	struct gpumon_error err;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_probe_tools_json(), !term.tty, context->out);
	else
		ret = gpumon_probe_show_tools(&term, context->out);
	if (!ret)
		return GPUMON_EXIT_OK;
	gpumon_error_set(&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
			 "the output could not be written");
	return gpumon_report(context, &err);
}

static int show_check(struct gpumon_context *context, const struct gpumon_probe_check *check)
{
	struct gpumon_term term;
	struct gpumon_error err;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_probe_json(check), !term.tty, context->out);
	else
		ret = gpumon_probe_show(check, &term, context->out);
	if (ret) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
				 "the output could not be written");
		return gpumon_report(context, &err);
	}
	if (!context->json)
		report_refusals(context, check);
	return check->refused ? GPUMON_EXIT_FAILED : GPUMON_EXIT_OK;
}

static int check_file(struct gpumon_context *context, const char *path,
		      const struct probe_options *options)
{
	struct gpumon_probe_check check;
	struct gpumon_error err;
	int ret;

	if (gpumon_probe_check(path, &options->rules, &check, &err))
		ret = gpumon_report(context, &err);
	else
		ret = show_check(context, &check);
	gpumon_probe_check_clear(&check);
	return ret;
}

/* The tool that a file is by its name: "launchlate" of "launchlate.bpf.o". */
static const char *tool_of(const char *path, char *name, size_t room)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	snprintf(name, room, "%.*s", (int)strcspn(file, "."), file);
	return name;
}

/* A program that lacks a part of what was asked for would count wrong. */
static int run_program(struct gpumon_context *context, const char *path, char *const *argv,
		       const struct probe_options *options)
{
	struct gpumon_probe_options run = options->run;
	struct gpumon_probe_check check;
	struct gpumon_error err;
	char tool[64];
	int ret;

	run.tool = tool_of(path, tool, sizeof(tool));
	if (gpumon_probe_check(path, &options->rules, &check, &err)) {
		ret = gpumon_report(context, &err);
	} else {
		report_refusals(context, &check);
		ret = check.refused ? GPUMON_EXIT_FAILED :
				      gpumon_probe_program(context, &check, &run, argv);
	}
	gpumon_probe_check_clear(&check);
	return ret;
}

static int probe_run(struct gpumon_context *context, int argc, char **argv)
{
	struct probe_options given = { 0 };
	const struct gpumon_option options[] = {
		GPUMON_OPTION("check", 0, GPUMON_OPTION_FLAG, &given.check),
		GPUMON_OPTION("list", 0, GPUMON_OPTION_FLAG, &given.list),
		GPUMON_OPTION("allow-exit", 0, GPUMON_OPTION_FLAG, &given.rules.allow_exit),
		GPUMON_OPTION_CALL("kernel", 'k', &given.run, take_kernel),
		GPUMON_OPTION_RANGE("fuel", 0, GPUMON_OPTION_U32, &given.run.fuel, 1, 1u << 30),
		GPUMON_OPTION_JSON(context),
		{ 0 },
	};
	int ret = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	if (given.list && (given.check || argc))
		return gpumon_usage(context, "--list stands alone, or with --json");
	if (given.list)
		return list_tools(context);
	if (!given.check && argc < 2)
		return gpumon_usage(context,
				    "name a tool or an object file, and after -- a program to run");
	if (!given.check)
		given.run.tool = gpumon_probe_is_tool(argv[0]) ? argv[0] : NULL;
	if (!given.check)
		return run_program(context, argv[0], argv + 1, &given);
	if (argc != 1)
		return gpumon_usage(context, "name one tool or object file");
	return check_file(context, argv[0], &given);
}

const struct gpumon_command gpumon_command_probe = {
	.name = "probe",
	.summary = "Verify eBPF programs for GPU kernels",
	.usage = "--check [--allow-exit] [--json] TOOL|FILE.bpf.o | --list [--json]",
	.help = "Reads one of gpumon's tools, or an object file made by clang -target bpf, and verifies each\n"
		"program in it that is for the GPU: that it cannot harm the kernel of another program that it\n"
		"runs in. Prints a line for each program and map; refused programs with the instruction, the\n"
		"source line and the reason. bpf/gpu/gpumon_gpu.h says how such programs are written. A file\n"
		"with the name of a tool is ./NAME. This version cannot run programs yet.\n"
		"\n"
		"Exit status 1 if a program is refused.\n"
		"\n"
		"Options:\n"
		"      --list             the tools that come with gpumon, a line each\n"
		"      --check            verify, without a GPU\n"
		"      --allow-exit       accept programs that end a thread of the kernel\n"
		"      --json             the same as one JSON document\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = probe_run,
};
