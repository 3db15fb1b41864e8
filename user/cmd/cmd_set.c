// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver/client.h"
#include "driver/source.h"
#include "commands.h"
#include "lib/format.h"
#include "driver/json_model.h"
#include "lib/options.h"
#include "lib/privileges.h"

/* Limits as in Documentation/netlink/specs/gpumon.yaml. */
#define EVENT_RING_KIB_MIN 8
#define EVENT_RING_KIB_MAX 65536

#define LIMIT_MS_MAX 86400000
#define NS_PER_MS    1000000

#define MAX_GROUPS 32

struct settings {
	struct {
		const char *name;
		bool on;
	} groups[MAX_GROUPS];
	size_t n_groups;
	int event_ring;	   /* 1, 0, or -1: not given */
	uint64_t size_kib; /* 0: not given */
	struct gpumon_limits limits;
};

static int parse_on_off(const char *text)
{
	if (!strcmp(text, "on"))
		return 1;
	return strcmp(text, "off") ? -1 : 0;
}

/* The limit that an operand names, or NULL. */
static struct gpumon_value *limit_of(struct gpumon_limits *limits, const char *name)
{
	if (!strcmp(name, "hang"))
		return &limits->hang_ms;
	return strcmp(name, "starved") != 0 ? NULL : &limits->starved_ms;
}

/* "hang 5s", "starved off" */
static int parse_limit(struct gpumon_context *context, const char *name, const char *text,
		       struct gpumon_value *limit)
{
	uint64_t ns = 0;

	if (strcmp(text, "off") != 0 && gpumon_argument_duration(context, name, text, &ns))
		return -1;
	if (ns / NS_PER_MS > LIMIT_MS_MAX)
		return gpumon_usage(context, "%s: at most 24h", name);
	*limit = gpumon_value_of((ns + NS_PER_MS - 1) / NS_PER_MS);
	return 0;
}

static int parse_operands(struct gpumon_context *context, int n, char **operands,
			  struct settings *settings)
{
	for (int i = 0; i < n; i += 2) {
		int on = i + 1 < n ? parse_on_off(operands[i + 1]) : -1;
		struct gpumon_value *limit = limit_of(&settings->limits, operands[i]);

		if (i + 1 == n)
			return gpumon_usage(context, "\"%s\" wants %s or off after it", operands[i],
					    limit ? "a time" : "on");
		if (limit) {
			if (parse_limit(context, operands[i], operands[i + 1], limit))
				return -1;
			continue;
		}
		if (on < 0)
			return gpumon_usage(context, "\"%s\" after \"%s\" is neither on nor off",
					    operands[i + 1], operands[i]);
		if (!strcmp(operands[i], "event-ring")) {
			settings->event_ring = on;
			continue;
		}
		if (settings->n_groups == MAX_GROUPS)
			return gpumon_usage(context, "more than %d groups", MAX_GROUPS);
		settings->groups[settings->n_groups].name = operands[i];
		settings->groups[settings->n_groups++].on = on;
	}
	if (!n)
		return gpumon_usage(context, "nothing to set");
	if (settings->size_kib && settings->event_ring < 0)
		return gpumon_usage(context, "--size goes with event-ring");
	return 0;
}

static int take_size(struct gpumon_context *context, const char *text, void *value)
{
	return gpumon_argument_u64(context, "--size (KiB)", text, EVENT_RING_KIB_MIN,
				   EVENT_RING_KIB_MAX, value);
}

static int parse_options(struct gpumon_context *context, int argc, char **argv,
			 struct settings *settings)
{
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_OPTION_CALL("size", 's', &settings->size_kib, take_size),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_MIXED);

	settings->event_ring = -1;
	if (status == GPUMON_OPTIONS_GO_ON && parse_operands(context, argc, argv, settings))
		status = GPUMON_EXIT_USAGE;
	return status;
}

/* Look up every name before changing anything. */
static int check_groups(const struct settings *settings, const struct gpumon_model *before,
			struct gpumon_error *err)
{
	for (size_t i = 0; i < settings->n_groups; i++) {
		if (gpumon_source_check_group(before, settings->groups[i].name, err))
			return -1;
	}
	return 0;
}

/* Restore the first @n groups. The original failure is the one to report. */
static void undo_settings(struct gpumon_client *client, const struct settings *settings, size_t n,
			  const struct gpumon_model *before)
{
	struct gpumon_error ignored;

	while (n--) {
		const struct gpumon_group *group =
			gpumon_model_group(before, settings->groups[n].name);

		if (group && group->enabled.known)
			(void)gpumon_client_group_set(client, group->name, group->enabled.v != 0,
						      &ignored);
	}
}

static bool has_limits(const struct settings *settings)
{
	return settings->limits.hang_ms.known || settings->limits.starved_ms.known;
}

static int apply_settings(struct gpumon_client *client, const struct settings *settings,
			  struct gpumon_error *err)
{
	struct gpumon_model before = { 0 };
	struct gpumon_error ignored;
	struct gpumon_limits limits;
	bool limited = false;
	size_t done = 0;
	int ret;

