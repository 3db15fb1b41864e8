// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The difference of two readings, see gpumon_model_diff(). */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "model_fields.h"

/* An empty one: what has come since the earlier reading counts from its own beginning. */
static const struct gpumon_histogram no_histogram = {
	.count = { .known = true },
	.sum = { .known = true },
};

static bool same_value(struct gpumon_value a, struct gpumon_value b)
{
	return a.known == b.known && a.v == b.v;
}

static char *copy_string(const char *from)
{
	return from ? gpumon_strdup(from) : NULL;
}

static void subtract_histogram(struct gpumon_histogram *diff, const struct gpumon_histogram *before,
			       const struct gpumon_histogram *after)
{
	size_t b = 0;

	for (size_t a = 0; a < after->n_buckets; a++) {
		const struct gpumon_bucket *bucket = &after->buckets[a];
		uint64_t earlier = 0;

		while (b < before->n_buckets && before->buckets[b].ge < bucket->ge)
			b++;
		if (b < before->n_buckets && before->buckets[b].ge == bucket->ge)
			earlier = before->buckets[b].count;
		if (bucket->count > earlier)
			gpumon_histogram_add_bucket(diff, bucket->ge, bucket->lt,
						    bucket->count - earlier);
	}
	diff->count = gpumon_value_subtract(after->count, before->count);
	diff->sum = gpumon_value_subtract(after->sum, before->sum);
}

static const struct gpumon_probe *find_probe(const struct gpumon_group *group,
					     const struct gpumon_probe *like)
{
	for (size_t i = 0; group && i < group->n_probes; i++) {
		if (gpumon_same_text(group->probes[i].name, like->name) &&
		    gpumon_same_text(group->probes[i].module, like->module) &&
		    same_value(group->probes[i].kind, like->kind))
			return &group->probes[i];
	}
	return NULL;
}

static void diff_group(struct gpumon_model *diff, const struct gpumon_group *before,
		       const struct gpumon_group *after)
{
	struct gpumon_group *group = gpumon_model_add_group(diff);

	*group = *after;
	gpumon_fields_copy(&gpumon_group_fields, group);
	group->probes = NULL;
	group->n_probes = 0;
	for (size_t i = 0; i < after->n_probes; i++) {
		const struct gpumon_probe *old = find_probe(before, &after->probes[i]);
		struct gpumon_probe *probe = gpumon_group_add_probe(group);

		*probe = after->probes[i];
		gpumon_fields_copy(&gpumon_probe_fields, probe);
		if (!old)
			continue;
		gpumon_fields_subtract(&gpumon_probe_fields, probe, old);
		gpumon_fields_subtract(&gpumon_drops_fields, &probe->dropped, &old->dropped);
	}
}

/* A new ring may get the number of an old one, so the names must agree too. */
static const struct gpumon_ring *find_ring(const struct gpumon_model *model,
					   const struct gpumon_ring *like)
{
	for (size_t i = 0; i < model->n_rings; i++) {
		const struct gpumon_ring *ring = &model->rings[i];

		if (same_value(ring->id, like->id) &&
		    gpumon_same_text(ring->device, like->device) &&
		    gpumon_same_text(ring->name, like->name))
			return ring;
	}
	return NULL;
}

static void diff_ring(struct gpumon_model *diff, const struct gpumon_ring *before,
		      const struct gpumon_ring *after)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(diff);

	*ring = *after;
	gpumon_fields_copy(&gpumon_ring_fields, ring);
	if (before)
		gpumon_fields_subtract(&gpumon_ring_fields, ring, before);
}

static void diff_histogram(struct gpumon_model *diff, const struct gpumon_model *before,
			   const struct gpumon_model *after_model,
			   const struct gpumon_histogram *after)
{
	const struct gpumon_histogram *old = NULL;
	const struct gpumon_ring *ring = NULL;
	struct gpumon_histogram *histogram = gpumon_model_add_histogram(diff);

	histogram->group = copy_string(after->group);
	histogram->name = copy_string(after->name);
	histogram->ring_id = after->ring_id;

	if (after->ring_id.known && after->name)
		old = gpumon_model_histogram(before, after->ring_id.v, after->name);
	if (after->ring_id.known)
		ring = gpumon_model_ring(after_model, after->ring_id.v);
	if (ring && !find_ring(before, ring))
		old = NULL;
	/* Fewer values than before: a new ring got the same number. */
	if (old && old->count.known && after->count.known && after->count.v < old->count.v)
		old = NULL;
	subtract_histogram(histogram, old ? old : &no_histogram, after);
}

