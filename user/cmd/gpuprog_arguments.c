// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "lib/privileges.h"
#include "gpuprog/server/session.h"
#include "gpuprog/server/load.h"
#include "gpuprog_arguments.h"
#include "capture/findings.h"

void gpumon_gpuprog_report_refusals(struct gpumon_context *context,
				    const struct gpumon_gpuprog_check *check)
{
	for (uint32_t i = 0; i < check->object.programs_n; i++)
		if (!check->verdicts[i].facts)
			gpumon_report(context, &check->verdicts[i].refusal);
}

/* The tool that a file is by its name: "launchlate" of "launchlate.bpf.o". */
static void name_tool(struct gpumon_gpuprog_arguments *arguments)
{
	const char *slash = strrchr(arguments->name, '/'),
		   *file = slash ? slash + 1 : arguments->name;

	snprintf(arguments->tool, sizeof(arguments->tool), "%.*s", (int)strcspn(file, "."), file);
	arguments->run.tool = arguments->tool;
}

static int set_values(struct gpumon_gpuprog_arguments *arguments, struct gpumon_error *err)
{
	struct gpumon_texts *cpu = &arguments->run.cpu.sets;

	for (uint32_t i = 0; i < arguments->sets.n; i++) {
		int ret =
			gpumon_gpuprog_set(&arguments->check.object, arguments->sets.texts[i], err);

		if (ret < 0)
			return -1;
		if (ret)
			cpu->texts[cpu->n++] = arguments->sets.texts[i];
	}
	return 0;
}

int gpumon_gpuprog_arguments_open(struct gpumon_context *context,
				  struct gpumon_gpuprog_arguments *arguments)
{
	struct gpumon_error err;

	name_tool(arguments);
	if (gpumon_gpuprog_check(arguments->name, &arguments->rules, &arguments->check, &err) ||
	    set_values(arguments, &err))
		return gpumon_report(context, &err);
	if (arguments->run.cpu.attach.n &&
	    (!arguments->check.object.cpu_n || arguments->run.no_cpu)) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				 "--attach %.100s: %s: leave --attach out",
				 arguments->run.cpu.attach.texts[0],
				 arguments->run.no_cpu ?
					 "--no-cpu leaves out the programs for the CPU" :
					 "the object has no program for the CPU");
		return gpumon_report(context, &err);
	}
	gpumon_gpuprog_report_refusals(context, &arguments->check);
	return arguments->check.refused ? GPUMON_EXIT_FAILED : 0;
}

bool gpumon_gpuprog_arguments_given(const struct gpumon_gpuprog_arguments *arguments)
{
	const struct gpumon_gpuprog_options *run = &arguments->run;

	return arguments->name || run->kernels.n || run->fuel || arguments->sets.n ||
	       run->cpu.attach.n || run->no_cpu || run->sass || arguments->rules.allow_exit;
}

int gpumon_gpuprog_within_check(struct gpumon_context *context,
				const struct gpumon_gpuprog_arguments *arguments,
				const struct gpumon_session_options *session)
{
	if (!gpumon_gpuprog_arguments_given(arguments))
		return 0;
	if (arguments->run.sass)
		return gpumon_usage(
			context,
			"--sass and a recording exclude each other, as NVIDIA's sanitizer and CUPTI do: leave out --sass, or say gpumon-user probe --sass");
	if (!arguments->name)
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
	if (session->recorder.settings.record & GPUMON_RECORD_HW_TRACE)
		return gpumon_usage(
			context,
			"--hw-trace has to be the first that CUPTI is told, and with --probe it is not: leave one out");
	return 0;
}

static void step(void *data)
{
	struct gpumon_gpuprog_arguments *arguments = data;

	gpumon_gpuprog_server_step(&arguments->service->server);
}

/**
 * struct report - sentences on their way
 * @findings: that is kept
 * @out: for the user, or NULL
 */
struct report {
	struct gpumon_findings *findings;
	FILE *out;
};

static void add_sentence(void *argument, const char *text)
{
	const struct report *report = argument;

	gpumon_findings_note(report->findings, "%s", text);
	if (report->out)
		gpumon_gpuprog_show_line(report->out, text);
}

static int keep(void *data, int directory, bool say, struct gpumon_error *err)
{
	struct gpumon_gpuprog_arguments *arguments = data;
	struct report report = {
		.findings = gpumon_gpuprog_service_findings(arguments->service),
		.out = say ? arguments->err : NULL,
	};
	int ret;

	gpumon_gpuprog_service_missing(arguments->service, add_sentence, &report);
	gpumon_gpuprog_service_notes(arguments->service, add_sentence, &report);
	ret = gpumon_findings_write(report.findings, directory, err);
	gpumon_findings_free(report.findings);
	return ret;
}

int gpumon_gpuprog_within_open(struct gpumon_context *context,
			       struct gpumon_gpuprog_arguments *arguments,
			       struct gpumon_session_options *session)
{
	struct gpumon_error err;
	int ret;

	if (!arguments->name)
		return 0;
	arguments->err = context->err;
	arguments->run.within = true;
	ret = gpumon_gpuprog_arguments_open(context, arguments);
	if (ret)
		return ret;
	if (gpumon_gpuprog_service_open(&arguments->check, &arguments->run, session->argv[0],
					&arguments->service, &err))
		return gpumon_report(context, &err);
	/* The programs for the CPU are attached. */
	gpumon_privileges_forget(GPUMON_PRIVILEGE_BPF);
	gpumon_gpuprog_server_variable(&arguments->service->server, arguments->variable);
	session->beside = (struct gpumon_session_beside){
		.variable = arguments->variable,
		.fd = arguments->service->server.listener.fd,
		.step = step,
		.keep = keep,
		.data = arguments,
	};
	return 0;
}

void gpumon_gpuprog_within_close(struct gpumon_gpuprog_arguments *arguments)
{
	gpumon_gpuprog_service_close(arguments->service);
	gpumon_gpuprog_check_clear(&arguments->check);
}
