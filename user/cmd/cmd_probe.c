// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user probe: eBPF programs for GPU kernels. */
#include <string.h>

#include "lib/json.h"
#include "lib/options.h"
#include "lib/output_file.h"
#include "lib/privileges.h"
#include "commands.h"
#include "gpuprog/server/own_kernels.h"
#include "gpuprog/server/inspect.h"
#include "gpuprog/server/load.h"
#include "gpuprog_arguments.h"

struct probe_options {
	bool check;
	bool list;
	bool ptx;
	const char *into; /* an image */
	const char *output;
	bool force;
	uint32_t sm;
	struct gpumon_gpuprog_arguments arguments;
};

/* "X[,Y[,Z]]" */
static int take_sides(struct gpumon_context *context, const char *name, const char *text,
		      const uint32_t *most, uint32_t *sides)
{
	char side[16];
	uint64_t n;

	sides[1] = sides[2] = 1;
	for (int i = 0; i < 3; i++) {
		size_t length = strcspn(text, ",");

		snprintf(side, sizeof(side), "%.*s",
			 (int)(length < sizeof(side) ? length : sizeof(side)), text);
		if (gpumon_argument_u64(context, name, side, 1, most[i], &n))
			return -1;
		sides[i] = (uint32_t)n;
		text += length;
		if (!*text++)
			return 0;
	}
	return gpumon_usage(context, "%s is X[,Y[,Z]]", name);
}

static int take_grid(struct gpumon_context *context, const char *text, void *value)
{
	static const uint32_t most[] = { INT32_MAX, 65535, 65535 };

	return take_sides(context, "--grid", text, most, value);
}

static int take_block(struct gpumon_context *context, const char *text, void *value)
{
	static const uint32_t most[] = { 1024, 1024, 64 };
	const uint32_t *sides = value;

	if (take_sides(context, "--block", text, most, value))
		return -1;
	if ((uint64_t)sides[0] * sides[1] * sides[2] > 1024)
		return gpumon_usage(context, "--block %s has more than 1024 threads", text);
	return 0;
}

/* "1/N" */
static int take_sample(struct gpumon_context *context, const char *text, void *value)
{
	uint32_t *sample = value;
	uint64_t n;

	if (strncmp(text, "1/", 2) != 0)
		return gpumon_usage(context, "--sample is 1/N, such as 1/16: one of N blocks");
	if (gpumon_argument_u64(context, "--sample", text + 2, 1, 1u << 30, &n))
		return -1;
	*sample = (uint32_t)n;
	return 0;
}

static int list_tools(struct gpumon_context *context)
{
	struct gpumon_term term;
	struct gpumon_error err;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_gpuprog_tools_json(), !term.tty, context->out);
	else
		ret = gpumon_gpuprog_show_tools(&term, context->out);
	if (!ret)
		return GPUMON_EXIT_OK;
	gpumon_error_output(&err);
	return gpumon_report(context, &err);
}

static int show_check(struct gpumon_context *context, const struct gpumon_gpuprog_check *check)
{
	struct gpumon_term term;
	struct gpumon_error err;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_gpuprog_json(check), !term.tty, context->out);
	else
		ret = gpumon_gpuprog_show(check, &term, context->out);
	if (ret) {
		gpumon_error_output(&err);
		return gpumon_report(context, &err);
	}
	if (!context->json)
		gpumon_gpuprog_report_refusals(context, check);
	return check->refused ? GPUMON_EXIT_FAILED : GPUMON_EXIT_OK;
}

static int show_ptx(struct gpumon_context *context, const struct gpumon_gpuprog_check *check,
		    uint32_t sm)
{
	int ret = check->refused ? GPUMON_EXIT_FAILED : GPUMON_EXIT_OK;
	struct gpumon_error err;

	gpumon_gpuprog_report_refusals(context, check);
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (check->verdicts[i].facts &&
		    gpumon_gpuprog_print_ptx(check, i, sm, context->out, &err))
			ret = gpumon_report(context, &err);
	return ret;
}

static int check_file(struct gpumon_context *context, const char *path,
		      const struct probe_options *options)
{
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	int ret;

	if (gpumon_gpuprog_check(path, &options->arguments.rules, &check, &err))
		ret = gpumon_report(context, &err);
	else if (options->ptx)
		ret = show_ptx(context, &check, options->sm ? options->sm : 90);
	else
		ret = show_check(context, &check);
	gpumon_gpuprog_check_clear(&check);
	return ret;
}

