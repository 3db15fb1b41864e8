// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alert_message.h"
#include "json_model.h"
#include "lib/memory.h"
#include "lib/utf8.h"
#include "model_fields.h"
#include "usage.h"

static void add_string_field(struct json_object *object, const struct gpumon_field *field,
			     const char *text)
{
	switch (field->meaning) {
	case GPUMON_FIELD_REASON:
		text = text ? text : "";
		break;
	case GPUMON_FIELD_DEVICE:
		text = text && strcmp(text, "-") != 0 ? text : NULL;
		break;
	case GPUMON_FIELD_SOURCE:
		text = text ? text : "kmod";
		break;
	default:
		break;
	}
	gpumon_json_add_string(object, field->name, text);
}

static void add_number_field(struct json_object *object, const struct gpumon_field *field,
			     struct gpumon_value value)
{
	switch (field->meaning) {
	case GPUMON_FIELD_BOOLEAN:
		if (value.known)
			gpumon_json_add_bool(object, field->name, value.v != 0);
		else
			gpumon_json_add_null(object, field->name);
		break;
	case GPUMON_FIELD_STATE:
		gpumon_json_add_string(object, field->name, gpumon_attach_state_name(value));
		break;
	case GPUMON_FIELD_PROBE_KIND:
		gpumon_json_add_string(object, field->name, gpumon_probe_kind_name(value));
		break;
	default:
		gpumon_json_add_value(object, field->name, value);
	}
}

/* An object of the fields of a structure. More may be added behind them. */
static struct json_object *json_fields(const struct gpumon_fields *fields, const void *of)
{
	struct json_object *object = gpumon_json_object();

	for (size_t i = 0; i < fields->n; i++) {
		const struct gpumon_field *field = &fields->at[i];
		const void *at = (const char *)of + field->offset;

		if (field->kind == GPUMON_FIELD_STRING || field->kind == GPUMON_FIELD_CONSTANT)
			add_string_field(object, field, *(const char *const *)at);
		else
			add_number_field(object, field, *(const struct gpumon_value *)at);
	}
	return object;
}

static struct json_object *json_histogram(const struct gpumon_histogram *histogram)
{
	const struct gpumon_histogram unknown = { 0 };
	struct json_object *object = gpumon_json_object();
	struct json_object *buckets = gpumon_json_array();

	if (!histogram)
		histogram = &unknown;
	gpumon_json_add_value(object, "count", histogram->count);
	gpumon_json_add_value(object, "sum", histogram->sum);
	gpumon_json_add_value(object, "min", histogram->min);
	gpumon_json_add_value(object, "max", histogram->max);
	gpumon_json_add_value(object, "p50", gpumon_histogram_percentile(histogram, 500));
	gpumon_json_add_value(object, "p90", gpumon_histogram_percentile(histogram, 900));
	gpumon_json_add_value(object, "p99", gpumon_histogram_percentile(histogram, 990));
	for (size_t i = 0; i < histogram->n_buckets; i++) {
		struct json_object *bucket = gpumon_json_object();

		gpumon_json_add_u64(bucket, "ge", histogram->buckets[i].ge);
		gpumon_json_add_u64(bucket, "lt", histogram->buckets[i].lt);
		gpumon_json_add_u64(bucket, "count", histogram->buckets[i].count);
		gpumon_json_append(buckets, bucket);
	}
	gpumon_json_add(object, "buckets", buckets);
	return object;
}

static struct json_object *json_parts(unsigned int parts)
{
	static const struct {
		unsigned int part;
		const char *name;
	} names[] = {
		{ GPUMON_PART_GROUPS, "groups" },	  { GPUMON_PART_RINGS, "rings" },
		{ GPUMON_PART_HISTOGRAMS, "histograms" }, { GPUMON_PART_PROCESSES, "processes" },
		{ GPUMON_PART_STATISTICS, "statistics" }, { GPUMON_PART_LAYOUTS, "layouts" },
		{ GPUMON_PART_ALERTS, "alerts" },
	};
	struct json_object *array = gpumon_json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (parts & names[i].part)
			gpumon_json_append(array, gpumon_json_string(names[i].name));
	return array;
}

static struct json_object *json_info(const struct gpumon_model *model)
{
	struct json_object *object = json_fields(&gpumon_info_fields, &model->info);
	struct json_object *missing = gpumon_json_array();

