// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "container.h"
#include "format.h"
#include "json_model.h"
#include "stat_print.h"

enum {
	OPTION_INTERVAL = 'i',
	OPTION_COUNT = 'n',
	OPTION_GROUP = 'g',
	OPTION_RESET = GPUMON_OPTION_FIRST,
};

struct settings {
	const char *group;
	uint64_t interval_ns; /* 0: once */
	uint64_t count;	      /* 0: until stopped */
	bool reset;
	struct gpumon_containers *containers;
};

static int parse_options(struct gpumon_context *context, int argc, char **argv,
			 struct settings *settings)
{
	static const struct option options[] = {
		GPUMON_OPTION_JSON,
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ "count", required_argument, NULL, OPTION_COUNT },
		{ "group", required_argument, NULL, OPTION_GROUP },
		{ "reset", no_argument, NULL, OPTION_RESET },
		{ 0 },
	};
	int option;

	while ((option = gpumon_option(context, argc, argv, options)) != GPUMON_OPTION_END) {
		switch (option) {
		case OPTION_INTERVAL:
			if (gpumon_argument_duration(context, "--interval", optarg,
						     &settings->interval_ns))
				return GPUMON_OPTION_BAD;
			break;
		case OPTION_COUNT:
			if (gpumon_argument_u64(context, "--count", optarg, 1, UINT32_MAX,
						&settings->count))
				return GPUMON_OPTION_BAD;
			break;
		case OPTION_GROUP:
			settings->group = optarg;
			break;
		case OPTION_RESET:
			settings->reset = true;
			break;
		default:
			return option;
		}
	}
	if (optind < argc) {
		gpumon_usage(context, "unexpected argument \"%s\"", argv[optind]);
		return GPUMON_OPTION_BAD;
	}
	if (settings->count && !settings->interval_ns) {
		gpumon_usage(context, "--count goes with --interval");
		return GPUMON_OPTION_BAD;
	}
	return 0;
}

static int show(struct gpumon_context *context, const struct settings *settings,
		const struct gpumon_term *term, const struct gpumon_model *model,
		struct gpumon_error *err)
{
	int ret;

	if (context->json)
		ret = gpumon_json_print(gpumon_json_model(model, settings->group),
					settings->interval_ns || !term->tty, context->out);
	else
		ret = gpumon_stat_print(model, settings->group, term, context->out);
	if (!ret && settings->interval_ns && !context->json)
		fputc('\n', context->out);
	if (!ret)
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, "io",
				"the output could not be written");
}

static int check_group(const struct settings *settings, const struct gpumon_model *model,
		       struct gpumon_error *err)
{
	if (!settings->group || gpumon_model_group(model, settings->group))
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, "refused",
				"there is no group \"%.32s\": \"gpumon-user stat\" lists them",
				settings->group);
}

/* The running period, or with --reset the one that is closed by it. */
static int read_model(struct gpumon_client *client, const struct settings *settings,
		      struct gpumon_model *model, struct gpumon_error *err)
{
	struct gpumon_period period = { 0 };

	if (settings->reset && gpumon_client_reset(client, &period, err))
		return -1;
	if (gpumon_client_read(client, GPUMON_PART_ALL, (uint32_t)period.closed.v, model, err))
		return -1;
	if (settings->reset)
		gpumon_stat_close(model, &period);
	gpumon_containers_resolve(settings->containers, model);
	return 0;
}

static int stat_once(struct gpumon_context *context, struct gpumon_client *client,
		     const struct settings *settings, const struct gpumon_term *term,
		     struct gpumon_error *err)
{
	struct gpumon_model model = { 0 };
	int ret = read_model(client, settings, &model, err);

	if (!ret)
		ret = show(context, settings, term, &model, err);
	gpumon_model_free(&model);
	return ret;
}

/* What happened from @before to now; @before becomes now. */
static int stat_step(struct gpumon_context *context, struct gpumon_client *client,
		     const struct settings *settings, const struct gpumon_term *term,
		     struct gpumon_model *before, struct gpumon_error *err)
{
	struct gpumon_model now = { 0 }, diff = { 0 };
	int ret = read_model(client, settings, &now, err);

