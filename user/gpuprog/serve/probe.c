// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <poll.h>
#include <stdio.h>

#include "probe.h"
#include "lib/launch.h"
#include "lib/left_behind.h"
#include "service.h"
#include "server_show.h"

/* A kernel without pidfds, and processes that the program left running, are looked at this often. */
#define LOOK_MS 50

static int start_program(struct gpumon_probe_server *server, struct gpumon_launch *launch,
			 char *const *argv, struct gpumon_error *err)
{
	char library[PATH_MAX], injection[PATH_MAX + 32], socket[GPUMON_PROBE_VARIABLE_BYTES];
	const char *environment[] = { injection, socket, NULL };

	if (gpumon_launch_find_library(library, err))
		return -1;
	snprintf(injection, sizeof(injection), "CUDA_INJECTION64_PATH=%s", library);
	gpumon_probe_server_variable(server, socket);
	return gpumon_launch_start(launch, argv, environment, err);
}

static unsigned int count_left(const struct gpumon_probe_server *server)
{
	char variable[GPUMON_PROBE_VARIABLE_BYTES];
	pid_t first;

	gpumon_probe_server_variable(server, variable);
	return gpumon_left_behind("", variable, &first);
}

/* @ended: the program has; others may still run. */
static void serve(struct gpumon_probe_server *server, struct gpumon_launch *launch)
{
	bool ended = false, interrupted = false;

	while (!interrupted && !(ended && !count_left(server))) {
		struct pollfd fds[] = {
			{ .fd = server->listener.fd, .events = POLLIN },
			{ .fd = launch->signals, .events = POLLIN },
			{ .fd = ended ? -1 : launch->pidfd, .events = POLLIN },
		};

		(void)poll(fds, 3, ended || launch->pidfd < 0 ? LOOK_MS : -1);
		gpumon_probe_server_step(server);
		if (fds[1].revents)
			gpumon_launch_signal(launch, &interrupted);
		if (!ended)
			ended = !gpumon_launch_wait(launch);
	}
	gpumon_probe_server_step(server);
}

/* Processes that it leaves running are waited for, too; Ctrl-C ends the wait. @status: as a shell has it. */
static int run(struct gpumon_probe_server *server, char *const *argv, int *status,
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

static int show(struct gpumon_context *context, struct gpumon_probe_service *service, int *status,
		struct gpumon_error *err)
{
	int ret;

	gpumon_probe_service_missing(service, gpumon_probe_show_line, context->err);
	ret = gpumon_probe_show_sheet(context, gpumon_probe_service_sheet(service), err);
	gpumon_probe_service_notes(service, gpumon_probe_show_line, context->err);
	if (service->server.unable && !*status)
		*status = GPUMON_EXIT_IMPOSSIBLE;
	return ret;
}

int gpumon_probe_program(struct gpumon_context *context, const struct gpumon_probe_check *check,
			 const struct gpumon_probe_options *options, char *const *argv)
{
	struct gpumon_probe_service *service;
	struct gpumon_error err;
	int status = 0, ret;

	ret = gpumon_probe_service_open(check, options, argv[0], &service, &err);
	if (!ret)
		ret = run(&service->server, argv, &status, &err);
	if (!ret)
		ret = show(context, service, &status, &err);
	if (ret)
		status = gpumon_report(context, &err);
	gpumon_probe_service_close(service);
	return status;
}