	gpumon_json_add(object, "exited", json_fields(&gpumon_process_counts, &model->info.exited));
	for (size_t i = 0; i < model->info.n_missing_options; i++)
		gpumon_json_append(missing, json_fields(&gpumon_missing_option_fields,
							&model->info.missing_options[i]));
	gpumon_json_add(object, "missing_options", missing);
	gpumon_json_add(object, "inconsistent", json_parts(model->inconsistent));
	gpumon_json_add_value(object, "sched_policy", model->sched_policy);
	gpumon_json_add_string(object, "sched_policy_name",
			       gpumon_sched_policy_name(model->sched_policy));
	/* Only a difference has these keys: they show that the counts are differences. */
	if (model->interval_ns) {
		gpumon_json_add_u64(object, "interval_ns", model->interval_ns);
		gpumon_json_add_bool(object, "reset_between", model->reset_between);
	}
	return object;
}

struct json_object *gpumon_json_group(const struct gpumon_group *group)
{
	struct json_object *object = json_fields(&gpumon_group_fields, group);
	struct json_object *probes = gpumon_json_array();

	for (size_t i = 0; i < group->n_probes; i++) {
		struct json_object *probe = json_fields(&gpumon_probe_fields, &group->probes[i]);

		gpumon_json_add(probe, "dropped",
				json_fields(&gpumon_drops_fields, &group->probes[i].dropped));
		gpumon_json_append(probes, probe);
	}
	gpumon_json_add(object, "probes", probes);
	return object;
}

static struct json_object *json_depth(struct gpumon_value now, struct gpumon_value max)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_value(object, "now", now);
	gpumon_json_add_value(object, "max", max);
	return object;
}

/* @parallel: it runs several jobs at once */
static struct json_object *json_ring(const struct gpumon_model *model,
				     const struct gpumon_ring *ring, bool parallel)
{
	struct json_object *object = json_fields(&gpumon_ring_fields, ring);
	uint64_t id = ring->id.known ? ring->id.v : UINT64_MAX;

	gpumon_json_add_bool(object, "parallel", parallel);
	gpumon_json_add(object, "queue_depth",
			json_depth(ring->queue_depth, ring->queue_depth_max));
	gpumon_json_add(object, "hw_depth", json_depth(ring->hw_depth, ring->hw_depth_max));
	gpumon_json_add(object, "queue_ns",
			json_histogram(gpumon_model_histogram(model, id, "queue_ns")));
	gpumon_json_add(object, "run_ns",
			json_histogram(gpumon_model_histogram(model, id, "run_ns")));
	return object;
}

static void add_drm_sched(struct json_object *document, const struct gpumon_model *model,
			  const struct gpumon_usage *usage)
{
	struct json_object *drm_sched = gpumon_json_object();
	struct json_object *rings = gpumon_json_array();

	for (size_t i = 0; i < model->n_rings; i++)
		gpumon_json_append(rings, json_ring(model, &model->rings[i], usage->parallel[i]));
	gpumon_json_add(drm_sched, "rings", rings);
	gpumon_json_add(document, "drm_sched", drm_sched);
}

/* Self-describing tables: their names come from messages. */

static void add_named(struct json_object *object, const char *name, struct json_object *value)
{
	char *key = gpumon_utf8_copy(name ? name : "-");

	gpumon_json_add(object, key, value);
	free(key);
}

static void add_named_value(struct json_object *object, const char *name, struct gpumon_value value)
{
	char *key = gpumon_utf8_copy(name ? name : "-");

	gpumon_json_add_value(object, key, value);
	free(key);
}

/* A number if the label is one, otherwise the text. */
static void add_label(struct json_object *object, const struct gpumon_label *label)
{
	unsigned long long number;
	char *end;

	if (label->number && label->value && isdigit((unsigned char)label->value[0])) {
		errno = 0;
		number = strtoull(label->value, &end, 10);
		if (!*end && !errno) {
			add_named_value(object, label->name, gpumon_value_of(number));
			return;
		}
	}
	if (label->value)
		add_named(object, label->name, gpumon_json_string(label->value));
	else
		add_named_value(object, label->name, (struct gpumon_value){ 0 });
}

static struct json_object *json_gauge(const struct gpumon_column *column)
{
	struct json_object *object = gpumon_json_object();

