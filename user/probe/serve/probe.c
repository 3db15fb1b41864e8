// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "probe.h"
#include "service.h"
#include "session.h"
#include "show.h"

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
		ret = gpumon_probe_session_run(&service->server, argv, &status, &err);
	if (!ret)
		ret = show(context, service, &status, &err);
	if (ret)
		status = gpumon_report(context, &err);
	gpumon_probe_service_close(service);
	return status;
}