	if (!ret && settings->reset) {
		/* The closed period is the difference already, exact to the last event. */
		if (now.info.now_ns.v > now.info.since_ns.v)
			now.interval_ns = now.info.now_ns.v - now.info.since_ns.v;
		ret = show(context, settings, term, &now, err);
	} else if (!ret && gpumon_model_diff(&diff, before, &now)) {
		ret = gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, "memory", "out of memory");
	} else if (!ret) {
		ret = show(context, settings, term, &diff, err);
	}
	gpumon_model_free(&diff);
	gpumon_model_free(before);
	*before = now;
	return ret;
}

static int stat_repeat(struct gpumon_context *context, struct gpumon_client *client,
		       const struct settings *settings, const struct gpumon_term *term,
		       struct gpumon_error *err)
{
	struct gpumon_model before = { 0 };
	uint64_t due = gpumon_monotonic_ns();
	int ret = read_model(client, settings, &before, err);

	gpumon_signals_catch();
	for (uint64_t i = 0; !ret && (!settings->count || i < settings->count); i++) {
		due += settings->interval_ns;
		/* A machine that was asleep or too slow does not catch up on what it missed. */
		if (due < gpumon_monotonic_ns())
			due = gpumon_monotonic_ns();
		if (!gpumon_sleep_until(due))
			break;
		ret = stat_step(context, client, settings, term, &before, err);
	}
	gpumon_model_free(&before);
	return ret;
}

static int stat_run(struct gpumon_context *context, int argc, char **argv)
{
	struct settings settings = { 0 };
	struct gpumon_client *client;
	struct gpumon_model groups = { 0 };
	struct gpumon_error err = { 0 };
	struct gpumon_term term;
	int ret = parse_options(context, argc, argv, &settings);

	if (ret)
		return ret == GPUMON_OPTION_HELP ? GPUMON_EXIT_OK : GPUMON_EXIT_USAGE;
	gpumon_term_get(&term, context->out);
	/* Without memory for it the containers are unknown, and the rest is shown. */
	settings.containers = gpumon_containers_new(context->root);

	ret = gpumon_client_open(&client, &err);
	/* Before a reset: a wrong name must not cost the counts. */
	if (!ret && settings.group) {
		ret = gpumon_client_read(client, GPUMON_PART_GROUPS, 0, &groups, &err);
		if (!ret)
			ret = check_group(&settings, &groups, &err);
		gpumon_model_free(&groups);
	}
	if (!ret)
		ret = settings.interval_ns ? stat_repeat(context, client, &settings, &term, &err) :
					     stat_once(context, client, &settings, &term, &err);
	gpumon_client_close(client);
	gpumon_containers_free(settings.containers);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}

const struct gpumon_command gpumon_command_stat = {
	.name = "stat",
	.summary = "Show what was counted: probes, rings, tables of the drivers, processes, losses",
	.usage = "[--json] [--interval TIME [--count N]] [--group NAME] [--reset]",
	.help = "Tables of a driver are named GROUP.TABLE. Of a histogram there are the number of values\n"
		"(-N), percentiles and the highest value; of a level what it is now and was at most (-MAX).\n"
		"\"-\" is unknown. Without --group, probes are left out of groups that are off or wait for\n"
		"their module. CONTAINER is the beginning of a container's id or its name, and outside of\n"
		"containers the path of the cgroup; IN-CONTAINER is the pid in there.\n"
		"\n"
		"Options:\n"
		"      --json             one JSON document (a line each with --interval)\n"
		"  -i, --interval TIME    what changed in each TIME (1, 0.5, 200ms), until stopped\n"
		"  -n, --count N          stop after N intervals\n"
		"  -g, --group NAME       only this group\n"
		"      --reset            begin a new period and show the one that ended, exactly\n",
	.run = stat_run,
};