	if (column->level.known)
		gpumon_json_add_i64(object, "now", column->level.v);
	else
		gpumon_json_add_null(object, "now");
	gpumon_json_add_value(object, "max", column->highest);
	return object;
}

static void add_column(struct json_object *object, const struct gpumon_column *column)
{
	switch (column->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		add_named(object, column->name, json_gauge(column));
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		add_named(object, column->name, json_histogram(&column->histogram));
		break;
	default:
		add_named_value(object, column->name, column->value);
	}
}

static struct json_object *json_row(const struct gpumon_row *row)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_value(object, "row", row->number);
	for (size_t i = 0; i < row->n_labels; i++)
		add_label(object, &row->labels[i]);
	for (size_t i = 0; i < row->n_columns; i++)
		add_column(object, &row->columns[i]);
	return object;
}

/* The object of a group, created on first use. */
static struct json_object *group_object(struct json_object *document, const char *group)
{
	struct json_object *object = NULL;
	char *key = gpumon_utf8_copy(group);

	if (!json_object_object_get_ex(document, key, &object) ||
	    !json_object_is_type(object, json_type_object)) {
		object = gpumon_json_object();
		gpumon_json_add(document, key, object);
	}
	free(key);
	return object;
}

static void add_tables(struct json_object *document, const struct gpumon_model *model,
		       const char *group)
{
	/* Every group has a key, so that a program can test whether it has a table. */
	for (size_t i = 0; i < model->n_groups; i++) {
		const char *name = model->groups[i].name;

		if (name && (!group || gpumon_same_text(name, group)))
			group_object(document, name);
	}
	for (size_t i = 0; i < model->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &model->statistics[i];
		struct json_object *rows;

		if (!statistics->group || !statistics->table ||
		    (group && !gpumon_same_text(statistics->group, group)))
			continue;
		rows = gpumon_json_array();
		for (size_t k = 0; k < statistics->n_rows; k++)
			gpumon_json_append(rows, json_row(&statistics->rows[k]));
		add_named(group_object(document, statistics->group), statistics->table, rows);
	}
}

struct json_object *gpumon_json_alert(const struct gpumon_alert *alert)
{
	return json_fields(&gpumon_alert_fields, alert);
}

static int read_string_field(const struct gpumon_field *field, struct json_object *value, void *at)
{
	static const char *const sources[] = { GPUMON_ALERT_SOURCE_BPF, GPUMON_ALERT_SOURCE_LOG,
					       GPUMON_ALERT_SOURCE_RAS };
	const char *text = value ? json_object_get_string(value) : NULL;

	if (value && !json_object_is_type(value, json_type_string))
		return -1;
	if (field->kind == GPUMON_FIELD_STRING)
		*(char **)at = text ? gpumon_strdup(text) : NULL;
	for (size_t i = 0; text && field->meaning == GPUMON_FIELD_SOURCE && i < 3; i++)
		if (!strcmp(text, sources[i]))
			*(const char **)at = sources[i];
	return 0;
}

int gpumon_json_read_alert(struct json_object *object, struct gpumon_alert *alert)
{
	for (size_t i = 0; i < gpumon_alert_fields.n; i++) {
		const struct gpumon_field *field = &gpumon_alert_fields.at[i];
		void *at = (char *)alert + field->offset;
		struct json_object *value;

		if (!json_object_object_get_ex(object, field->name, &value))
			return -1;
		if (field->kind == GPUMON_FIELD_STRING || field->kind == GPUMON_FIELD_CONSTANT) {
			if (read_string_field(field, value, at))
				return -1;
		} else if (value) {
			if (!json_object_is_type(value, json_type_int))
				return -1;
			*(struct gpumon_value *)at = gpumon_value_of(json_object_get_uint64(value));
		}
	}
	if (gpumon_same_text(alert->kind, "xid"))
		alert->meaning = gpumon_xid_meaning(alert->code.v);
	return 0;
}

static void add_layouts_and_alerts(struct json_object *document, const struct gpumon_model *model,
				   const char *group)
{
	struct json_object *layouts = gpumon_json_array();
	struct json_object *alerts = gpumon_json_array();

	for (size_t i = 0; i < model->n_layouts; i++)
		if (!group || gpumon_same_text(model->layouts[i].group, group))
			gpumon_json_append(layouts,
					   json_fields(&gpumon_layout_fields, &model->layouts[i]));
	for (size_t i = 0; i < model->n_alerts; i++)
		if (!group || gpumon_same_text(model->alerts[i].group, group))
			gpumon_json_append(alerts, gpumon_json_alert(&model->alerts[i]));
	gpumon_json_add(document, "layouts", layouts);
	gpumon_json_add(document, "alerts", alerts);
}