/*
 * NULL if it came since. All readings have processes in the same order, but for those that come and
 * go: the search begins at @next, behind the one that was found before.
 */
static const struct gpumon_process *find_process(const struct gpumon_model *model,
						 const struct gpumon_process *like, size_t *next)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		size_t at = (*next + i) % model->n_processes;
		const struct gpumon_process *process = &model->processes[at];

		if (!same_value(process->pid, like->pid) || !same_value(process->id, like->id) ||
		    !same_value(process->start_ns, like->start_ns))
			continue;
		*next = at + 1;
		return process;
	}
	return NULL;
}

static void diff_process(struct gpumon_model *diff, const struct gpumon_process *before,
			 const struct gpumon_process *after)
{
	struct gpumon_process *process = gpumon_model_add_process(diff);

	*process = *after;
	gpumon_fields_copy(&gpumon_process_fields, process);
	if (before)
		gpumon_fields_subtract(&gpumon_process_fields, process, before);
}

/*
 * @renamed: names of rings may differ. Numbered rings of a device ("rcs17") become one row ("rcs") at
 * some time. That row goes on with their counts, and its name is the beginning of their names.
 */
static bool same_labels(const struct gpumon_row *before, const struct gpumon_row *after,
			bool renamed)
{
	if (before->n_labels != after->n_labels)
		return false;
	for (size_t i = 0; i < before->n_labels; i++) {
		const struct gpumon_label *x = &before->labels[i], *y = &after->labels[i];

		if (!gpumon_same_text(x->name, y->name))
			return false;
		if (gpumon_same_text(x->value, y->value))
			continue;
		if (!renamed || !gpumon_same_text(x->name, "ring") || !x->value || !y->value ||
		    strncmp(x->value, y->value, strlen(y->value)))
			return false;
	}
	return true;
}

static void diff_column(struct gpumon_row *row, const struct gpumon_column *before,
			const struct gpumon_column *after)
{
	const struct gpumon_histogram *histogram = before ? &before->histogram : &no_histogram;
	struct gpumon_column *column = gpumon_row_add_column(row);

	*column = *after;
	memset(&column->histogram, 0, sizeof(column->histogram));
	column->name = copy_string(after->name);
	if (before)
		column->value = gpumon_value_subtract(after->value, before->value);
	if (!after->histogram.count.known || !histogram->count.known)
		return;
	/* Fewer values than before: the row restarted. */
	if (after->histogram.count.v < histogram->count.v)
		histogram = &no_histogram;
	subtract_histogram(&column->histogram, histogram, &after->histogram);
}

static void diff_row(struct gpumon_statistics *statistics, const struct gpumon_row *before,
		     const struct gpumon_row *after)
{
	struct gpumon_row *row = gpumon_statistics_add_row(statistics, after->number);

	for (size_t i = 0; i < after->n_labels; i++) {
		struct gpumon_label *label = gpumon_row_add_label(row);

		label->name = copy_string(after->labels[i].name);
		label->value = copy_string(after->labels[i].value);
		label->number = after->labels[i].number;
	}
	for (size_t i = 0; i < after->n_columns; i++) {
		const struct gpumon_column *column = &after->columns[i], *old = NULL;

		if (before && column->name)
			old = gpumon_row_column(before, column->name);
		diff_column(row, old, column);
	}
}

/* The row with the number and the labels of @like, or NULL. */
static const struct gpumon_row *find_row(const struct gpumon_statistics *statistics,
					 const struct gpumon_row *like)
{
	const struct gpumon_row *row =
		like->number.known ? gpumon_statistics_row(statistics, like->number.v) : NULL;

	return row && same_labels(row, like, gpumon_is_usage(statistics)) ? row : NULL;
}

/*
 * Subtract what a removed process had in the earlier reading from a row that may have its counts now.
 * @left: by column, what was in no row so far
 */
