// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/format.h"
#include "lib/table.h"
#include "model_fields.h"
#include "source.h"
#include "stat_page.h"

static bool wanted(const struct stat_page *stat, const char *group)
{
	return !stat->group || (group && !strcmp(group, stat->group));
}

void gpumon_stat_heading(const struct stat_page *stat, const char *text)
{
	char safe[256];

	fprintf(stat->stream, "\n%s%s%s\n", gpumon_term_bold(stat->term),
		gpumon_format_name(safe, sizeof(safe), text), gpumon_term_reset(stat->term));
}

void gpumon_stat_sentence(const struct stat_page *stat, const char *text)
{
	if (stat->term->columns)
		gpumon_sentence_print(stat->stream, stat->term, "", 0, 0, text);
	else
		fprintf(stat->stream, "%s\n", text);
}

/* Their names alone, "doctor" says what each costs. */
static void print_missing_options(const struct stat_page *stat)
{
	const struct gpumon_info *info = &stat->model->info;
	char name[64];
	bool any = false;

	for (size_t i = 0; i < info->n_missing_options; i++) {
		const char *option = info->missing_options[i].option;

		if (!gpumon_option_costs(option))
			continue;
		fprintf(stat->stream, "%s%s", any ? ", " : "note: this kernel lacks ",
			gpumon_format_name(name, sizeof(name), option));
		any = true;
	}
	if (any)
		fputs(": gpumon-user doctor says what is not seen without\n", stat->stream);
}

static void print_info(const struct stat_page *stat)
{
	const struct gpumon_info *info = &stat->model->info;
	char version[64], time[GPUMON_FORMAT_LEN], n[7][GPUMON_FORMAT_LEN];
	struct gpumon_value elapsed = { 0 };
	char text[128];

	if (info->now_ns.known && info->since_ns.known && info->now_ns.v >= info->since_ns.v)
		elapsed = gpumon_value_of(info->now_ns.v - info->since_ns.v);
	gpumon_format_ns(time, sizeof(time), elapsed);

	if (info->source && !stat->model->interval_ns) {
		snprintf(
			text, sizeof(text),
			"Counted for %s by BPF, since this command began: what was before is not known.",
			time);
		gpumon_stat_sentence(stat, text);
	}
	fprintf(stat->stream, "gpumon %s, schema %s, period %s, %s %s\n",
		gpumon_format_name(version, sizeof(version), info->version),
		gpumon_format_count(n[0], sizeof(n[0]), info->schema),
		gpumon_format_count(n[1], sizeof(n[1]), info->period),
		stat->model->interval_ns ? "change over" : "counting for", time);
	fprintf(stat->stream, "%s of %s rings, %s of %s processes, %s of memory\n",
		gpumon_format_count(n[2], sizeof(n[2]), info->rings),
		gpumon_format_count(n[3], sizeof(n[3]), info->max_rings),
		gpumon_format_count(n[4], sizeof(n[4]), info->processes),
		gpumon_format_count(n[5], sizeof(n[5]), info->max_processes),
		gpumon_format_bytes(n[6], sizeof(n[6]), info->memory_bytes));
	print_missing_options(stat);
	if (stat->model->reset_between)
		fputs("note: the counts were reset in between, they are those since the reset\n",
		      stat->stream);
	if (stat->model->inconsistent)
		fputs("note: rings, rows or processes came and went while they were read, some may be missing or twice\n",
		      stat->stream);
}

static const char *state_colour(const struct gpumon_term *term, struct gpumon_value state)
{
	if (!state.known)
		return "";
	switch (state.v) {
	case GPUMON_ATTACH_STATE_ATTACHED:
		return gpumon_term_green(term);
	case GPUMON_ATTACH_STATE_WAITING:
		return gpumon_term_yellow(term);
	case GPUMON_ATTACH_STATE_MISMATCH:
	case GPUMON_ATTACH_STATE_FAILED:
		return gpumon_term_red(term);
	default: /* off is intended, missing is normal: a kernel has only one generation of names */
		return gpumon_term_dim(term);
	}
}