static int show_into(struct gpumon_context *context, const struct gpumon_gpuprog_into *into)
{
	struct gpumon_term term;
	struct gpumon_error err;

	gpumon_term_get(&term, context->out);
	if (context->json ?
		    gpumon_json_print(gpumon_gpuprog_into_json(into), !term.tty, context->out) :
		    gpumon_gpuprog_show_into(into, &term, context->out)) {
		gpumon_error_output(&err);
		return gpumon_report(context, &err);
	}
	if (into->outcome == GPUMON_GPUPROG_EXCHANGED)
		return GPUMON_EXIT_OK;
	if (context->json)
		return GPUMON_EXIT_FAILED;
	gpumon_error_set(
		&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED, "%s: %s: nothing is written",
		into->image,
		into->run.kernels_n ? "no kernel of it got a program" :
		into->kernels_n	    ? "no kernel that --kernel names was found in it" :
				      "no kernel was found in it; name PTX, a cubin or a fat binary");
	return gpumon_report(context, &err);
}

static int write_into(struct gpumon_context *context, const struct gpumon_gpuprog_check *check,
		      const struct probe_options *options)
{
	struct gpumon_gpuprog_into into = {
		.image = options->into,
		.kernels = options->arguments.run.kernels.texts,
		.kernels_n = options->arguments.run.kernels.n,
		.sm = options->sm,
		.fuel = options->arguments.run.fuel ? options->arguments.run.fuel :
						      GPUMON_GPUPROG_FUEL,
	};
	struct gpumon_output_file file;
	struct gpumon_error err;
	int ret;

	if (gpumon_output_file_open(&file, options->output, options->force, GPUMON_OUTPUT_TEXT,
				    context->out, &err))
		return gpumon_report(context, &err);
	ret = gpumon_gpuprog_into(check, &into, file.stream, &err);
	if (gpumon_output_file_close(&file, !ret && into.outcome == GPUMON_GPUPROG_EXCHANGED, &err))
		ret = -1;
	ret = ret ? gpumon_report(context, &err) : show_into(context, &into);
	gpumon_gpuprog_run_clear(&into.run);
	return ret;
}

/* The image of a module in a file, with the programs in its kernels. */
static int put_into(struct gpumon_context *context, const char *name,
		    const struct probe_options *options)
{
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	int ret;

	if (gpumon_gpuprog_check(name, &options->arguments.rules, &check, &err)) {
		ret = gpumon_report(context, &err);
	} else {
		gpumon_gpuprog_report_refusals(context, &check);
		ret = check.refused ? GPUMON_EXIT_FAILED : write_into(context, &check, options);
	}
	gpumon_gpuprog_check_clear(&check);
	return ret;
}

/* @argv: a program, or only NULL. */
static int run_program(struct gpumon_context *context, struct gpumon_gpuprog_arguments *arguments,
		       char *const *argv)
{
	int ret = gpumon_gpuprog_arguments_open(context, arguments);

	if (!ret && *argv)
		ret = gpumon_gpuprog_session_run(context, &arguments->check, &arguments->run, argv);
	else if (!ret)
		ret = gpumon_gpuprog_run_own_kernels(context, &arguments->check, &arguments->run);
	gpumon_gpuprog_check_clear(&arguments->check);
	return ret;
}

/* Beside a program, or kernels of their own: each has its options. Those of the latter get their defaults. */
static int check_way(struct gpumon_context *context, struct gpumon_gpuprog_options *run,
		     bool beside)
{
	static const uint32_t grid[] = { 64, 1, 1 }, block[] = { 256, 1, 1 };

	if (beside && (run->grid[0] || run->block[0] || run->gpu || run->times))
		return gpumon_usage(context,
				    "--grid, --block, --gpu and --times go without a program");
	if (!beside && (run->sass || run->kernels.n || run->cpu.attach.n || run->no_cpu))
		return gpumon_usage(context,
				    "--kernel, --sass, --attach and --no-cpu go with a program");
	if (!run->grid[0])
		memcpy(run->grid, grid, sizeof(grid));
	if (!run->block[0])
		memcpy(run->block, block, sizeof(block));
	if (!run->times)
		run->times = 1;
	return 0;
}

