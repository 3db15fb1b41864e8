// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/json.h"
#include "lib/launch.h"
#include "lib/process_info.h"
#include "lib/text.h"
#include "gpuprog/result/view.h"
#include "session.h"

int gpumon_gpuprog_show_findings(struct gpumon_context *context, struct gpumon_findings *findings,
				 struct gpumon_error *err)
{
	struct gpumon_term term;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_findings_json(findings), !term.tty, context->out);
	else
		ret = gpumon_findings_print(findings, &term, context->out);
	gpumon_findings_free(findings);
	if (!ret)
		return 0;
	return gpumon_error_output(err);
}

void gpumon_gpuprog_show_line(void *stream, const char *text)
{
	fputs("gpumon-user: ", stream);
	gpumon_text_plain(stream, text);
	fputc('\n', stream);
}

#define COPY_MS 500

/* The programs for the CPU run before the program is started. */
static int open_cpu(struct gpumon_gpuprog_service *service,
		    const struct gpumon_gpuprog_check *check, struct gpumon_error *err)
{
	if (!check->object.cpu_n || service->options->no_cpu)
		return 0;
	return gpumon_gpuprog_cpu_open(check, &service->options->cpu, &service->cpu, err);
}

/*
 * Kernels that were named are reached in their machine code if they have no PTX, where that is possible:
 * what it needs. Without names it would slow down all kernels of the program.
 */
static int open_patches(struct gpumon_gpuprog_service *service, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_options *options = service->options;
	struct gpumon_wire_settings *settings = &service->layout.settings;
	bool must = options->sass || options->ptxas || options->sanitizer;

	if (options->within || (!must && !options->kernels.n))
		return 0;
	service->patches = gpumon_calloc(1, sizeof(*service->patches));
	service->patches->order = &service->order;
	if (gpumon_gpuprog_patches_open(service->patches, options, service->program, err)) {
		if (must)
			return -1;
		snprintf(service->no_patches, sizeof(service->no_patches), "%s", err->message);
		free(service->patches);
		service->patches = NULL;
		return 0;
	}
	settings->way = options->sass ? GPUMON_WIRE_WAY_SASS : GPUMON_WIRE_WAY_EACH;
	snprintf(settings->sanitizer, sizeof(settings->sanitizer), "%s",
		 service->patches->sanitizer);
	return 0;
}

static int open_all(struct gpumon_gpuprog_service *service,
		    const struct gpumon_gpuprog_check *check, struct gpumon_error *err)
{
	service->order = (struct gpumon_gpuprog_order){
		.object = &check->object,
		.facts = check->facts,
		.kernels = service->options->kernels.texts,
		.kernels_n = service->options->kernels.n,
		.shards = GPUMON_GPUPROG_SHARDS,
		.fuel = service->options->fuel ? service->options->fuel : GPUMON_GPUPROG_FUEL,
	};
	if (open_cpu(service, check, err) ||
	    gpumon_gpuprog_layout_make(&check->object, GPUMON_GPUPROG_SHARDS, COPY_MS,
				       gpumon_gpuprog_cpu_shared(service->cpu), &service->layout,
				       err) ||
	    open_patches(service, err) ||
	    gpumon_gpuprog_server_open(&service->server, &service->order, &service->layout, err))
		return -1;
	service->server.patches = service->patches;
	service->server.cpu = service->cpu;
	return 0;
}

int gpumon_gpuprog_service_open(const struct gpumon_gpuprog_check *check,
				const struct gpumon_gpuprog_options *options, const char *program,
				struct gpumon_gpuprog_service **opened, struct gpumon_error *err)
{
	struct gpumon_gpuprog_service *service = gpumon_calloc(1, sizeof(*service));

	*opened = NULL;
	service->options = options;
	service->program = program;
	service->layout.content = -1;
	if (open_all(service, check, err)) {
		gpumon_gpuprog_service_close(service);
		return -1;
	}
	*opened = service;
	return 0;
}

void gpumon_gpuprog_service_close(struct gpumon_gpuprog_service *service)
{
	if (!service)
		return;
	if (service->server.order)
		gpumon_gpuprog_server_close(&service->server);
	gpumon_gpuprog_layout_clear(&service->layout);
	if (service->patches)
		gpumon_gpuprog_patches_close(service->patches);
	gpumon_gpuprog_cpu_close(service->cpu);
	free(service->patches);
	free(service);
}

/* Show the arrays that lie in the kernel's memory. */
static void take_shared(struct gpumon_gpuprog_service *service)
{
	for (uint64_t left = gpumon_gpuprog_cpu_shared(service->cpu); left; left &= left - 1) {
		uint32_t map = (uint32_t)__builtin_ctzll(left);

		gpumon_gpuprog_contexts_share(&service->server.contexts, map,
					      gpumon_gpuprog_cpu_memory(service->cpu, map));
	}
}