	ret = gpumon_client_read(client, GPUMON_PART_GROUPS, 0, &before, err);
	if (!ret)
		ret = check_groups(settings, &before, err);
	while (!ret && done < settings->n_groups) {
		ret = gpumon_client_group_set(client, settings->groups[done].name,
					      settings->groups[done].on, err);
		if (!ret)
			done++;
	}
	if (!ret && has_limits(settings)) {
		ret = gpumon_client_limits_get(client, &limits, err);
		if (!ret)
			ret = gpumon_client_limits_set(client, &settings->limits, err);
		limited = !ret;
	}
	if (!ret && settings->event_ring >= 0)
		ret = gpumon_client_event_ring_set(client, settings->event_ring,
						   (uint32_t)settings->size_kib, err);
	if (ret && limited)
		(void)gpumon_client_limits_set(client, &limits, &ignored);
	if (ret)
		undo_settings(client, settings, done, &before);
	gpumon_model_free(&before);
	return ret;
}

static int show_json(struct gpumon_context *context, const struct settings *settings,
		     const struct gpumon_model *model, const struct gpumon_limits *limits)
{
	struct json_object *document = gpumon_json_object();
	struct json_object *groups = gpumon_json_array();

	for (size_t i = 0; i < settings->n_groups; i++) {
		const struct gpumon_group *group =
			gpumon_model_group(model, settings->groups[i].name);

		if (group)
			gpumon_json_append(groups, gpumon_json_group(group));
	}
	gpumon_json_add(document, "groups", groups);
	gpumon_json_add(document, "event_ring", gpumon_json_event_ring(&model->event_ring));
	gpumon_json_add(document, "limits", gpumon_json_limits(limits));
	return gpumon_json_print(document, true, context->out);
}

static void show_limit(struct gpumon_context *context, const char *name, bool asked,
		       struct gpumon_value limit)
{
	if (!asked)
		return;
	if (limit.known && !limit.v)
		fprintf(context->out, "%s: off\n", name);
	else
		fprintf(context->out, "%s: %" PRIu64 " ms\n", name, limit.v);
}

static void show_text(struct gpumon_context *context, const struct settings *settings,
		      const struct gpumon_model *model, const struct gpumon_limits *limits)
{
	char name[64], reason[256], size[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < settings->n_groups; i++) {
		const struct gpumon_group *group =
			gpumon_model_group(model, settings->groups[i].name);

		if (!group)
			continue;
		fprintf(context->out, "%s: %s%s%s\n",
			gpumon_format_name(name, sizeof(name), group->name),
			gpumon_attach_state_name(group->state),
			group->reason && *group->reason ? ", " : "",
			gpumon_format_name(reason, sizeof(reason),
					   group->reason ? group->reason : ""));
	}
	if (settings->event_ring >= 0)
		fprintf(context->out, "event-ring: %s, %s KiB a CPU\n",
			!model->event_ring.enabled.known ? "unknown" :
			model->event_ring.enabled.v	 ? "on" :
							   "off",
			gpumon_format_count(size, sizeof(size), model->event_ring.size_kib));
	show_limit(context, "hang", settings->limits.hang_ms.known, limits->hang_ms);
	show_limit(context, "starved", settings->limits.starved_ms.known, limits->starved_ms);
}

static int set_run(struct gpumon_context *context, int argc, char **argv)
{
	struct settings settings = { 0 };
	struct gpumon_client *client;
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };
	struct gpumon_limits limits = { 0 };
	int ret = parse_options(context, argc, argv, &settings);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;

	ret = gpumon_client_open(&client, &err);
	if (!ret)
		ret = apply_settings(client, &settings, &err);
	/* Show the state that the kernel reports, not the requested one. */
	if (!ret)
		ret = gpumon_client_read(client, GPUMON_PART_GROUPS | GPUMON_PART_EVENT_RING, 0,
					 &model, &err);
	if (!ret)
		ret = gpumon_client_limits_get(client, &limits, &err);
	if (!ret && !context->json)
		show_text(context, &settings, &model, &limits);
	else if (!ret && show_json(context, &settings, &model, &limits))
		ret = gpumon_error_output(&err);
	gpumon_model_free(&model);
	gpumon_client_close(client);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}

const struct gpumon_command gpumon_command_set = {
	.name = "set",
	.summary = "Switch groups of probes, the event ring, and alerts for jobs that hang",
	.usage = "[--json] {{GROUP|event-ring} {on|off} | {hang|starved} {TIME|off}}… [--size KIB]",
	.help = GPUMON_HELP(
		"All of it is done, or nothing. \"hang\" and \"starved\" are limits: there is an alert for each\n"
		"job that is on the hardware, or waits in its queue, for longer (5s, 500ms, ...).\n\n"
		"Options:\n"
		"      --json             the new state as JSON\n"
		"  -s, --size KIB         size of the event ring for each CPU, 8 to 65536;\n"
		"                         it can only be changed while the ring is off\n"),
	.privileges = GPUMON_PRIVILEGE_MODULE,
	.run = set_run,
};