static bool is_text(const struct gpumon_field *field)
{
	return field->kind == GPUMON_FIELD_STRING || field->meaning == GPUMON_FIELD_STATE ||
	       field->meaning == GPUMON_FIELD_PROBE_KIND;
}

/* Columns of the fields that have a title. Rates are counts of a reading. */
static void add_columns(const struct stat_page *stat, struct gpumon_table *table,
			const struct gpumon_fields *fields, unsigned int flags)
{
	char title[GPUMON_TITLE_LEN];

	for (size_t i = 0; i < fields->n; i++) {
		const struct gpumon_field *field = &fields->at[i];
		bool rate = field->meaning == GPUMON_FIELD_RATE && stat->model->interval_ns;

		if (!field->title)
			continue;
		snprintf(title, sizeof(title), "%s%s", field->title, rate ? "/s" : "");
		gpumon_table_column(table, title,
				    flags | (is_text(field) ? 0 : GPUMON_COLUMN_RIGHT));
	}
}

static void add_share(const struct stat_page *stat, struct gpumon_table *table,
		      struct gpumon_value ns)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_format_share(text, sizeof(text), ns, gpumon_model_length_ns(stat->model));
	gpumon_table_text(table, text);
}

/* A number in the unit that ends @name. @rate: per second in a difference */
static void add_number(const struct stat_page *stat, struct gpumon_table *table, const char *name,
		       struct gpumon_value value, bool rate)
{
	char text[GPUMON_FORMAT_LEN];

	if (rate && stat->model->interval_ns)
		gpumon_format_rate_by_name(text, name, value, stat->model->interval_ns);
	else
		gpumon_format_by_name(text, name, value);
	gpumon_table_text(table, text);
}

/* Cells of a structure in the columns of its fields. */
static void add_cells(const struct stat_page *stat, struct gpumon_table *table,
		      const struct gpumon_fields *fields, const void *of)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct gpumon_field *field = &fields->at[i];
		const void *at = (const char *)of + field->offset;
		const struct gpumon_value *value = at;

		if (!field->title)
			continue;
		if (field->kind == GPUMON_FIELD_STRING)
			gpumon_table_text(table, *(const char *const *)at);
		else if (field->meaning == GPUMON_FIELD_STATE)
			gpumon_table_text(table, gpumon_attach_state_name(*value));
		else if (field->meaning == GPUMON_FIELD_PROBE_KIND)
			gpumon_table_text(table, gpumon_probe_kind_name(*value));
		else if (field->meaning == GPUMON_FIELD_SHARE)
			add_share(stat, table, *value);
		else
			add_number(stat, table, field->name, *value,
				   field->meaning == GPUMON_FIELD_RATE);
	}
}

static void add_reason(struct gpumon_table *table, const char *reason)
{
	gpumon_table_text(table, reason && *reason ? reason : NULL);
}

static void print_groups(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table = gpumon_table_new(stat->term);

	gpumon_stat_heading(stat, "GROUPS");
	add_columns(stat, table, &gpumon_group_fields, 0);
	gpumon_table_column(table, "REASON", 0);
	for (size_t i = 0; i < model->n_groups; i++) {
		const struct gpumon_group *group = &model->groups[i];

		if (!wanted(stat, group->name))
			continue;
		add_cells(stat, table, &gpumon_group_fields, group);
		add_reason(table, group->reason);
		gpumon_table_colour(table, state_colour(stat->term, group->state));
	}
	gpumon_table_print(table, stat->stream);
}

/* The reason of an idle group says it all, unless --group asks for its probes. */
static bool shows_probes(const struct stat_page *stat, const struct gpumon_group *group)
{
	return wanted(stat, group->name) && group->n_probes &&
	       (stat->group || !gpumon_group_is_idle(group));
}

