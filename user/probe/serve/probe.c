// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "session.h"
#include "show.h"

#define COPY_MS 500

/* What is in memory of the kernel's. */
static void take_shared(struct gpumon_probe_server *server)
{
	for (uint64_t left = gpumon_probe_cpu_shared(server->cpu); left; left &= left - 1) {
		uint32_t map = (uint32_t)__builtin_ctzll(left);

		gpumon_probe_areas_share(&server->areas, map,
					 gpumon_probe_cpu_memory(server->cpu, map));
	}
}

static int show_server(struct gpumon_context *context, const struct gpumon_probe_server *server,
		       const char *tool, struct gpumon_error *err)
{
	struct gpumon_probe_device *devices = gpumon_probe_areas_devices(&server->areas);
	uint64_t launches_n = 0;
	struct gpumon_probe_launch *launches = gpumon_probe_launches_list(
		&server->launchers, &server->run, server->areas.areas_n, &launches_n);
	const struct gpumon_probe_result result = {
		.tool = tool,
		.object = server->order->object,
		.run = &server->run,
		.devices = devices,
		.devices_n = server->areas.areas_n,
		.records = server->areas.records,
		.prints = &server->areas.prints,
		.launches = launches,
		.launches_n = launches_n,
	};
	int ret = devices ? gpumon_probe_show_result(context, &result, err) :
			    gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
					     "no memory for the result");

	free(launches);
	free(devices);
	for (uint32_t i = 0; i < server->notes_n; i++)
		fprintf(context->err, "gpumon-user: %s\n", server->notes[i]);
	return ret;
}

/* Why nothing was gathered, in a line. */
static void tell_nothing(struct gpumon_context *context, const struct gpumon_probe_server *server,
			 const char *program)
{
	if (!server->processes)
		fprintf(context->err,
			"gpumon-user: no process of %s used CUDA: nothing was put into a kernel\n",
			program);
	else if (!server->exchanged && !server->run.kernels_n && !server->run.unread)
		fprintf(context->err,
			"gpumon-user: none of the kernels that were asked for came up in %llu images: nothing was put into a kernel\n",
			(unsigned long long)server->run.images);
}

/* What is missing, and why. */
static void tell_missing(struct gpumon_context *context, const struct gpumon_probe_server *server)
{
	for (uint32_t i = 0; i < server->areas.areas_n; i++)
		if (!server->areas.areas[i].settled)
			fprintf(context->err,
				"gpumon-user: %s: the process was killed, or did not end by exit(): what its kernels did after the last copy of the maps is missing\n",
				server->areas.areas[i].name);
	if (server->patches && server->patches->sample > 1)
		fprintf(context->err,
			"gpumon-user: programs ran in 1 of %u blocks of each kernel: counts are of these blocks, times %u is an estimate\n",
			server->patches->sample, server->patches->sample);
	if (server->run.unread)
		fprintf(context->err,
			"gpumon-user: %u images have machine code only, which programs cannot be put into; --kernel shows the kernels in them\n",
			server->run.unread);
}

static int finish(struct gpumon_context *context, struct gpumon_probe_server *server,
		  const struct gpumon_probe_options *options, char *const *argv, int status)
{
	struct gpumon_error err;

	tell_nothing(context, server, argv[0]);
	tell_missing(context, server);
	take_shared(server);
	if (show_server(context, server, options->tool, &err))
		return gpumon_report(context, &err);
	return server->unable && !status ? GPUMON_EXIT_IMPOSSIBLE : status;
}

/* The way is said, as the results of the two differ in what they cost, and in what is there. */
static void tell_way(struct gpumon_context *context, const struct gpumon_probe_patches *patches)
{
	fprintf(context->err,
		"gpumon-user: machine code of kernels is patched (--sass): by %s, programs assembled by %s\n",
		patches->sanitizer, patches->ptxas);
}

