// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user probe: eBPF programs for GPU kernels. */
#include "base/json.h"
#include "base/options.h"
#include "base/privileges.h"
#include "commands.h"
#include "probe/tool/check.h"
#include "probe/tool/ptx.h"
#include "probe/tool/show.h"

struct probe_options {
	bool check;
	bool ptx;
	uint32_t sm;
	struct gpumon_probe_rules rules;
};

static void report_refusals(struct gpumon_context *context, const struct gpumon_probe_check *check)
{
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (!check->verdicts[i].facts)
			gpumon_report(context, &check->verdicts[i].refusal);
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

static int show_ptx(struct gpumon_context *context, const struct gpumon_probe_check *check,
		    uint32_t sm)
{
	int ret = check->refused ? GPUMON_EXIT_FAILED : GPUMON_EXIT_OK;
	struct gpumon_error err;

	report_refusals(context, check);
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (check->verdicts[i].facts &&
		    gpumon_probe_print_ptx(check, i, sm, context->out, &err))
			ret = gpumon_report(context, &err);
	return ret;
}

static int check_file(struct gpumon_context *context, const char *path,
		      const struct probe_options *options)
{
	struct gpumon_probe_check check;
	struct gpumon_error err;
	int ret;

	if (gpumon_probe_check(path, &options->rules, &check, &err))
		ret = gpumon_report(context, &err);
	else if (options->ptx)
		ret = show_ptx(context, &check, options->sm);
	else
		ret = show_check(context, &check);
	gpumon_probe_check_clear(&check);
	return ret;
}

static int probe_run(struct gpumon_context *context, int argc, char **argv)
{
	struct probe_options given = { .sm = 90 };
	const struct gpumon_option options[] = {
		GPUMON_OPTION("check", 0, GPUMON_OPTION_FLAG, &given.check),
		GPUMON_OPTION("ptx", 0, GPUMON_OPTION_FLAG, &given.ptx),
		GPUMON_OPTION_RANGE("sm", 0, GPUMON_OPTION_U32, &given.sm, 35, 999),
		GPUMON_OPTION("allow-exit", 0, GPUMON_OPTION_FLAG, &given.rules.allow_exit),
		GPUMON_OPTION_JSON(context),
		{ 0 },
	};
	int ret = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	if (given.ptx && context->json)
		return gpumon_usage(context, "--ptx prints PTX: leave out --json");
	if (!given.check && !given.ptx)
		return gpumon_usage(context,
				    "--check is missing: programs can be verified, not yet be run");
	if (argc != 1)
		return gpumon_usage(context, "name one object file");
	return check_file(context, argv[0], &given);
}

const struct gpumon_command gpumon_command_probe = {
	.name = "probe",
	.summary = "Verify eBPF programs for GPU kernels",
	.usage = "{--check | --ptx [--sm N]} [--allow-exit] [--json] FILE.bpf.o",
	.help = "Reads an object file made by clang -target bpf and verifies each program in it that is\n"
		"for the GPU: that it cannot harm the kernel of another program that it runs in. Prints a\n"
		"line for each program and map; refused programs with the instruction, the source line and\n"
		"the reason. bpf/gpu/gpumon_gpu.h says how such programs are written. This version cannot\n"
		"run them yet.\n"
		"\n"
		"Exit status 1 if a program is refused.\n"
		"\n"
		"Options:\n"
		"      --check            verify, without a GPU\n"
		"      --ptx              print what each accepted program becomes in a kernel\n"
		"      --sm N             for this architecture: 90, the default, is sm_90\n"
		"      --allow-exit       accept programs that end a thread of the kernel\n"
		"      --json             the same as one JSON document\n",
	.privileges = GPUMON_PRIVILEGE_FILES,
	.run = probe_run,
};