static void print_probes(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;
	bool any = false;

	for (size_t g = 0; g < model->n_groups; g++)
		any |= shows_probes(stat, &model->groups[g]);
	if (!any)
		return;
	table = gpumon_table_new(stat->term);
	gpumon_stat_heading(stat, "PROBES (seen = recorded + the five causes of loss behind it)");
	add_columns(stat, table, &gpumon_probe_fields, 0);
	add_columns(stat, table, &gpumon_drops_fields, 0);
	gpumon_table_column(table, "REASON", 0);

	for (size_t g = 0; g < model->n_groups; g++) {
		const struct gpumon_group *group = &model->groups[g];

		if (!shows_probes(stat, group))
			continue;
		for (size_t i = 0; i < group->n_probes; i++) {
			const struct gpumon_probe *probe = &group->probes[i];

			add_cells(stat, table, &gpumon_probe_fields, probe);
			add_cells(stat, table, &gpumon_drops_fields, &probe->dropped);
			add_reason(table, probe->reason);
			gpumon_table_colour(table, state_colour(stat->term, probe->state));
		}
	}
	gpumon_table_print(table, stat->stream);
}

static void print_rings(const struct stat_page *stat)
{
	static const char *const depths[] = { "QUEUE", "MAX-QUEUE", "HW", "MAX-HW" };
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;

	gpumon_stat_heading(
		stat,
		"DRM SCHEDULER RINGS (BUSY: part of the time with a job on the hardware; QUEUE and HW: jobs waiting and on it now)");
	if (!model->n_rings) {
		fputs("no ring has been seen: no job was submitted since the group is on\n",
		      stat->stream);
		return;
	}
	table = gpumon_table_new(stat->term);
	add_columns(stat, table, &gpumon_ring_fields, 0);
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		gpumon_table_column(table, depths[i], GPUMON_COLUMN_RIGHT);

	for (size_t i = 0; i < model->n_rings; i++) {
		const struct gpumon_ring *ring = &model->rings[i];

		add_cells(stat, table, &gpumon_ring_fields, ring);
		gpumon_table_value(table, ring->queue_depth);
		gpumon_table_value(table, ring->queue_depth_max);
		gpumon_table_value(table, ring->hw_depth);
		gpumon_table_value(table, ring->hw_depth_max);
		if (ring->errors.known && ring->errors.v)
			gpumon_table_colour(table, gpumon_term_red(stat->term));
	}
	gpumon_table_print(table, stat->stream);
}

static void latency_row(struct gpumon_table *table, const struct gpumon_model *model,
			const struct gpumon_ring *ring, const char *what, const char *name)
{
	const struct gpumon_histogram unknown = { 0 };
	const struct gpumon_histogram *histogram =
		ring->id.known ? gpumon_model_histogram(model, ring->id.v, name) : NULL;
	struct gpumon_value mean = { 0 };

	if (!histogram)
		histogram = &unknown;
	if (histogram->sum.known && histogram->count.v)
		mean = gpumon_value_of(histogram->sum.v / histogram->count.v);

	gpumon_table_text(table, ring->device);
	gpumon_table_text(table, ring->name);
	gpumon_table_text(table, what);
	gpumon_table_value(table, histogram->count);
	gpumon_table_ns(table, histogram->min);
	gpumon_table_ns(table, mean);
	gpumon_table_ns(table, gpumon_histogram_percentile(histogram, 500));
	gpumon_table_ns(table, gpumon_histogram_percentile(histogram, 900));
	gpumon_table_ns(table, gpumon_histogram_percentile(histogram, 990));
	gpumon_table_ns(table, histogram->max);
}

static void print_devices(const struct stat_page *stat)
{
	struct gpumon_table *table;

	if (!stat->model->n_devices)
		return;
	gpumon_stat_heading(stat, "GPUS");
	table = gpumon_table_new(stat->term);
	add_columns(stat, table, &gpumon_device_fields, GPUMON_COLUMN_OPTIONAL);
	for (size_t i = 0; i < stat->model->n_devices; i++)
		add_cells(stat, table, &gpumon_device_fields, &stat->model->devices[i]);
	gpumon_table_print(table, stat->stream);
}

