// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The self-describing parts of "stat": tables, layouts, alerts. */
#include <stdlib.h>
#include <string.h>

#include "stat_part.h"
#include "lib/statistics_format.h"
#include "lib/table.h"

static const char *const gauge_endings[] = { "", "-MAX" };
static const char *const histogram_endings[] = { "-N", "-P50", "-P99", "-MAX" };

static void add_titles(const struct gpumon_stat *stat, struct gpumon_table *table,
		       const struct gpumon_column *column)
{
	char title[GPUMON_TITLE_LEN];

	switch (column->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		for (size_t i = 0; i < 2; i++)
			gpumon_table_column(
				table, gpumon_format_title(title, column->name, gauge_endings[i]),
				GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		for (size_t i = 0; i < 4; i++)
			gpumon_table_column(table,
					    gpumon_format_title(title, column->name,
								histogram_endings[i]),
					    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
		break;
	default:
		gpumon_table_column(table,
				    gpumon_format_title(title, column->name,
							stat->model->interval_ns ? "/s" : ""),
				    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
	}
}

/* @like has name and kind. @column is NULL if this row lacks the column. */
static void add_cells(const struct gpumon_stat *stat, struct gpumon_table *table,
		      const struct gpumon_column *like, const struct gpumon_column *column)
{
	static const struct gpumon_column unknown;
	const struct gpumon_histogram *histogram;
	char text[GPUMON_FORMAT_LEN];

	if (!column || column->kind.v != like->kind.v)
		column = &unknown;
	histogram = &column->histogram;
	switch (like->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		gpumon_table_text(table, gpumon_format_level(text, like->name, column->level));
		gpumon_table_text(table, gpumon_format_by_name(text, like->name, column->highest));
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		gpumon_table_text(table, gpumon_format_count(text, sizeof(text), histogram->count));
		gpumon_table_text(
			table, gpumon_format_by_name(text, like->name,
						     gpumon_histogram_percentile(histogram, 500)));
		gpumon_table_text(
			table, gpumon_format_by_name(text, like->name,
						     gpumon_histogram_percentile(histogram, 990)));
		gpumon_table_text(table, gpumon_format_by_name(text, like->name, histogram->max));
		break;
	default:
		if (stat->model->interval_ns)
			gpumon_format_rate_by_name(text, like->name, column->value,
						   stat->model->interval_ns);
		else
			gpumon_format_by_name(text, like->name, column->value);
		gpumon_table_text(table, text);
	}
}

/* All rows of a table have the same labels and columns, so the first one defines the heading. */
static int print_table(const struct gpumon_stat *stat, const struct gpumon_statistics *statistics)
{
	const struct gpumon_row *first = &statistics->rows[0];
	const struct gpumon_row **rows = calloc(statistics->n_rows, sizeof(*rows));
	struct gpumon_table *table = gpumon_table_new(stat->term);
	char title[GPUMON_TITLE_LEN];

	for (size_t i = 0; rows && i < statistics->n_rows; i++)
		rows[i] = &statistics->rows[i];
	if (rows)
		qsort(rows, statistics->n_rows, sizeof(*rows), gpumon_row_compare);

	for (size_t i = 0; i < first->n_labels; i++)
		gpumon_table_column(table, gpumon_format_title(title, first->labels[i].name, ""),
				    GPUMON_COLUMN_KEY |
					    (first->labels[i].number ? GPUMON_COLUMN_RIGHT : 0));
	for (size_t i = 0; i < first->n_columns; i++)
		add_titles(stat, table, &first->columns[i]);

	for (size_t k = 0; rows && k < statistics->n_rows; k++) {
		for (size_t i = 0; i < first->n_labels; i++)
			gpumon_table_text(table, gpumon_row_label(rows[k], first->labels[i].name));
		for (size_t i = 0; i < first->n_columns; i++)
			add_cells(stat, table, &first->columns[i],
				  gpumon_row_column(rows[k], first->columns[i].name));
	}
	if (!rows) {
		gpumon_table_print(table, stat->stream);
		return -1;
	}
	free(rows);
	return gpumon_table_print(table, stat->stream);
}

int gpumon_stat_statistics(const struct gpumon_stat *stat)
{
	for (size_t i = 0; i < stat->model->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &stat->model->statistics[i];
		char title[2 * GPUMON_TITLE_LEN];

		if (!gpumon_stat_wanted(stat, statistics->group) || !statistics->n_rows ||
		    !(statistics->rows[0].n_labels + statistics->rows[0].n_columns))
			continue;
		snprintf(title, sizeof(title), "%s.%s", statistics->group, statistics->table);
		gpumon_stat_heading(stat, title);
		if (print_table(stat, statistics))
			return -1;
	}
	return 0;
}

/* A layout of a module that is not loaded is not missing. */
static bool in_use(const struct gpumon_stat *stat, const char *name)
{
	const struct gpumon_group *group = name ? gpumon_model_group(stat->model, name) : NULL;

	return group && group->state.known && group->state.v != GPUMON_ATTACH_STATE_OFF &&
	       group->state.v != GPUMON_ATTACH_STATE_WAITING;
}

int gpumon_stat_layouts(const struct gpumon_stat *stat)
{
	struct gpumon_table *table = NULL;
	char field[256];

	for (size_t i = 0; i < stat->model->n_layouts; i++) {
		const struct gpumon_layout *layout = &stat->model->layouts[i];

		if (layout->offset.known || !gpumon_stat_wanted(stat, layout->group) ||
		    !in_use(stat, layout->group))
			continue;
		if (!table) {
			gpumon_stat_heading(stat,
					    "FIELDS NOT FOUND (what needs them is unknown: -)");
			table = gpumon_table_new(stat->term);
			gpumon_table_column(table, "GROUP", 0);
			gpumon_table_column(table, "MODULE", 0);
			gpumon_table_column(table, "FIELD", 0);
			gpumon_table_column(table, "REASON", 0);
			if (!table)
				return -1;
		}
		snprintf(field, sizeof(field), "%s.%s", layout->type ? layout->type : "-",
			 layout->member ? layout->member : "-");
		gpumon_table_text(table, layout->group);
		gpumon_table_text(table, layout->module);
		gpumon_table_text(table, field);
		gpumon_table_text(table, layout->reason && *layout->reason ? layout->reason : NULL);
	}
	return table ? gpumon_table_print(table, stat->stream) : 0;
}

int gpumon_stat_alerts(const struct gpumon_stat *stat)
{
	struct gpumon_value lost = { 0 };
	struct gpumon_table *table = NULL;
	char text[GPUMON_FORMAT_LEN];
	int ret;

	for (size_t i = 0; i < stat->model->n_alerts; i++) {
		const struct gpumon_alert *alert = &stat->model->alerts[i];
		struct gpumon_value ago = stat->model->info.now_ns;

		if (alert->lost.v >= lost.v)
			lost = alert->lost;
		if (!gpumon_stat_wanted(stat, alert->group))
			continue;
		if (!table) {
			gpumon_stat_heading(
				stat, "ALERTS (the last of each kind, device and code since load)");
			table = gpumon_table_new(stat->term);
			gpumon_table_column(table, "GROUP", GPUMON_COLUMN_KEY);
			gpumon_table_column(table, "KIND", GPUMON_COLUMN_KEY);
			gpumon_table_column(table, "DEVICE", GPUMON_COLUMN_KEY);
			gpumon_table_column(table, "CODE", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
			gpumon_table_column(table, "COUNT",
					    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
			gpumon_table_column(table, "AGO",
					    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
			gpumon_table_column(table, "MESSAGE", GPUMON_COLUMN_BELOW);
			if (!table)
				return -1;
		}
		ago.known = ago.known && alert->time_ns.known && ago.v >= alert->time_ns.v;
		ago.v -= alert->time_ns.v;
		gpumon_table_text(table, alert->group);
		gpumon_table_text(table, alert->kind);
		gpumon_table_text(table, alert->device);
		gpumon_table_text(table, gpumon_format_count(text, sizeof(text), alert->code));
		gpumon_table_text(table, gpumon_format_count(text, sizeof(text), alert->count));
		gpumon_table_text(table, gpumon_format_ns(text, sizeof(text), ago));
		gpumon_table_text(table, alert->message);
	}
	if (!table)
		return 0;
	ret = gpumon_table_print(table, stat->stream);
	if (lost.v)
		fprintf(stat->stream, "and %s more, for which there was no room\n",
			gpumon_format_count(text, sizeof(text), lost));
	return ret;
}