static bool is_list_only(const struct probe_options *given)
{
	struct probe_options list;

	memset(&list, 0, sizeof(list));
	list.list = true;
	return !memcmp(given, &list, sizeof(list));
}

/* Nothing is run: options of a run would do nothing. */
static int check_unrun(struct gpumon_context *context, const struct probe_options *given)
{
	const struct gpumon_gpuprog_options *run = &given->arguments.run;

	if (run->grid[0] || run->block[0] || run->times || run->gpu || given->arguments.sets.n ||
	    run->cpu.attach.n || run->no_cpu)
		return gpumon_usage(
			context,
			"--grid, --block, --times, --gpu, --set, --attach and --no-cpu are for programs that are run");
	if (!given->into && (run->kernels.n || run->fuel))
		return gpumon_usage(context,
				    "--kernel and --fuel are for --into, or programs that are run");
	return 0;
}

static int probe_run(struct gpumon_context *context, int argc, char **argv)
{
	struct probe_options given;
	const struct gpumon_option options[] = {
		GPUMON_OPTION("check", 0, GPUMON_OPTION_FLAG, &given.check),
		GPUMON_OPTION("list", 0, GPUMON_OPTION_FLAG, &given.list),
		GPUMON_OPTION("ptx", 0, GPUMON_OPTION_FLAG, &given.ptx),
		GPUMON_OPTION("into", 0, GPUMON_OPTION_TEXT, &given.into),
		GPUMON_OPTION("output", 'o', GPUMON_OPTION_TEXT, &given.output),
		GPUMON_OPTION("force", 0, GPUMON_OPTION_FLAG, &given.force),
		GPUMON_OPTION_RANGE("sm", 0, GPUMON_OPTION_U32, &given.sm, 35, 999),
		GPUMON_GPUPROG_OPTIONS(&given.arguments),
		GPUMON_OPTION_RANGE("gpu", 0, GPUMON_OPTION_U32, &given.arguments.run.gpu, 0, 1023),
		GPUMON_OPTION_CALL("grid", 0, given.arguments.run.grid, take_grid),
		GPUMON_OPTION_CALL("block", 0, given.arguments.run.block, take_block),
		GPUMON_OPTION_RANGE("times", 0, GPUMON_OPTION_U32, &given.arguments.run.times, 1,
				    100000),
		GPUMON_OPTION_CALL("sample", 0, &given.arguments.run.sample, take_sample),
		GPUMON_OPTION("ptxas", 0, GPUMON_OPTION_TEXT, &given.arguments.run.ptxas),
		GPUMON_OPTION("sanitizer", 0, GPUMON_OPTION_TEXT, &given.arguments.run.sanitizer),
		GPUMON_OPTION_JSON(context),
		{ 0 },
	};
	struct gpumon_error err;
	int ret;

	memset(&given, 0, sizeof(given));
	ret = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);
	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	if (given.list && (!is_list_only(&given) || argc))
		return gpumon_usage(context, "--list stands alone, or with --json");
	if (given.list)
		return list_tools(context);
	if (given.check + given.ptx + !!given.into > 1)
		return gpumon_usage(context, "one of --check, --ptx and --into at a time");
	if (given.force && !given.into)
		return gpumon_usage(context, "--force goes with --into");
	if (given.ptx && context->json)
		return gpumon_usage(context, "--ptx prints PTX: leave out --json");
	if (given.sm && !given.ptx && !given.into)
		return gpumon_usage(context, "--sm goes with --ptx or --into");
	if ((given.check || given.ptx || given.into) && check_unrun(context, &given))
		return GPUMON_EXIT_USAGE;
	if (given.arguments.run.sass && (given.check || given.ptx || given.into))
		return gpumon_usage(context, "--sass is for a program that is run");
	if (!given.arguments.run.sass && given.arguments.run.sample)
		return gpumon_usage(context, "--sample needs --sass");
	if (!given.arguments.run.sass && !given.arguments.run.kernels.n &&
	    (given.arguments.run.ptxas || given.arguments.run.sanitizer))
		return gpumon_usage(context, "--ptxas and --sanitizer need --kernel or --sass");
	if (!given.into != !given.output || (given.into && argc != 1))
		return gpumon_usage(context,
				    "--into IMAGE needs -o FILE, and one tool or object file");
	if (given.into && !strcmp(given.output, "-"))
		return gpumon_usage(context,
				    "-o needs a file: what became of the kernels is printed");
	/* The object's programs for the CPU need BPF. A program runs as the caller of sudo. */
	if (given.into || given.check || given.ptx || argc < 2)
		gpumon_privileges_keep(GPUMON_PRIVILEGE_FILES);
	else if (gpumon_privileges_become(NULL, GPUMON_PRIVILEGE_BPF, 0, &err))
		return gpumon_report(context, &err);
	if (given.into)
		return put_into(context, argv[0], &given);
	if (!given.check && !given.ptx && !argc)
		return gpumon_usage(context,
				    "name a tool or an object file, and after -- a program to run");
	if (!given.check && !given.ptx && check_way(context, &given.arguments.run, argc > 1))
		return GPUMON_EXIT_USAGE;
	given.arguments.name = argv[0];
	if (!given.check && !given.ptx)
		return run_program(context, &given.arguments, argv + 1);
	if (argc != 1)
		return gpumon_usage(context, "name one tool or object file");
	return check_file(context, argv[0], &given);
}