/* What a time in the queue means. */
static void print_policy(const struct stat_page *stat)
{
	static const char *const meanings[] = {
		"queues take turns: a wait is mostly behind jobs of the same queue",
		"the job that was queued first is next: a wait is behind the earlier jobs of all",
		"the queue that has used least GPU time is next: who has used much waits long",
	};
	const struct gpumon_value policy = stat->model->sched_policy;
	const char *name = gpumon_sched_policy_name(policy);
	char text[160];

	if (!policy.known)
		return;
	if (name && policy.v < sizeof(meanings) / sizeof(meanings[0]))
		snprintf(text, sizeof(text), "The scheduler's policy is %s, %s.", name,
			 meanings[policy.v]);
	else
		snprintf(text, sizeof(text),
			 "The scheduler's policy is number %" PRIu64
			 ", which is newer than this gpumon-user.",
			 policy.v);
	gpumon_stat_sentence(stat, text);
}

static void print_latencies(const struct stat_page *stat)
{
	static const char *const names[] = { "COUNT", "MIN", "MEAN", "P50", "P90", "P99", "MAX" };
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;

	if (!model->n_rings)
		return;
	gpumon_stat_heading(stat, "LATENCIES");
	table = gpumon_table_new(stat->term);
	gpumon_table_column(table, "DEVICE", 0);
	gpumon_table_column(table, "RING", 0);
	gpumon_table_column(table, "FROM-TO", 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		gpumon_table_column(table, names[i], GPUMON_COLUMN_RIGHT);
	for (size_t i = 0; i < model->n_rings; i++) {
		latency_row(table, model, &model->rings[i], "queue-run", "queue_ns");
		latency_row(table, model, &model->rings[i], "run-done", "run_ns");
	}
	gpumon_table_print(table, stat->stream);
	print_policy(stat);
}

static void add_titles(const struct stat_page *stat, struct gpumon_table *table,
		       const struct gpumon_column *column)
{
	static const char *const gauge[] = { "", "-MAX", NULL };
	static const char *const histogram[] = { "-N", "-P50", "-P99", "-MAX", NULL };
	static const char *const count[] = { "", NULL }, *const rate[] = { "/s", NULL };
	const char *const *endings = column->kind.v == GPUMON_COLUMN_KIND_GAUGE	    ? gauge :
				     column->kind.v == GPUMON_COLUMN_KIND_HISTOGRAM ? histogram :
				     stat->model->interval_ns			    ? rate :
										      count;
	char title[GPUMON_TITLE_LEN];

	for (; *endings; endings++)
		gpumon_table_column(table, gpumon_format_title(title, column->name, *endings),
				    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
}

/* @like has name and kind. @column is NULL if this row lacks the column. */
static void add_values(const struct stat_page *stat, struct gpumon_table *table,
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
		add_number(stat, table, like->name, column->highest, false);
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		gpumon_table_value(table, histogram->count);
		add_number(stat, table, like->name, gpumon_histogram_percentile(histogram, 500),
			   false);
		add_number(stat, table, like->name, gpumon_histogram_percentile(histogram, 990),
			   false);
		add_number(stat, table, like->name, histogram->max, false);
		break;
	default:
		add_number(stat, table, like->name, column->value, true);
	}
}

/* All rows of a table have the same labels and columns, so the first one defines the heading. */
static void print_table(const struct stat_page *stat, const struct gpumon_statistics *statistics)
{
	const struct gpumon_row *first = &statistics->rows[0];
	const struct gpumon_row **rows = gpumon_calloc(statistics->n_rows, sizeof(*rows));
	struct gpumon_table *table = gpumon_table_new(stat->term);
	char title[GPUMON_TITLE_LEN];

	for (size_t i = 0; i < statistics->n_rows; i++)
		rows[i] = &statistics->rows[i];
	qsort(rows, statistics->n_rows, sizeof(*rows), gpumon_row_compare);

	for (size_t i = 0; i < first->n_labels; i++)
		gpumon_table_column(table, gpumon_format_title(title, first->labels[i].name, ""),
				    GPUMON_COLUMN_KEY |
					    (first->labels[i].number ? GPUMON_COLUMN_RIGHT : 0));
	for (size_t i = 0; i < first->n_columns; i++)
		add_titles(stat, table, &first->columns[i]);

	for (size_t k = 0; k < statistics->n_rows; k++) {
		for (size_t i = 0; i < first->n_labels; i++)
			gpumon_table_text(table, gpumon_row_label(rows[k], first->labels[i].name));
		for (size_t i = 0; i < first->n_columns; i++)
			add_values(stat, table, &first->columns[i],
				   gpumon_row_column(rows[k], first->columns[i].name));
	}
	free(rows);
	gpumon_table_print(table, stat->stream);
}

static void print_statistics(const struct stat_page *stat)
{
	for (size_t i = 0; i < stat->model->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &stat->model->statistics[i];
		char title[2 * GPUMON_TITLE_LEN];

		/* Who used the GPUs has tables of its own. */
		if (!wanted(stat, statistics->group) || !statistics->n_rows ||
		    gpumon_is_usage(statistics) ||
		    !(statistics->rows[0].n_labels + statistics->rows[0].n_columns))
			continue;
		snprintf(title, sizeof(title), "%s.%s", statistics->group, statistics->table);
		gpumon_stat_heading(stat, title);
		print_table(stat, statistics);
	}
}

/* A layout of a module that is not loaded is not missing. */
static bool in_use(const struct stat_page *stat, const char *name)
{
	const struct gpumon_group *group = name ? gpumon_model_group(stat->model, name) : NULL;

	return group && group->state.known && !gpumon_group_is_idle(group);
}

static void print_layouts(const struct stat_page *stat)
{
	struct gpumon_table *table = NULL;
	char field[256];

	for (size_t i = 0; i < stat->model->n_layouts; i++) {
		const struct gpumon_layout *layout = &stat->model->layouts[i];

		if (layout->offset.known || !wanted(stat, layout->group) ||
		    !in_use(stat, layout->group))
			continue;
		if (!table) {
			gpumon_stat_heading(stat,
					    "FIELDS NOT FOUND (what needs them is unknown: -)");
			table = gpumon_table_new(stat->term);
			add_columns(stat, table, &gpumon_layout_fields, 0);
			gpumon_table_column(table, "FIELD", 0);
			gpumon_table_column(table, "REASON", 0);
		}
		snprintf(field, sizeof(field), "%s.%s", layout->type ? layout->type : "-",
			 layout->member ? layout->member : "-");
		add_cells(stat, table, &gpumon_layout_fields, layout);
		gpumon_table_text(table, field);
		add_reason(table, layout->reason);
	}
	if (table)
		gpumon_table_print(table, stat->stream);
}

static void print_alerts(const struct stat_page *stat)
{
	struct gpumon_value lost = { 0 };
	struct gpumon_table *table = NULL;
	char text[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < stat->model->n_alerts; i++) {
		const struct gpumon_alert *alert = &stat->model->alerts[i];
		struct gpumon_value ago = stat->model->info.now_ns;

		if (alert->lost.v >= lost.v)
			lost = alert->lost;
		if (!wanted(stat, alert->group))
			continue;
		if (!table) {
			gpumon_stat_heading(
				stat, "ALERTS (the last of each kind, device and code since load)");
			table = gpumon_table_new(stat->term);
			add_columns(stat, table, &gpumon_alert_fields, GPUMON_COLUMN_KEY);
			gpumon_table_column(table, "COUNT",
					    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
			gpumon_table_column(table, "AGO",
					    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT);
			gpumon_table_column(table, "MESSAGE", GPUMON_COLUMN_BELOW);
		}
		ago.known = ago.known && alert->time_ns.known && ago.v >= alert->time_ns.v;
		ago.v -= alert->time_ns.v;
		add_cells(stat, table, &gpumon_alert_fields, alert);
		gpumon_table_value(table, alert->count);
		gpumon_table_ns(table, ago);
		gpumon_table_text(table, alert->message);
	}
	if (!table)
		return;
	gpumon_table_print(table, stat->stream);
	if (lost.v)
		fprintf(stat->stream, "and %s more, for which there was no room\n",
			gpumon_format_count(text, sizeof(text), lost));
}

static void add_process_columns(const struct stat_page *stat, struct gpumon_table *table)
{
	const struct gpumon_field *counts = gpumon_process_counts.at;
	const struct gpumon_fields jobs = { counts, 1 };
	const struct gpumon_fields others = { counts + 1, gpumon_process_counts.n - 1 };

	gpumon_table_column(table, "PID", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "IN-CONTAINER",
			    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	gpumon_stat_usage_columns(table);
	/* Jobs are always counted, other columns only if a driver counts them. */
	add_columns(stat, table, &jobs, GPUMON_COLUMN_BELOW);
	add_columns(stat, table, &others, GPUMON_COLUMN_BELOW | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "OPEN-NOW",
			    GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	gpumon_stat_memory_columns(table);
	gpumon_table_column(table, "ALIVE", GPUMON_COLUMN_BELOW);
	gpumon_table_column(table, "CONTAINER", GPUMON_COLUMN_BELOW | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "COMM", GPUMON_COLUMN_BELOW);
}

static void add_process(const struct stat_page *stat, struct gpumon_table *table,
			const struct gpumon_process *process)
{
	struct gpumon_value inside = process->container_pid;

	gpumon_table_value(table, process->pid);
	/* Do not repeat the same pid. */
	inside.known = inside.known && inside.v != process->pid.v;
	gpumon_table_value(table, inside);
	gpumon_stat_usage_cells(stat, table,
				&stat->usage->processes[process - stat->model->processes]);
	add_cells(stat, table, &gpumon_process_counts, process);
	gpumon_table_value(table, process->open_handles);
	gpumon_stat_memory_cells(table, process->vram_bytes, process->live_object_bytes);
	gpumon_table_text(table, !process->alive.known ? NULL : process->alive.v ? "yes" : "no");
	gpumon_table_text(table, process->container ? process->container : process->cgroup);
	gpumon_table_text(table, process->comm);
}

/* The sums include exited processes. */
static void print_exited(const struct stat_page *stat)
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
				gpumon_format_by_name(text, gpumon_process_counts.at[i].name,
						      value),
				gpumon_process_counts.at[i].noun);
	}
	fputc('\n', stat->stream);
}

/* A process and its time on the GPU. */
struct ordered {
	const struct gpumon_process *process;
	struct gpumon_value gpu_ns;
};

/* Longest time first; otherwise as they are in the model. */
static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->gpu_ns.v != y->gpu_ns.v)
		return x->gpu_ns.v > y->gpu_ns.v ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static void add_processes(const struct stat_page *stat, struct gpumon_table *table)
{
	const struct gpumon_model *model = stat->model;
	struct ordered *order = gpumon_calloc(model->n_processes, sizeof(*order));

	for (size_t i = 0; i < model->n_processes; i++)
		order[i] = (struct ordered){ &model->processes[i],
					     stat->usage->processes[i].sum.gpu_ns };
	qsort(order, model->n_processes, sizeof(*order), compare_ordered);
	for (size_t i = 0; i < model->n_processes; i++)
		add_process(stat, table, order[i].process);
	free(order);
}

