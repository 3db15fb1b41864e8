// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* JSON of the self-describing tables, of layouts and alerts. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_model.h"
#include "lib/utf8.h"

/* As gpumon_json_add(), with a name from a message. */
static int add_named(struct json_object *object, const char *name, struct json_object *value)
{
	char *key = gpumon_utf8_copy(name ? name : "-");
	int ret = key ? gpumon_json_add(object, key, value) : -1;

	if (!key)
		json_object_put(value);
	free(key);
	return ret;
}

/* Unknown becomes null. That is not an error. */
static int add_named_value(struct json_object *object, const char *name, struct gpumon_value value)
{
	char *key = gpumon_utf8_copy(name ? name : "-");
	int ret = key ? gpumon_json_add_value(object, key, value) : -1;

	free(key);
	return ret;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* A number if the label is one, otherwise the text. */
static int add_label(struct json_object *object, const struct gpumon_label *label)
{
	unsigned long long number;
	char *end;

	if (label->number && label->value && isdigit((unsigned char)label->value[0])) {
		errno = 0;
		number = strtoull(label->value, &end, 10);
		if (!*end && !errno)
			return add_named_value(object, label->name, gpumon_value_of(number));
	}
	return label->value ? add_named(object, label->name, gpumon_json_string(label->value)) :
			      add_named_value(object, label->name, (struct gpumon_value){ 0 });
}

static struct json_object *json_gauge(const struct gpumon_column *column)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = (column->level.known ?
			  gpumon_json_add_i64(object, "now", column->level.v) :
			  gpumon_json_add_value(object, "now", (struct gpumon_value){ 0 })) ||
		 gpumon_json_add_value(object, "max", column->highest);
	return gpumon_json_finish(object, failed);
}

static int add_column(struct json_object *object, const struct gpumon_column *column)
{
	switch (column->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		return add_named(object, column->name, json_gauge(column));
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		return add_named(object, column->name, gpumon_json_histogram(&column->histogram));
	default:
		return add_named_value(object, column->name, column->value);
	}
}

static struct json_object *json_row(const struct gpumon_row *row)
{
	struct json_object *object = json_object_new_object();
	bool failed = gpumon_json_add_value(object, "row", row->number) != 0;

	for (size_t i = 0; i < row->n_labels && !failed; i++)
		failed = add_label(object, &row->labels[i]) != 0;
	for (size_t i = 0; i < row->n_columns && !failed; i++)
		failed = add_column(object, &row->columns[i]) != 0;
	return gpumon_json_finish(object, failed);
}

/* The object of a group, created on first use. */
static struct json_object *group_object(struct json_object *document, const char *group)
{
	struct json_object *object = NULL;
	char *key = gpumon_utf8_copy(group);

	if (key && (!json_object_object_get_ex(document, key, &object) ||
		    !json_object_is_type(object, json_type_object))) {
		object = json_object_new_object();
		if (gpumon_json_add(document, key, object))
			object = NULL;
	}
	free(key);
	return object;
}

static int add_tables(struct json_object *document, const struct gpumon_model *model,
		      const char *group)
{
	/* Every group has a key, so that a program can test whether it has a table. */
	for (size_t i = 0; i < model->n_groups; i++) {
		const char *name = model->groups[i].name;

		if (name && (!group || same_text(name, group)) && !group_object(document, name))
			return -1;
	}
	for (size_t i = 0; i < model->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &model->statistics[i];
		struct json_object *rows;
		bool failed = false;

		if (!statistics->group || !statistics->table ||
		    (group && !same_text(statistics->group, group)))
			continue;
		rows = json_object_new_array();
		for (size_t k = 0; k < statistics->n_rows && !failed; k++)
			failed = gpumon_json_append(rows, json_row(&statistics->rows[k])) != 0;
		failed |= add_named(group_object(document, statistics->group), statistics->table,
				    rows) != 0;
		if (failed)
			return -1;
	}
	return 0;
}

static struct json_object *json_layout(const struct gpumon_layout *layout)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_string(object, "group", layout->group) ||
		 gpumon_json_add_string(object, "module", layout->module) ||
		 gpumon_json_add_string(object, "type", layout->type) ||
		 gpumon_json_add_string(object, "member", layout->member) ||
		 gpumon_json_add_value(object, "offset", layout->offset) ||
		 gpumon_json_add_value(object, "size", layout->size) ||
		 gpumon_json_add_string(object, "reason", layout->reason ? layout->reason : "");
	return gpumon_json_finish(object, failed);
}

/* The module sends "-" for an unknown device. */
static const char *known_name(const char *name)
{
	return name && strcmp(name, "-") != 0 ? name : NULL;
}

struct json_object *gpumon_json_alert(const struct gpumon_alert *alert)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_value(object, "time_ns", alert->time_ns) ||
		 gpumon_json_add_string(object, "group", alert->group) ||
		 gpumon_json_add_string(object, "kind", alert->kind) ||
		 gpumon_json_add_string(object, "device", known_name(alert->device)) ||
		 gpumon_json_add_value(object, "code", alert->code) ||
		 gpumon_json_add_string(object, "message", alert->message) ||
		 gpumon_json_add_value(object, "count", alert->count) ||
		 gpumon_json_add_value(object, "lost", alert->lost) ||
		 gpumon_json_add_value(object, "forgotten", alert->forgotten);
	return gpumon_json_finish(object, failed);
}

int gpumon_json_statistics(struct json_object *document, const struct gpumon_model *model,
			   const char *group)
{
	struct json_object *layouts = json_object_new_array();
	struct json_object *alerts = json_object_new_array();
	bool failed = add_tables(document, model, group) != 0;

	for (size_t i = 0; i < model->n_layouts && !failed; i++) {
		if (!group || same_text(model->layouts[i].group, group))
			failed = gpumon_json_append(layouts, json_layout(&model->layouts[i])) != 0;
	}
	for (size_t i = 0; i < model->n_alerts && !failed; i++) {
		if (!group || same_text(model->alerts[i].group, group))
			failed = gpumon_json_append(alerts, gpumon_json_alert(&model->alerts[i])) !=
				 0;
	}
	failed |= gpumon_json_add(document, "layouts", layouts) != 0;
	failed |= gpumon_json_add(document, "alerts", alerts) != 0;
	return failed ? -1 : 0;
}
