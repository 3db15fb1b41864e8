// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "source.h"
#include "stat_part.h"
#include "stat_print.h"
#include "lib/table.h"

bool gpumon_stat_wanted(const struct gpumon_stat *stat, const char *group)
{
	return !stat->group || (group && !strcmp(group, stat->group));
}

void gpumon_stat_heading(const struct gpumon_stat *stat, const char *text)
{
	char safe[256];

	fprintf(stat->stream, "\n%s%s%s\n", gpumon_term_bold(stat->term),
		gpumon_format_name(safe, sizeof(safe), text), gpumon_term_reset(stat->term));
}

static void print_info(const struct gpumon_stat *stat)
{
	const struct gpumon_info *info = &stat->model->info;
	char version[64], time[GPUMON_FORMAT_LEN], n[7][GPUMON_FORMAT_LEN];
	struct gpumon_value elapsed = { 0 };

	if (info->now_ns.known && info->since_ns.known && info->now_ns.v >= info->since_ns.v)
		elapsed = gpumon_value_of(info->now_ns.v - info->since_ns.v);
	gpumon_format_ns(time, sizeof(time), elapsed);

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

static int print_groups(const struct gpumon_stat *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table = gpumon_table_new(stat->term);

	gpumon_stat_heading(stat, "GROUPS");
	gpumon_table_column(table, "GROUP", 0);
	gpumon_table_column(table, "STATE", 0);
	gpumon_table_column(table, "REASON", 0);
	for (size_t i = 0; i < model->n_groups; i++) {
		const struct gpumon_group *group = &model->groups[i];

		if (!gpumon_stat_wanted(stat, group->name))
			continue;
		gpumon_table_text(table, group->name);
		gpumon_table_text(table, gpumon_attach_state_name(group->state));
		gpumon_table_text(table, group->reason && *group->reason ? group->reason : NULL);
		gpumon_table_colour(table, state_colour(stat->term, group->state));
	}
	return gpumon_table_print(table, stat->stream);
}

/* The group's reason says it all, unless --group asks for its probes. */
static bool is_idle_group(const struct gpumon_group *group)
{
	return group->state.known && (group->state.v == GPUMON_ATTACH_STATE_OFF ||
				      group->state.v == GPUMON_ATTACH_STATE_WAITING);
}

static bool shows_probes(const struct gpumon_stat *stat, const struct gpumon_group *group)
{
	return gpumon_stat_wanted(stat, group->name) && group->n_probes &&
	       (stat->group || !is_idle_group(group));
}

static int print_probes(const struct gpumon_stat *stat)
{
	static const char *const counts[] = { "SEEN",	    "RECORDED", "TABLE-FULL", "RECURSION",
					      "UNREADABLE", "MISSED",	"NO-MEMORY" };
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;
	bool any = false;

	for (size_t g = 0; g < model->n_groups; g++)
		any |= shows_probes(stat, &model->groups[g]);
	if (!any)
		return 0;
	table = gpumon_table_new(stat->term);
	gpumon_stat_heading(stat, "PROBES (seen = recorded + the five causes of loss behind it)");
	gpumon_table_column(table, "PROBE", 0);
	gpumon_table_column(table, "MODULE", 0);
	gpumon_table_column(table, "KIND", 0);
	gpumon_table_column(table, "STATE", 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		gpumon_table_column(table, counts[i], GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "REASON", 0);

	for (size_t g = 0; g < model->n_groups; g++) {
		const struct gpumon_group *group = &model->groups[g];

		if (!shows_probes(stat, group))
			continue;
		for (size_t i = 0; i < group->n_probes; i++) {
			const struct gpumon_probe *probe = &group->probes[i];

			gpumon_table_text(table, probe->name);
			gpumon_table_text(table, probe->module);
			gpumon_table_text(table, gpumon_probe_kind_name(probe->kind));
			gpumon_table_text(table, gpumon_attach_state_name(probe->state));
			gpumon_table_value(table, probe->seen);
			gpumon_table_value(table, probe->recorded);
			gpumon_table_value(table, probe->dropped.table_full);
			gpumon_table_value(table, probe->dropped.recursion);
			gpumon_table_value(table, probe->dropped.unreadable);
			gpumon_table_value(table, probe->dropped.missed);
			gpumon_table_value(table, probe->dropped.no_memory);
			gpumon_table_text(table,
					  probe->reason && *probe->reason ? probe->reason : NULL);
			gpumon_table_colour(table, state_colour(stat->term, probe->state));
		}
	}
	return gpumon_table_print(table, stat->stream);
}

/* Counts of a reading, rates of a difference. */
static void add_count_or_rate(const struct gpumon_stat *stat, struct gpumon_table *table,
			      struct gpumon_value value)
{
	if (stat->model->interval_ns)
		gpumon_table_rate(table, value, stat->model->interval_ns);
	else
		gpumon_table_value(table, value);
}

static int print_rings(const struct gpumon_stat *stat)
{
	static const char *const plain[] = { "QUEUED", "RUN", "DONE" };
	static const char *const rates[] = { "QUEUED/s", "RUN/s", "DONE/s" };
	static const char *const counts[] = { "ERRORS", "KILLED",    "DEP-WAITS", "UNTRACKED",
					      "QUEUE",	"MAX-QUEUE", "HW",	  "MAX-HW" };
	const struct gpumon_model *model = stat->model;
	const char *const *names = model->interval_ns ? rates : plain;
	struct gpumon_table *table;

	gpumon_stat_heading(
		stat,
		"DRM SCHEDULER RINGS (QUEUE and HW: jobs waiting and jobs on the hardware now)");
	if (!model->n_rings) {
		fputs("no ring has been seen: no job was submitted since the group is on\n",
		      stat->stream);
		return 0;
	}
	table = gpumon_table_new(stat->term);
	gpumon_table_column(table, "DEVICE", 0);
	gpumon_table_column(table, "RING", 0);
	for (size_t i = 0; i < 3; i++)
		gpumon_table_column(table, names[i], GPUMON_COLUMN_RIGHT);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		gpumon_table_column(table, counts[i], GPUMON_COLUMN_RIGHT);

	for (size_t i = 0; i < model->n_rings; i++) {
		const struct gpumon_ring *ring = &model->rings[i];

		gpumon_table_text(table, ring->device);
		gpumon_table_text(table, ring->name);
		add_count_or_rate(stat, table, ring->queued);
		add_count_or_rate(stat, table, ring->run);
		add_count_or_rate(stat, table, ring->done);
		gpumon_table_value(table, ring->errors);
		gpumon_table_value(table, ring->killed);
		gpumon_table_value(table, ring->dependency_waits);
		gpumon_table_value(table, ring->untracked);
		gpumon_table_value(table, ring->queue_depth);
		gpumon_table_value(table, ring->queue_depth_max);
		gpumon_table_value(table, ring->hw_depth);
		gpumon_table_value(table, ring->hw_depth_max);
		if (ring->errors.known && ring->errors.v)
			gpumon_table_colour(table, gpumon_term_red(stat->term));
	}
	return gpumon_table_print(table, stat->stream);
}

static void latency_row(struct gpumon_table *table, const struct gpumon_model *model,
			const struct gpumon_ring *ring, const char *what, const char *name)
{
	static const struct gpumon_histogram unknown;
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

static int print_latencies(const struct gpumon_stat *stat)
{
	static const char *const names[] = { "COUNT", "MIN", "MEAN", "P50", "P90", "P99", "MAX" };
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table;

	if (!model->n_rings)
		return 0;
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
	return gpumon_table_print(table, stat->stream);
}

/* Losses that no table has: those of the probes are in their table. */
static void print_losses(const struct gpumon_stat *stat)
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

int gpumon_stat_print(const struct gpumon_model *model, const char *group,
		      const struct gpumon_term *term, FILE *stream)
{
	const struct gpumon_stat stat = {
		.model = model,
		.group = group,
		.term = term,
		.stream = stream,
	};
	bool rings = gpumon_stat_wanted(&stat, "drm_sched");

	print_info(&stat);
	if (print_groups(&stat) || gpumon_stat_alerts(&stat) || print_probes(&stat) ||
	    gpumon_stat_layouts(&stat))
		return -1;
	if (rings && (print_rings(&stat) || print_latencies(&stat)))
		return -1;
	if (gpumon_stat_statistics(&stat) || gpumon_stat_processes(&stat))
		return -1;
	print_losses(&stat);
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
