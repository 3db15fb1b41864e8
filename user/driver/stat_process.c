// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "process_count.h"
#include "stat_part.h"
#include "lib/statistics_format.h"
#include "lib/table.h"

static void add_columns(const struct gpumon_stat *stat, struct gpumon_table *table)
{
	char title[GPUMON_TITLE_LEN];

	gpumon_table_column(table, "PID", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "IN-CONTAINER",
			    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		snprintf(title, sizeof(title), "%s%s", gpumon_process_counts[i].title,
			 stat->model->interval_ns ? "/s" : "");
		/* Jobs are always counted, other columns only if a driver counts them. */
		gpumon_table_column(table, title,
				    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT |
					    (i ? GPUMON_COLUMN_OPTIONAL : 0));
	}
	gpumon_table_column(table, "OPEN-NOW",
			    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "ALIVE", GPUMON_COLUMN_BELOW);
	gpumon_table_column(table, "CONTAINER", GPUMON_COLUMN_BELOW | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "COMM", GPUMON_COLUMN_BELOW);
}

static void add_process(const struct gpumon_stat *stat, struct gpumon_table *table,
			const struct gpumon_process *process)
{
	struct gpumon_value inside = process->container_pid;
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_format_count(text, sizeof(text), process->pid));
	/* Do not repeat the same pid. */
	inside.known = inside.known && inside.v != process->pid.v;
	gpumon_table_text(table, gpumon_format_count(text, sizeof(text), inside));
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		if (stat->model->interval_ns)
			gpumon_format_rate_by_name(text, gpumon_process_counts[i].name,
						   gpumon_process_count_of(process, i),
						   stat->model->interval_ns);
		else
			gpumon_format_by_name(text, gpumon_process_counts[i].name,
					      gpumon_process_count_of(process, i));
		gpumon_table_text(table, text);
	}
	gpumon_table_text(table, gpumon_format_count(text, sizeof(text), process->open_handles));
	gpumon_table_text(table, !process->alive.known ? NULL : process->alive.v ? "yes" : "no");
	gpumon_table_text(table, process->container ? process->container : process->cgroup);
	gpumon_table_text(table, process->comm);
}

/* The sums include exited processes. */
static void print_exited(const struct gpumon_stat *stat)
{
	const struct gpumon_info *info = &stat->model->info;
	char text[GPUMON_FORMAT_LEN];

	if (!info->processes_exited.v)
		return;
	fprintf(stat->stream, "and %s that exited and made room, with ",
		gpumon_format_count(text, sizeof(text), info->processes_exited));
	fprintf(stat->stream, "%s jobs",
		gpumon_format_count(text, sizeof(text), info->jobs_exited));
	for (size_t i = 1; i < GPUMON_PROCESS_COUNTS; i++) {
		struct gpumon_value value = gpumon_process_count_of(&info->exited, i);

		if (value.v)
			fprintf(stat->stream, ", %s %s",
				gpumon_format_by_name(text, gpumon_process_counts[i].name, value),
				gpumon_process_counts[i].noun);
	}
	fputc('\n', stat->stream);
}

int gpumon_stat_processes(const struct gpumon_stat *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;

	if (!model->n_processes && !model->info.processes_exited.v)
		return 0;
	gpumon_stat_heading(stat, "PROCESSES");
	if (model->n_processes) {
		table = gpumon_table_new(stat->term);
		add_columns(stat, table);
		for (size_t i = 0; i < model->n_processes; i++)
			add_process(stat, table, &model->processes[i]);
		if (gpumon_table_print(table, stat->stream))
			return -1;
	}
	print_exited(stat);
	return 0;
}