static void print_processes(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;

	if (!model->n_processes && !model->info.processes_exited.v)
		return;
	gpumon_stat_heading(
		stat,
		stat->usage->known ?
			"PROCESSES (GPU: part of the time, of the device used most, all of its rings added)" :
			"PROCESSES");
	if (model->n_processes) {
		table = gpumon_table_new(stat->term);
		add_process_columns(stat, table);
		add_processes(stat, table);
		gpumon_table_print(table, stat->stream);
	}
	print_exited(stat);
	gpumon_stat_print_share(stat);
}

/* Losses that no table has: those of the probes are in their table. */
static void print_losses(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	const struct gpumon_event_ring *ring = &model->event_ring;
	struct gpumon_value backwards = { 0 }, table_full = { 0 };
	char n[6][GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < model->n_rings; i++) {
		backwards.known |= model->rings[i].clock_backwards.known;
		backwards.v += model->rings[i].clock_backwards.v;
		table_full.known |= model->rings[i].jobs_table_full.known;
		table_full.v += model->rings[i].jobs_table_full.v;
	}
	gpumon_stat_heading(stat, "LOSSES AND EVENT RING");
	fprintf(stat->stream,
		"rings recycled with their counts: %s; latencies below 0, counted as 0: %s\n",
		gpumon_format_count(n[0], sizeof(n[0]), model->info.rings_retired),
		gpumon_format_count(n[1], sizeof(n[1]), backwards));
	fprintf(stat->stream,
		"jobs not followed, too many in flight: %s; of processes that did not fit: %s\n",
		gpumon_format_count(n[0], sizeof(n[0]), table_full),
		gpumon_format_count(n[1], sizeof(n[1]), model->info.jobs_unattributed));
	if (!ring->enabled.known) {
		fputs("event ring: unknown\n", stat->stream);
		return;
	}
	fprintf(stat->stream,
		"event ring: %s, %s KiB a CPU; since it was switched on: written %s, delivered %s, overwritten %s, dropped %s\n",
		ring->enabled.v ? "on" : "off",
		gpumon_format_count(n[0], sizeof(n[0]), ring->size_kib),
		gpumon_format_count(n[2], sizeof(n[2]), ring->written),
		gpumon_format_count(n[3], sizeof(n[3]), ring->delivered),
		gpumon_format_count(n[4], sizeof(n[4]), ring->overwritten),
		gpumon_format_count(n[5], sizeof(n[5]), ring->dropped));
}