/* Where programs are put into machine code: what that needs. @patches: NULL: nothing. */
static int open_patches(struct gpumon_context *context, struct gpumon_probe_patches *patches,
			const struct gpumon_probe_options *options, const char *program,
			struct gpumon_probe_plan *plan, struct gpumon_error *err)
{
	const struct gpumon_probe_patch_tools tools = { .ptxas = options->ptxas,
							.sanitizer = options->sanitizer,
							.program = program };

	if (!patches)
		return 0;
	if (options->tool && strcmp(options->tool, "launchlate") == 0)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"launchlate needs the times of launches, which are not noted with --sass: leave out --sass");
	patches->sample = options->sample;
	if (gpumon_probe_patches_open(patches, &tools, err))
		return -1;
	plan->settings.way = GPUMON_WIRE_WAY_SASS;
	snprintf(plan->settings.sanitizer, sizeof(plan->settings.sanitizer), "%s",
		 patches->sanitizer);
	tell_way(context, patches);
	return 0;
}

static int serve(struct gpumon_probe_server *server, const struct gpumon_probe_order *order,
		 const struct gpumon_probe_plan *plan, struct gpumon_probe_patches *patches,
		 const struct gpumon_probe_cpu *cpu, char *const *argv, int *status,
		 struct gpumon_error *err)
{
	if (gpumon_probe_server_open(server, order, plan, err))
		return -1;
	server->patches = patches;
	server->cpu = cpu;
	return gpumon_probe_session_run(server, argv, status, err);
}

/* The programs for the CPU run before the program is started. @cpu: NULL: there are none. */
static int open_cpu(const struct gpumon_probe_check *check,
		    const struct gpumon_probe_options *options, struct gpumon_probe_cpu **cpu,
		    struct gpumon_error *err)
{
	if (!check->object.cpu_n || options->no_cpu)
		return 0;
	if (options->sass)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"programs for the CPU do not work with --sass yet: leave them out with --no-cpu");
	return gpumon_probe_cpu_open(check, &options->cpu, cpu, err);
}

int gpumon_probe_program(struct gpumon_context *context, const struct gpumon_probe_check *check,
			 const struct gpumon_probe_options *options, char *const *argv)
{
	const struct gpumon_probe_fact **facts = gpumon_probe_check_facts(check);
	const struct gpumon_probe_order order = {
		.object = &check->object,
		.facts = facts,
		.kernels = options->kernels.texts,
		.kernels_n = options->kernels.n,
		.shards = GPUMON_PROBE_SHARDS,
		.fuel = options->fuel ? options->fuel : GPUMON_PROBE_FUEL,
	};
	struct gpumon_probe_server *server = calloc(1, sizeof(*server));
	struct gpumon_probe_patches *patches = options->sass ? calloc(1, sizeof(*patches)) : NULL;
	struct gpumon_probe_plan plan = { .content = -1 };
	struct gpumon_probe_cpu *cpu = NULL;
	struct gpumon_error err;
	int status = 0, ret = -1;

	if (patches)
		patches->order = &order;
	if (!facts || !server || (options->sass && !patches))
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
				 "no memory");
	else if (!open_cpu(check, options, &cpu, &err) &&
		 !gpumon_probe_plan_make(&check->object, GPUMON_PROBE_SHARDS, COPY_MS,
					 gpumon_probe_cpu_shared(cpu), &plan, &err)) {
		ret = open_patches(context, patches, options, argv[0], &plan, &err);
		if (!ret)
			ret = serve(server, &order, &plan, patches, cpu, argv, &status, &err);
		if (!ret)
			status = finish(context, server, options, argv, status);
		gpumon_probe_plan_clear(&plan);
	}
	if (ret)
		status = gpumon_report(context, &err);
	if (server && server->order)
		gpumon_probe_server_close(server);
	if (patches)
		gpumon_probe_patches_close(patches);
	gpumon_probe_cpu_close(cpu);
	free(patches);
	free(server);
	free(facts);
	return status;
}
