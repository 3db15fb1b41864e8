// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "driver/bpf_source.h"
#include "driver/client.h"
#include "commands.h"
#include "doctor.h"
#include "lib/options.h"
#include "lib/privileges.h"
#include "lib/profile.h"

/* 0, or -1 if the module does not answer. */
static int ask_module(struct gpumon_model *model, struct gpumon_error *err)
{
	struct gpumon_client *client;
	int ret;

	if (gpumon_client_open(&client, err))
		return -1;
	ret = gpumon_client_read(
		client, GPUMON_PART_INFO | GPUMON_PART_GROUPS | GPUMON_PART_LAYOUTS, 0, model, err);
	gpumon_client_close(client);
	return ret;
}

/* Load the programs for a moment: only that shows whether the kernel accepts them. */
static void ask_bpf(struct gpumon_doctor *doctor, const struct gpumon_error *module)
{
	struct gpumon_bpf_source *source;
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	if (gpumon_bpf_source_open(&source, false, &err)) {
		gpumon_doctor_source(doctor, module, &err);
		return;
	}
	gpumon_doctor_source(doctor, module, NULL);
	if (module && !gpumon_bpf_source_read(source, GPUMON_PART_GROUPS, &model, &err))
		gpumon_doctor_model(doctor, &model);
	gpumon_model_free(&model);
	gpumon_bpf_source_close(source);
}

/* Which parts the operands name, as bits; 0 after wrong usage was reported. */
static unsigned int parts_of(struct gpumon_context *context, int argc, char **argv)
{
	unsigned int parts = 0;

	for (int i = 0; i < argc; i++) {
		unsigned int part = 0;

		while (part < GPUMON_DOCTOR_N_PARTS &&
		       strcmp(argv[i], gpumon_doctor_part_name(part)))
			part++;
		if (part == GPUMON_DOCTOR_N_PARTS) {
			gpumon_usage(context, "unexpected argument \"%s\": record or driver",
				     argv[i]);
			return 0;
		}
		parts |= 1u << part;
	}
	if (!parts && GPUMON_IS_SMALL)
		return 1u << GPUMON_DOCTOR_DRIVER;
	return parts ? parts : (1u << GPUMON_DOCTOR_N_PARTS) - 1;
}

static void look_at_drivers(struct gpumon_doctor *doctor)
{
	struct gpumon_error module = { 0 };
	struct gpumon_model model = { 0 };
	bool answers = false;

	doctor->part = GPUMON_DOCTOR_DRIVER;
	if (GPUMON_IS_SMALL)
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "build", NULL,
				  "small: without recording, BPF, --listen and .gz");
	/* The socket always asks this machine's kernel, so do not use it with another root. */
	if (!*doctor->root)
		answers = !ask_module(&model, &module);
	doctor->module = answers ? &model.info : NULL;
	gpumon_doctor_machine(doctor);
	gpumon_doctor_module(doctor);
	if (!*doctor->root) {
		gpumon_doctor_netlink(doctor, answers ? NULL : &module);
		if (answers)
			gpumon_doctor_model(doctor, &model);
		ask_bpf(doctor, answers ? NULL : &module);
	}
	doctor->module = NULL;
	gpumon_model_free(&model);
}

static int doctor_run(struct gpumon_context *context, int argc, char **argv)
{
	const struct gpumon_option options[] = { GPUMON_OPTION_JSON(context), { 0 } };
	struct gpumon_doctor doctor = { .root = context->root };
	struct gpumon_error err = { 0 };
	struct gpumon_term term;
	unsigned int parts;
	int ret = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	parts = parts_of(context, argc, argv);
	if (!parts)
		return GPUMON_EXIT_USAGE;
	gpumon_term_get(&term, context->out);

	if (parts & 1u << GPUMON_DOCTOR_RECORD)
		gpumon_doctor_record(&doctor);
	if (parts & 1u << GPUMON_DOCTOR_DRIVER)
		look_at_drivers(&doctor);

	ret = 0;
	if (context->json)
		ret = gpumon_json_print(gpumon_doctor_json(&doctor), !term.tty, context->out);
	else
		gpumon_doctor_print(&doctor, &term, context->out);
	/* A failed check must not hide this: main() only looks if the command succeeded. */
	if (!ret && (fflush(context->out) || ferror(context->out)))
		ret = -1;

	if (ret) {
		gpumon_error_output(&err);
		ret = gpumon_report(context, &err);
	} else if (gpumon_doctor_count(&doctor, GPUMON_DOCTOR_FAIL)) {
		ret = GPUMON_EXIT_FAILED;
	}
	gpumon_doctor_free(&doctor);
	return ret;
}

const struct gpumon_command gpumon_command_doctor = {
	.name = "doctor",
	.summary =
		"Check this machine for what keeps gpumon from working: a line each, with the fix",
	.usage = "[record|driver] [--json]",
	.help = GPUMON_HELP(
		"One line for each thing: ok, warn (something is not seen, or will not work) or\n"
		"fail (that part does not work), then a verdict on each part. \"doctor record\" is\n"
		"about recording programs alone, \"doctor driver\" about what drivers do; without\n"
		"either, both. Exit status 1 if anything of what was asked for fails.\n\n"
		"Options:\n"
		"      --json             the same as one JSON document\n"),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_DEBUGFS,
	.run = doctor_run,
};