int gpumon_stat_print(const struct gpumon_model *model, const char *group, enum gpumon_stat_by by,
		      const struct gpumon_term *term, FILE *stream)
{
	struct gpumon_usage usage;
	const struct stat_page stat = {
		.model = model,
		.usage = &usage,
		.group = group,
		.term = term,
		.stream = stream,
	};
	bool rings = wanted(&stat, "drm_sched");

	gpumon_usage_init(&usage, model);
	print_info(&stat);
	if (rings)
		gpumon_stat_print_answer(&stat);
	print_devices(&stat);
	print_groups(&stat);
	print_alerts(&stat);
	print_probes(&stat);
	print_layouts(&stat);
	if (rings) {
		print_rings(&stat);
		print_latencies(&stat);
		gpumon_stat_print_usage(&stat);
		gpumon_stat_print_clients(&stat);
	}
	print_statistics(&stat);
	if (by == GPUMON_STAT_BY_CGROUP)
		gpumon_stat_print_cgroups(&stat);
	else
		print_processes(&stat);
	gpumon_stat_print_dmem(&stat);
	print_losses(&stat);
	gpumon_usage_clear(&usage);
	if (rings)
		fprintf(stream, "\nnot covered: %s\n", GPUMON_NOT_COVERED);
	/* An error in between empties the buffer, so that the last flush succeeds. */
	return fflush(stream) || ferror(stream) ? -1 : 0;
}

void gpumon_stat_close(struct gpumon_model *model, const struct gpumon_period *period)
{
	model->info.period = period->closed;
	model->info.since_ns = period->closed_since_ns;
	model->info.now_ns = period->closed_at_ns;
}