static void take_out(struct gpumon_row *sums, const struct gpumon_row *removed, uint64_t *left)
{
	for (size_t i = 0; i < removed->n_columns; i++) {
		struct gpumon_column *column =
			removed->columns[i].name ?
				gpumon_row_column(sums, removed->columns[i].name) :
				NULL;
		uint64_t part;

		if (!column || !column->value.known)
			continue;
		part = left[i] < column->value.v ? left[i] : column->value.v;
		column->value.v -= part;
		left[i] -= part;
	}
}

static bool same_ring(const struct gpumon_row *a, const struct gpumon_row *b)
{
	return gpumon_same_text(gpumon_row_label(a, "device"), gpumon_row_label(b, "device")) &&
	       gpumon_same_text(gpumon_row_label(a, "ring"), gpumon_row_label(b, "ring"));
}

/**
 * struct sum_row - a row that sums up removed processes
 * @row: the row, of a ring
 * @cgroup: of which cgroup they were; 0: none is known
 * @other: the row of all that found no room, of whatever ring
 */
struct sum_row {
	struct gpumon_row *row;
	uint64_t cgroup;
	bool other;
};

/* Where the counts of a removed process may have gone, the likeliest first. */
enum sum_kind {
	SUM_OF_CGROUP,	  /* the row of the cgroup that it had in the earlier reading */
	SUM_OF_OTHERS,	  /* of another cgroup, to which it had moved */
	SUM_OF_NO_CGROUP, /* of no cgroup, though most of that row is work of no process */
	SUM_WITHOUT_ROW,  /* of all that found no room */
	SUM_KINDS
};

static bool is_of_kind(const struct sum_row *sum, enum sum_kind kind, uint64_t cgroup,
		       const struct gpumon_row *removed)
{
	if (kind == SUM_WITHOUT_ROW || sum->other)
		return kind == SUM_WITHOUT_ROW && sum->other;
	if (!same_ring(sum->row, removed))
		return false;
	switch (kind) {
	case SUM_OF_CGROUP:
		return sum->cgroup == cgroup;
	case SUM_OF_OTHERS:
		return sum->cgroup != 0;
	default:
		return true;
	}
}

/*
 * A row of a removed process: its counts went to the row of the cgroup that the process had at the
 * end, mostly the one that it had in @before. If that row has not grown by as much, the process had
 * moved, and the rest is in the row of another cgroup.
 */
static void diff_removed(const struct sum_row *sums, size_t n, const struct gpumon_model *before,
			 const struct gpumon_row *removed)
{
	uint64_t id = gpumon_row_number(removed, "process"), cgroup = 0;
	uint64_t *left = gpumon_calloc(removed->n_columns, sizeof(*left));
	bool known = false;

	for (size_t i = 0; i < removed->n_columns; i++)
		left[i] = removed->columns[i].value.v;
	for (size_t i = 0; i < before->n_processes && !known; i++) {
		known = before->processes[i].id.known && before->processes[i].id.v == id;
		cgroup = known ? before->processes[i].cgroup_id.v : 0;
	}
	for (enum sum_kind kind = known ? SUM_OF_CGROUP : SUM_OF_OTHERS; kind < SUM_KINDS; kind++) {
		for (size_t i = 0; i < n; i++) {
			if (is_of_kind(&sums[i], kind, cgroup, removed))
				take_out(sums[i].row, removed, left);
		}
	}
	free(left);
}

/* The difference of the table drm_sched.usage, in which rows of removed processes become one. */
static void diff_usage(struct gpumon_statistics *diff, const struct gpumon_model *before,
		       const struct gpumon_statistics *table, const bool *found)
{
	struct sum_row *sums = gpumon_calloc(diff->n_rows, sizeof(*sums));
	size_t n = 0;

	for (size_t i = 0; i < diff->n_rows; i++) {
		struct gpumon_row *row = &diff->rows[i];

		if (gpumon_row_number(row, "process") || gpumon_row_number(row, "client"))
			continue;
		sums[n++] = (struct sum_row){
			.row = row,
			.cgroup = gpumon_row_number(row, "cgroup"),
			.other = gpumon_is_other(row),
		};
	}
	for (size_t i = 0; i < table->n_rows; i++) {
		if (!found[i] && gpumon_row_number(&table->rows[i], "process"))
			diff_removed(sums, n, before, &table->rows[i]);
	}
	free(sums);
}