const struct gpumon_command gpumon_command_probe = {
	.name = "probe",
	.summary = "Run eBPF programs inside a program's GPU kernels",
	.usage =
		"TOOL|FILE.bpf.o [OPTION]... [-- PROGRAM [ARGUMENT]...] | {--check | --ptx | --into IMAGE -o FILE} TOOL|FILE.bpf.o | --list",
	.help = "Runs a program and puts eBPF programs into its CUDA kernels: those of a tool that comes with\n"
		"gpumon (--list), or of an object file made by clang -target bpf. A file with the name of a tool\n"
		"is ./NAME. When the program has ended, what was gathered is shown: a tool says what stands out;\n"
		"of an object each map is a table. Kernels that were left alone, and losses, are named.\n"
		"\n"
		"Each program is verified first: that it cannot harm the kernel that it runs in. A refused one\n"
		"is named with the instruction, the source line and the reason. bpf/gpu/gpumon_gpu.h says how\n"
		"such programs are written.\n"
		"\n"
		"Uprobes, kprobes and tracepoints in the object are attached while PROGRAM runs, for all processes.\n"
		"Arrays that they and the GPU's programs use are shared.\n"
		"\n"
		"Without a PROGRAM, the object's programs in gpu/run are run as kernels of their own, in its\n"
		"order, and the maps are shown.\n"
		"\n"
		"Exit status: the program's; 1 if an eBPF program is refused, or if no\n"
		"kernel of an image got one; 77 if --sass, or a kernel of its own, is not possible here.\n"
		"\n"
		"Options:\n" GPUMON_GPUPROG_HELP
		"      --grid X[,Y[,Z]]   without a PROGRAM: blocks of the grid (64)\n"
		"      --block X[,Y[,Z]]  without a PROGRAM: threads of a block (256)\n"
		"      --times N          without a PROGRAM: how often each runs (1)\n"
		"      --gpu N            without a PROGRAM: on which GPU (0)\n"
		"      --sass             patch the machine code of all kernels with NVIDIA's sanitizer. Without it,\n"
		"                         only that of kernels named by --kernel that have no PTX: cuBLAS,\n"
		"                         PyTorch, Triton. This is slower\n"
		"      --sample 1/N       with --sass: run the programs in one of N blocks\n"
		"      --ptxas FILE       for machine code: NVIDIA's assembler (PATH, CUDA, PyTorch's and Triton's wheels)\n"
		"      --sanitizer FILE   for machine code: libsanitizer-public.so (that of CUDA)\n"
		"      --ptx              print what each accepted program becomes in a kernel\n"
		"      --into IMAGE       put the programs into the kernels of an image, without a GPU: PTX, cubin or\n"
		"                         fat binary. Prints what became of each kernel\n"
		"  -o, --output FILE      write the new image to FILE\n"
		"      --force            replace FILE\n"
		"      --sm N             for a GPU of this architecture: 90 is sm_90, the default of --ptx; --into\n"
		"                         without it is for any\n"
		"      --check            only verify, without a GPU\n"
		"      --list             the tools that come with gpumon, a line each\n"
		"      --json             the same as one JSON document\n",
	.privileges = GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_PROGRAM,
	.run = probe_run,
};