/* @sum of rows of drm_sched.usage */
static void add_usage(struct json_object *object, const struct gpumon_usage_sum *sum)
{
	gpumon_json_add_value(object, "gpu_ns", sum->gpu_ns);
	gpumon_json_add_value(object, "queue_ns", sum->queue_ns);
	gpumon_json_add_value(object, "errors", sum->errors);
}

static void add_processes(struct json_object *document, const struct gpumon_model *model,
			  const struct gpumon_usage *usage)
{
	struct json_object *processes = gpumon_json_array();

	for (size_t i = 0; i < model->n_processes; i++) {
		struct json_object *object =
			json_fields(&gpumon_process_fields, &model->processes[i]);

		add_usage(object, &usage->processes[i].sum);
		gpumon_json_append(processes, object);
	}
	gpumon_json_add(document, "processes", processes);
}

static void add_cgroups(struct json_object *document, const struct gpumon_usage *usage)
{
	struct json_object *cgroups = gpumon_json_array();

	for (size_t i = 0; i < usage->n_groups; i++) {
		const struct gpumon_usage_group *group = &usage->groups[i];
		struct json_object *object = gpumon_json_object();

		gpumon_json_add_string(object, "container", group->container);
		gpumon_json_add_string(object, "cgroup", group->path);
		gpumon_json_add_value(object, "cgroup_id", group->cgroup_id);
		gpumon_json_add_u64(object, "processes", group->processes);
		gpumon_json_add_value(object, "jobs", group->total.sum.jobs);
		gpumon_json_add_value(object, "vram_bytes", group->vram_bytes);
		gpumon_json_add_value(object, "live_object_bytes", group->live_object_bytes);
		gpumon_json_add_value(object, "dmem_bytes", group->dmem_bytes);
		add_usage(object, &group->total.sum);
		gpumon_json_append(cgroups, object);
	}
	gpumon_json_add(document, "cgroups", cgroups);
}

static void add_dmem(struct json_object *document, const struct gpumon_model *model)
{
	struct json_object *dmem = gpumon_json_array();

	for (size_t i = 0; i < model->n_dmem; i++)
		gpumon_json_append(dmem, json_fields(&gpumon_dmem_fields, &model->dmem[i]));
	gpumon_json_add(document, "dmem", dmem);
}

static void add_devices(struct json_object *document, const struct gpumon_model *model)
{
	struct json_object *devices = gpumon_json_array();

	for (size_t i = 0; i < model->n_devices; i++)
		gpumon_json_append(devices, json_fields(&gpumon_device_fields, &model->devices[i]));
	gpumon_json_add(document, "devices", devices);
}

struct json_object *gpumon_json_limits(const struct gpumon_limits *limits)
{
	return json_fields(&gpumon_limits_fields, limits);
}

struct json_object *gpumon_json_event_ring(const struct gpumon_event_ring *ring)
{
	return json_fields(&gpumon_event_ring_fields, ring);
}

struct json_object *gpumon_json_model(const struct gpumon_model *model, const char *group)
{
	struct json_object *document = gpumon_json_object();
	struct json_object *groups = gpumon_json_array();
	struct gpumon_usage usage;

	gpumon_usage_init(&usage, model);
	for (size_t i = 0; i < model->n_groups; i++)
		if (!group || gpumon_same_text(model->groups[i].name, group))
			gpumon_json_append(groups, gpumon_json_group(&model->groups[i]));
	gpumon_json_add(document, "gpumon", json_info(model));
	gpumon_json_add(document, "groups", groups);
	if (!group || !strcmp(group, "drm_sched"))
		add_drm_sched(document, model, &usage);
	add_tables(document, model, group);
	add_layouts_and_alerts(document, model, group);
	/* Processes belong to no single group. */
	add_processes(document, model, &usage);
	add_cgroups(document, &usage);
	add_dmem(document, model);
	add_devices(document, model);
	gpumon_json_add(document, "event_ring", gpumon_json_event_ring(&model->event_ring));
	gpumon_usage_clear(&usage);
	return document;
}
