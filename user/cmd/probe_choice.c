// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "lib/privileges.h"
#include "gpuprog/server/session.h"
#include "gpuprog/server/load.h"
#include "probe_choice.h"
#include "lib/sheet_file.h"

void gpumon_gpuprog_report_refusals(struct gpumon_context *context,
				    const struct gpumon_gpuprog_check *check)
{
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (!check->verdicts[i].facts)
			gpumon_report(context, &check->verdicts[i].refusal);
}

/* The tool that a file is by its name: "launchlate" of "launchlate.bpf.o". */
static void name_tool(struct gpumon_gpuprog_choice *choice)
{
	const char *slash = strrchr(choice->name, '/'), *file = slash ? slash + 1 : choice->name;

	snprintf(choice->tool, sizeof(choice->tool), "%.*s", (int)strcspn(file, "."), file);
	choice->run.tool = choice->tool;
}

static int set_values(struct gpumon_gpuprog_choice *choice, struct gpumon_error *err)
{
	struct gpumon_texts *cpu = &choice->run.cpu.sets;

	for (uint32_t i = 0; i < choice->sets.n; i++) {
		int ret = gpumon_gpuprog_set(&choice->check.object, choice->sets.texts[i], err);

		if (ret < 0)
			return -1;
		if (ret)
			cpu->texts[cpu->n++] = choice->sets.texts[i];
	}
	return 0;
}

int gpumon_gpuprog_choice_open(struct gpumon_context *context, struct gpumon_gpuprog_choice *choice)
{
	struct gpumon_error err;

	name_tool(choice);
	if (gpumon_gpuprog_check(choice->name, &choice->rules, &choice->check, &err) ||
	    set_values(choice, &err))
		return gpumon_report(context, &err);
	if (choice->run.cpu.attach.n && (!choice->check.object.cpu_n || choice->run.no_cpu)) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				 "--attach %.100s: %s: leave --attach out",
				 choice->run.cpu.attach.texts[0],
				 choice->run.no_cpu ?
					 "--no-cpu leaves out the programs for the CPU" :
					 "the object has no program for the CPU");
		return gpumon_report(context, &err);
	}
	gpumon_gpuprog_report_refusals(context, &choice->check);
	return choice->check.refused ? GPUMON_EXIT_FAILED : 0;
}

bool gpumon_gpuprog_choice_given(const struct gpumon_gpuprog_choice *choice)
{
	const struct gpumon_gpuprog_options *run = &choice->run;

	return choice->name || run->kernels.n || run->fuel || choice->sets.n || run->cpu.attach.n ||
	       run->no_cpu || run->sass || choice->rules.allow_exit;
}

int gpumon_gpuprog_within_check(struct gpumon_context *context,
				const struct gpumon_gpuprog_choice *choice,
				const struct gpumon_session_options *session)
{
	if (!gpumon_gpuprog_choice_given(choice))
		return 0;
	if (choice->run.sass)
		return gpumon_usage(
			context,
			"--sass and a recording exclude each other, as NVIDIA's sanitizer and CUPTI do: leave out --sass, or say gpumon-user probe --sass");
	if (!choice->name)
		return gpumon_usage(
			context,
			"--kernel, --fuel, --set, --attach, --no-cpu and --allow-exit go with --probe");
	if (!session->argv)
		return gpumon_usage(
			context,
			"--probe: programs are put into kernels while they are loaded: start the program with this command, instead of --pid");
	if (session->continuous.on)
		return gpumon_usage(
			context,
			"--continuous keeps what came last, and --probe counts from begin to end: leave one out");
	if (session->duration_ns)
		return gpumon_usage(
			context,
			"--duration ends the recording, and --probe counts until the program ends: leave one out");
	if (session->recorder.settings.record & GPUMON_RECORD_YIELD)
		return gpumon_usage(
			context,
			"--yield lets go of CUPTI, which --probe needs all the time: leave one out");
	return 0;
}

static void step(void *data)
{
	struct gpumon_gpuprog_choice *choice = data;

	gpumon_gpuprog_server_step(&choice->service->server);
}

/**
 * struct report - sentences on their way
 * @sheet: that is kept
 * @out: for the user, or NULL
 */
struct report {
	struct gpumon_sheet *sheet;
	FILE *out;
};

static void add_sentence(void *argument, const char *text)
{
	const struct report *report = argument;

	gpumon_sheet_note(report->sheet, "%s", text);
	if (report->out)
		gpumon_gpuprog_show_line(report->out, text);
}

static int keep(void *data, int directory, bool say, struct gpumon_error *err)
{
	struct gpumon_gpuprog_choice *choice = data;
	struct report report = {
		.sheet = gpumon_gpuprog_service_sheet(choice->service),
		.out = say ? choice->err : NULL,
	};
	int ret;

	gpumon_gpuprog_service_missing(choice->service, add_sentence, &report);
	gpumon_gpuprog_service_notes(choice->service, add_sentence, &report);
	ret = gpumon_sheet_write(report.sheet, directory, err);
	gpumon_sheet_free(report.sheet);
	return ret;
}

int gpumon_gpuprog_within_open(struct gpumon_context *context, struct gpumon_gpuprog_choice *choice,
			       struct gpumon_session_options *session)
{
	struct gpumon_error err;
	int ret;

	if (!choice->name)
		return 0;
	choice->err = context->err;
	choice->run.within = true;
	ret = gpumon_gpuprog_choice_open(context, choice);
	if (ret)
		return ret;
	if (gpumon_gpuprog_service_open(&choice->check, &choice->run, session->argv[0],
					&choice->service, &err))
		return gpumon_report(context, &err);
	/* The programs for the CPU are attached. */
	gpumon_privileges_forget(GPUMON_PRIVILEGE_BPF);
	gpumon_gpuprog_server_variable(&choice->service->server, choice->variable);
	session->beside = (struct gpumon_session_beside){
		.variable = choice->variable,
		.fd = choice->service->server.listener.fd,
		.step = step,
		.keep = keep,
		.data = choice,
	};
	return 0;
}

void gpumon_gpuprog_within_close(struct gpumon_gpuprog_choice *choice)
{
	gpumon_gpuprog_service_close(choice->service);
	gpumon_gpuprog_check_clear(&choice->check);
}