static void take_assemblies(const struct gpumon_gpuprog_patches *patches,
			    struct gpumon_gpuprog_modules *modules)
{
	modules->assemblies_n = 0;
	for (uint32_t i = 0; patches && i < patches->codes_n; i++)
		if (patches->codes[i].code)
			modules->assemblies[modules->assemblies_n++] = patches->codes[i].made;
}

struct gpumon_findings *gpumon_gpuprog_service_findings(struct gpumon_gpuprog_service *service)
{
	struct gpumon_gpuprog_server *server = &service->server;
	struct gpumon_gpuprog_device *devices;
	struct gpumon_gpuprog_launch *launches;
	struct gpumon_findings *findings = NULL;
	const char *launches_why = NULL;
	uint64_t launches_n = 0;

	take_shared(service);
	take_assemblies(service->patches, &server->modules);
	devices = gpumon_gpuprog_contexts_devices(&server->contexts);
	launches = gpumon_gpuprog_launches_list(&server->launchers, &server->run,
						server->contexts.contexts_n, &launches_n,
						&launches_why);
	if (devices) {
		const struct gpumon_gpuprog_result result = {
			.tool = service->options->tool,
			.object = service->order.object,
			.run = &server->run,
			.modules = &server->modules,
			.devices = devices,
			.devices_n = server->contexts.contexts_n,
			.records = server->contexts.records,
			.prints = &server->contexts.prints,
			.launches = launches,
			.launches_n = launches_n,
			.launches_why = launches_why,
			.launchers_left_out = server->launchers.left_out,
		};

		findings = gpumon_gpuprog_findings(&result);
	}
	free(launches);
	free(devices);
	return findings;
}

struct sayer {
	void (*say)(void *argument, const char *text);
	void *argument;
};

static void say(const struct sayer *sayer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct sayer *sayer, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sayer->say(sayer->argument, text);
}

static void say_none(const struct gpumon_gpuprog_run *run, const struct sayer *sayer)
{
	char near[512] = "";
	size_t used = 0;

	for (int i = 0; i < GPUMON_GPUPROG_NEAR && run->near[i].name; i++)
		used += (size_t)snprintf(near + used, sizeof(near) - used, "%s%s",
					 i ? ", " : ". Did you mean ", run->near[i].name);
	say(sayer,
	    "none of the kernels that were asked for came up in %llu images: nothing was put into a kernel%s%s",
	    (unsigned long long)run->images, near, used ? "?" : "");
}

/* Why nothing was gathered. */
static void say_nothing(const struct gpumon_gpuprog_service *service, const struct sayer *sayer)
{
	const struct gpumon_gpuprog_server *server = &service->server;

	if (!server->processes)
		say(sayer, "no process of %s used CUDA: nothing was put into a kernel",
		    service->program);
	else if (!gpumon_gpuprog_modules_n(&server->modules) && !server->run.kernels_n &&
		 !server->run.unread)
		say_none(&server->run, sayer);
}

static uint32_t count_kernels(const struct gpumon_gpuprog_run *run, enum gpumon_gpuprog_way way)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->kernels_n; i++)
		n += run->kernels[i].way == way;
	return n;
}

/* Which kernels went another way than PTX, as that differs in what it costs, and those that could have. */
static void say_way(const struct gpumon_gpuprog_service *service, const struct sayer *sayer)
{
	const struct gpumon_gpuprog_run *run = &service->server.run;
	uint32_t patched = count_kernels(run, GPUMON_GPUPROG_WAY_SASS);

	if (patched)
		say(sayer,
		    "machine code (SASS) of %u kernel%s was patched, %s, by %s; programs were assembled by %s",
		    patched, patched == 1 ? "" : "s",
		    service->options->sass ? "as --sass says" : "for want of PTX to edit",
		    service->patches->sanitizer, service->patches->ptxas);
	if (*service->no_patches && count_kernels(run, GPUMON_GPUPROG_WAY_NO_PTX))
		say(sayer, "machine code (SASS) of kernels without PTX could not be patched: %s",
		    service->no_patches);
}

void gpumon_gpuprog_service_missing(const struct gpumon_gpuprog_service *service,
				    void (*function)(void *argument, const char *text),
				    void *argument)
{
	const struct gpumon_gpuprog_server *server = &service->server;
	const struct sayer sayer = { function, argument };

	say_nothing(service, &sayer);
	say_way(service, &sayer);
	for (uint32_t i = 0; i < server->contexts.contexts_n; i++)
		if (!server->contexts.contexts[i].settled)
			say(&sayer,
			    "%s: the process was killed, or did not end by exit(): what its kernels did after the last copy of the maps is missing",
			    server->contexts.contexts[i].name);
	if (server->patches && server->patches->sample > 1)
		say(&sayer,
		    "programs ran in 1 of %u blocks of each kernel: counts are of these blocks, times %u is an estimate",
		    server->patches->sample, server->patches->sample);
	if (server->run.unread)
		say(&sayer,
		    "%u images have machine code only, or are of NVIDIA's libraries: name kernels (--kernel), and their machine code is patched where that is possible",
		    server->run.unread);
}

