// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The self-describing parts of the model: tables of statistics, layouts and alerts. */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "histogram.h"
#include "model.h"

struct gpumon_statistics *gpumon_model_add_statistics(struct gpumon_model *model)
{
	return GPUMON_GROW(model->statistics, model->n_statistics);
}

struct gpumon_row *gpumon_statistics_add_row(struct gpumon_statistics *statistics)
{
	return GPUMON_GROW(statistics->rows, statistics->n_rows);
}

struct gpumon_label *gpumon_row_add_label(struct gpumon_row *row)
{
	return GPUMON_GROW(row->labels, row->n_labels);
}

struct gpumon_column *gpumon_row_add_column(struct gpumon_row *row)
{
	return GPUMON_GROW(row->columns, row->n_columns);
}

struct gpumon_layout *gpumon_model_add_layout(struct gpumon_model *model)
{
	return GPUMON_GROW(model->layouts, model->n_layouts);
}

struct gpumon_alert *gpumon_model_add_alert(struct gpumon_model *model)
{
	return GPUMON_GROW(model->alerts, model->n_alerts);
}

void gpumon_row_clear(struct gpumon_row *row)
{
	for (size_t i = 0; i < row->n_labels; i++) {
		free(row->labels[i].name);
		free(row->labels[i].value);
	}
	for (size_t i = 0; i < row->n_columns; i++) {
		free(row->columns[i].name);
		gpumon_histogram_clear(&row->columns[i].histogram);
	}
	free(row->labels);
	free(row->columns);
	memset(row, 0, sizeof(*row));
}

void gpumon_layout_clear(struct gpumon_layout *layout)
{
	free(layout->group);
	free(layout->module);
	free(layout->type);
	free(layout->member);
	free(layout->reason);
	memset(layout, 0, sizeof(*layout));
}

void gpumon_alert_clear(struct gpumon_alert *alert)
{
	free(alert->group);
	free(alert->kind);
	free(alert->device);
	free(alert->message);
	memset(alert, 0, sizeof(*alert));
}

static void clear_table(struct gpumon_statistics *statistics)
{
	for (size_t k = 0; k < statistics->n_rows; k++)
		gpumon_row_clear(&statistics->rows[k]);
	free(statistics->rows);
	free(statistics->group);
	free(statistics->table);
}

void gpumon_model_remove_statistics(struct gpumon_model *model,
				    struct gpumon_statistics *statistics)
{
	size_t behind = (size_t)(model->statistics + model->n_statistics - statistics - 1);

	clear_table(statistics);
	memmove(statistics, statistics + 1, behind * sizeof(*statistics));
	model->n_statistics--;
}

static void clear_tables(struct gpumon_model *model)
{
	for (size_t i = 0; i < model->n_statistics; i++)
		clear_table(&model->statistics[i]);
	free(model->statistics);
	model->statistics = NULL;
	model->n_statistics = 0;
}

void gpumon_statistics_clear(struct gpumon_model *model, unsigned int parts)
{
	if (parts & GPUMON_PART_STATISTICS)
		clear_tables(model);
	if (parts & GPUMON_PART_LAYOUTS) {
		for (size_t i = 0; i < model->n_layouts; i++)
			gpumon_layout_clear(&model->layouts[i]);
		free(model->layouts);
		model->layouts = NULL;
		model->n_layouts = 0;
	}
	if (parts & GPUMON_PART_ALERTS) {
		for (size_t i = 0; i < model->n_alerts; i++)
			gpumon_alert_clear(&model->alerts[i]);
		free(model->alerts);
		model->alerts = NULL;
		model->n_alerts = 0;
	}
}