static void diff_table(struct gpumon_model *diff, const struct gpumon_model *before_model,
		       const struct gpumon_statistics *after)
{
	const struct gpumon_statistics *before =
		gpumon_model_statistics(before_model, after->group, after->table);
	struct gpumon_statistics *statistics = gpumon_model_add_statistics(diff);
	bool *found = gpumon_calloc(before ? before->n_rows : 0, sizeof(*found));

	statistics->group = copy_string(after->group);
	statistics->table = copy_string(after->table);
	for (size_t i = 0; i < after->n_rows; i++) {
		const struct gpumon_row *old = before ? find_row(before, &after->rows[i]) : NULL;

		if (old)
			found[old - before->rows] = true;
		diff_row(statistics, old, &after->rows[i]);
	}
	if (before && gpumon_is_usage(after))
		diff_usage(statistics, before_model, before, found);
	free(found);
}

/* Copies an array of structures with their strings. */
#define COPY_ALL(diff, after, array, n, fields)                                   \
	for (size_t i = 0; i < (after)->n; i++) {                                 \
		memcpy(GPUMON_GROW((diff)->array, (diff)->n), &(after)->array[i], \
		       sizeof(*(after)->array));                                  \
		gpumon_fields_copy(fields, &(diff)->array[i]);                    \
	}

static void diff_info(struct gpumon_model *diff, const struct gpumon_info *before)
{
	gpumon_fields_subtract(&gpumon_info_fields, &diff->info, before);
	gpumon_fields_subtract(&gpumon_process_fields, &diff->info.exited, &before->exited);
	diff->info.since_ns = before->now_ns;
}

void gpumon_model_diff(struct gpumon_model *diff, const struct gpumon_model *before,
		       const struct gpumon_model *after)
{
	const struct gpumon_model nothing = { 0 };
	const struct gpumon_model *base = before;
	size_t next = 0;

	diff->parts = after->parts;
	diff->inconsistent = after->inconsistent | before->inconsistent;
	diff->info = after->info;
	gpumon_fields_copy(&gpumon_info_fields, &diff->info);
	gpumon_fields_copy(&gpumon_process_fields, &diff->info.exited);
	diff->info.missing_options = NULL;
	diff->info.n_missing_options = 0;
	COPY_ALL(&diff->info, &after->info, missing_options, n_missing_options,
		 &gpumon_missing_option_fields);
	diff->reset_between = before->info.period.known && after->info.period.known &&
			      before->info.period.v != after->info.period.v;
	if (diff->reset_between)
		base = &nothing;
	else
		diff_info(diff, &before->info);
	diff->interval_ns = gpumon_value_subtract(diff->info.now_ns, diff->info.since_ns).v;

	/* Its counters restart when it is switched on, not at a reset: do not subtract them. */
	diff->event_ring = after->event_ring;

	for (size_t i = 0; i < after->n_groups; i++) {
		const struct gpumon_group *group = &after->groups[i];

		diff_group(diff, group->name ? gpumon_model_group(base, group->name) : NULL, group);
	}
	for (size_t i = 0; i < after->n_rings; i++)
		diff_ring(diff, find_ring(base, &after->rings[i]), &after->rings[i]);
	for (size_t i = 0; i < after->n_histograms; i++)
		diff_histogram(diff, base, after, &after->histograms[i]);
	for (size_t i = 0; i < after->n_processes; i++) {
		const struct gpumon_process *process = &after->processes[i];

		diff_process(diff, find_process(base, process, &next), process);
	}
	for (size_t i = 0; i < after->n_statistics; i++)
		diff_table(diff, base, &after->statistics[i]);
	/* What follows is no count. */
	diff->sched_policy = after->sched_policy;
	COPY_ALL(diff, after, cgroups, n_cgroups, &gpumon_cgroup_fields);
	COPY_ALL(diff, after, dmem, n_dmem, &gpumon_dmem_fields);
	COPY_ALL(diff, after, devices, n_devices, &gpumon_device_fields);
	COPY_ALL(diff, after, layouts, n_layouts, &gpumon_layout_fields);
	COPY_ALL(diff, after, alerts, n_alerts, &gpumon_alert_fields);
}