void gpumon_gpuprog_service_notes(const struct gpumon_gpuprog_service *service,
				  void (*function)(void *argument, const char *text),
				  void *argument)
{
	const struct gpumon_gpuprog_server *server = &service->server;
	const struct sayer sayer = { function, argument };

	for (uint32_t i = 0; i < server->notes_n; i++)
		function(argument, server->notes[i]);
	if (server->notes_more)
		say(&sayer, "and %u other note%s", server->notes_more,
		    server->notes_more == 1 ? "" : "s");
}

/* A kernel without pidfds, and processes that the program left running, are looked at this often. */
#define LOOK_MS 50

static int start_program(struct gpumon_gpuprog_server *server, struct gpumon_launch *launch,
			 char *const *argv, struct gpumon_error *err)
{
	char library[PATH_MAX], injection[PATH_MAX + 32], socket[GPUMON_GPUPROG_VARIABLE_BYTES];
	const char *environment[] = { injection, socket, NULL };

	if (gpumon_launch_find_library(library, err))
		return -1;
	snprintf(injection, sizeof(injection), "CUDA_INJECTION64_PATH=%s", library);
	gpumon_gpuprog_server_variable(server, socket);
	return gpumon_launch_start(launch, argv, environment, err);
}

static unsigned int count_left(const struct gpumon_gpuprog_server *server)
{
	char variable[GPUMON_GPUPROG_VARIABLE_BYTES];
	pid_t first;

	gpumon_gpuprog_server_variable(server, variable);
	return gpumon_left_behind("", variable, &first);
}

/* @ended: the program has; others may still run. */
static void serve(struct gpumon_gpuprog_server *server, struct gpumon_launch *launch)
{
	bool ended = false, interrupted = false;

	while (!interrupted && !(ended && !count_left(server))) {
		struct pollfd fds[] = {
			{ .fd = server->listener.fd, .events = POLLIN },
			{ .fd = launch->signals, .events = POLLIN },
			{ .fd = ended ? -1 : launch->pidfd, .events = POLLIN },
		};

		(void)poll(fds, 3, ended || launch->pidfd < 0 ? LOOK_MS : -1);
		gpumon_gpuprog_server_step(server);
		if (fds[1].revents)
			gpumon_launch_signal(launch, &interrupted);
		if (!ended)
			ended = !gpumon_launch_wait(launch);
	}
	gpumon_gpuprog_server_step(server);
}

/* Processes that it leaves running are waited for, too; Ctrl-C ends the wait. @status: as a shell has it. */
static int run(struct gpumon_gpuprog_server *server, char *const *argv, int *status,
	       struct gpumon_error *err)
{
	struct gpumon_launch launch;
	int ret;

	if (gpumon_launch_prepare(&launch, err))
		return -1;
	ret = start_program(server, &launch, argv, err);
	if (!ret) {
		serve(server, &launch);
		*status = gpumon_launch_exit_status(&launch);
	}
	gpumon_launch_end(&launch);
	return ret;
}

static int show(struct gpumon_context *context, struct gpumon_gpuprog_service *service, int *status,
		struct gpumon_error *err)
{
	int ret;

	gpumon_gpuprog_service_missing(service, gpumon_gpuprog_show_line, context->err);
	ret = gpumon_gpuprog_show_findings(context, gpumon_gpuprog_service_findings(service), err);
	gpumon_gpuprog_service_notes(service, gpumon_gpuprog_show_line, context->err);
	if (service->server.unable && !*status)
		*status = GPUMON_EXIT_IMPOSSIBLE;
	return ret;
}

int gpumon_gpuprog_session_run(struct gpumon_context *context,
			       const struct gpumon_gpuprog_check *check,
			       const struct gpumon_gpuprog_options *options, char *const *argv)
{
	struct gpumon_gpuprog_service *service;
	struct gpumon_error err;
	int status = 0, ret;

	ret = gpumon_gpuprog_service_open(check, options, argv[0], &service, &err);
	if (!ret)
		ret = run(&service->server, argv, &status, &err);
	if (!ret)
		ret = show(context, service, &status, &err);
	if (ret)
		status = gpumon_report(context, &err);
	gpumon_gpuprog_service_close(service);
	return status;
}