static bool same_string(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

struct gpumon_statistics *gpumon_model_statistics(const struct gpumon_model *model,
						  const char *group, const char *table)
{
	/* Search from the end: a dump continues its last table. */
	for (size_t i = model->n_statistics; i-- > 0;) {
		struct gpumon_statistics *statistics = &model->statistics[i];

		if (same_string(statistics->table, table) && same_string(statistics->group, group))
			return statistics;
	}
	return NULL;
}

struct gpumon_row *gpumon_statistics_row(const struct gpumon_statistics *statistics,
					 uint64_t number)
{
	for (size_t i = statistics->n_rows; i-- > 0;) {
		if (statistics->rows[i].number.known && statistics->rows[i].number.v == number)
			return &statistics->rows[i];
	}
	return NULL;
}

struct gpumon_column *gpumon_row_column(const struct gpumon_row *row, const char *name)
{
	for (size_t i = 0; i < row->n_columns; i++) {
		if (same_string(row->columns[i].name, name))
			return &row->columns[i];
	}
	return NULL;
}

static bool same_labels(const struct gpumon_row *a, const struct gpumon_row *b)
{
	if (a->n_labels != b->n_labels)
		return false;
	for (size_t i = 0; i < a->n_labels; i++) {
		if (!same_string(a->labels[i].name, b->labels[i].name) ||
		    !same_string(a->labels[i].value, b->labels[i].value))
			return false;
	}
	return true;
}

static int diff_column(struct gpumon_row *row, const struct gpumon_column *before,
		       const struct gpumon_column *after)
{
	static const struct gpumon_histogram nothing = {
		.count = { .known = true },
		.sum = { .known = true },
	};
	const struct gpumon_histogram *histogram = before ? &before->histogram : &nothing;
	struct gpumon_column *column = gpumon_row_add_column(row);

	if (!column)
		return -1;
	*column = *after;
	memset(&column->histogram, 0, sizeof(column->histogram));
	if (gpumon_copy_string(&column->name, after->name))
		return -1;
	if (before)
		column->value = gpumon_value_subtract(after->value, before->value);
	if (!after->histogram.count.known || !histogram->count.known)
		return 0;
	/* Fewer values than before: the row restarted. */
	if (after->histogram.count.v < histogram->count.v)
		histogram = &nothing;
	return gpumon_histogram_subtract(&column->histogram, histogram, &after->histogram);
}

static int diff_row(struct gpumon_statistics *statistics, const struct gpumon_row *before,
		    const struct gpumon_row *after)
{
	struct gpumon_row *row = gpumon_statistics_add_row(statistics);

	if (!row)
		return -1;
	row->number = after->number;
	for (size_t i = 0; i < after->n_labels; i++) {
		struct gpumon_label *label = gpumon_row_add_label(row);

		if (!label || gpumon_copy_string(&label->name, after->labels[i].name) ||
		    gpumon_copy_string(&label->value, after->labels[i].value))
			return -1;
		label->number = after->labels[i].number;
	}
	if (before && !same_labels(before, after))
		before = NULL;
	for (size_t i = 0; i < after->n_columns; i++) {
		const struct gpumon_column *column = &after->columns[i], *old = NULL;

		if (before && column->name)
			old = gpumon_row_column(before, column->name);
		if (diff_column(row, old, column))
			return -1;
	}
	return 0;
}

static int diff_table(struct gpumon_model *diff, const struct gpumon_statistics *before,
		      const struct gpumon_statistics *after)
{
	struct gpumon_statistics *statistics = gpumon_model_add_statistics(diff);

	if (!statistics || gpumon_copy_string(&statistics->group, after->group) ||
	    gpumon_copy_string(&statistics->table, after->table))
		return -1;
	for (size_t i = 0; i < after->n_rows; i++) {
		const struct gpumon_row *row = &after->rows[i], *old = NULL;

		if (before && row->number.known)
			old = gpumon_statistics_row(before, row->number.v);
		if (diff_row(statistics, old, row))
			return -1;
	}
	return 0;
}

/* Values that are not counts are copied. */
static int copy_layout(struct gpumon_model *diff, const struct gpumon_layout *from)
{
	struct gpumon_layout *layout = gpumon_model_add_layout(diff);

	if (!layout)
		return -1;
	layout->offset = from->offset;
	layout->size = from->size;
	return gpumon_copy_string(&layout->group, from->group) ||
			       gpumon_copy_string(&layout->module, from->module) ||
			       gpumon_copy_string(&layout->type, from->type) ||
			       gpumon_copy_string(&layout->member, from->member) ||
			       gpumon_copy_string(&layout->reason, from->reason) ?
		       -1 :
		       0;
}

static int copy_alert(struct gpumon_model *diff, const struct gpumon_alert *from)
{
	struct gpumon_alert *alert = gpumon_model_add_alert(diff);

	if (!alert)
		return -1;
	alert->time_ns = from->time_ns;
	alert->code = from->code;
	alert->count = from->count;
	alert->lost = from->lost;
	alert->forgotten = from->forgotten;
	return gpumon_copy_string(&alert->group, from->group) ||
			       gpumon_copy_string(&alert->kind, from->kind) ||
			       gpumon_copy_string(&alert->device, from->device) ||
			       gpumon_copy_string(&alert->message, from->message) ?
		       -1 :
		       0;
}

int gpumon_statistics_diff(struct gpumon_model *diff, const struct gpumon_model *before,
			   const struct gpumon_model *after)
{
	for (size_t i = 0; i < after->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &after->statistics[i];

		if (diff_table(diff,
			       gpumon_model_statistics(before, statistics->group,
						       statistics->table),
			       statistics))
			return -1;
	}
	for (size_t i = 0; i < after->n_layouts; i++) {
		if (copy_layout(diff, &after->layouts[i]))
			return -1;
	}
	for (size_t i = 0; i < after->n_alerts; i++) {
		if (copy_alert(diff, &after->alerts[i]))
			return -1;
	}
	return 0;
}

int gpumon_row_compare(const void *a, const void *b)
{
	const struct gpumon_row *x = *(const struct gpumon_row *const *)a;
	const struct gpumon_row *y = *(const struct gpumon_row *const *)b;
	int order = 0;

	for (size_t i = 0; i < x->n_labels && i < y->n_labels && !order; i++) {
		const char *left = x->labels[i].value, *right = y->labels[i].value;

		order = strverscmp(left ? left : "", right ? right : "");
	}
	if (!order)
		order = x->number.v < y->number.v ? -1 : x->number.v > y->number.v;
	return order;
}

const char *gpumon_row_label(const struct gpumon_row *row, const char *name)
{
	for (size_t i = 0; i < row->n_labels; i++) {
		if (row->labels[i].name && name && !strcmp(row->labels[i].name, name))
			return row->labels[i].value;
	}
	return NULL;
}
