// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The difference of two readings, see gpumon_model_diff(). */
#include <string.h>

#include "lib/memory.h"
#include "model_fields.h"

/* From nothing: what came since the earlier reading counts from its own beginning. */
static const struct gpumon_histogram no_histogram = {
	.count = { .known = true },
	.sum = { .known = true },
};

static bool same_string(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

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
		if (same_string(group->probes[i].name, like->name) &&
		    same_string(group->probes[i].module, like->module) &&
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

		if (same_value(ring->id, like->id) && same_string(ring->device, like->device) &&
		    same_string(ring->name, like->name))
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

		if (!same_value(process->pid, like->pid) ||
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
	struct gpumon_row *row = gpumon_statistics_add_row(statistics);

	row->number = after->number;
	for (size_t i = 0; i < after->n_labels; i++) {
		struct gpumon_label *label = gpumon_row_add_label(row);

		label->name = copy_string(after->labels[i].name);
		label->value = copy_string(after->labels[i].value);
		label->number = after->labels[i].number;
	}
	if (before && !same_labels(before, after))
		before = NULL;
	for (size_t i = 0; i < after->n_columns; i++) {
		const struct gpumon_column *column = &after->columns[i], *old = NULL;

		if (before && column->name)
			old = gpumon_row_column(before, column->name);
		diff_column(row, old, column);
	}
}

static void diff_table(struct gpumon_model *diff, const struct gpumon_statistics *before,
		       const struct gpumon_statistics *after)
{
	struct gpumon_statistics *statistics = gpumon_model_add_statistics(diff);

	statistics->group = copy_string(after->group);
	statistics->table = copy_string(after->table);
	for (size_t i = 0; i < after->n_rows; i++) {
		const struct gpumon_row *row = &after->rows[i], *old = NULL;

		if (before && row->number.known)
			old = gpumon_statistics_row(before, row->number.v);
		diff_row(statistics, old, row);
	}
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
	static const struct gpumon_model nothing;
	const struct gpumon_model *base = before;
	size_t next = 0;

	diff->parts = after->parts;
	diff->inconsistent = after->inconsistent | before->inconsistent;
	diff->info = after->info;
	gpumon_fields_copy(&gpumon_info_fields, &diff->info);
	gpumon_fields_copy(&gpumon_process_fields, &diff->info.exited);
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
	for (size_t i = 0; i < after->n_statistics; i++) {
		const struct gpumon_statistics *table = &after->statistics[i];

		diff_table(diff, gpumon_model_statistics(base, table->group, table->table), table);
	}
	/* Layouts and alerts are no counts. */
	for (size_t i = 0; i < after->n_layouts; i++) {
		struct gpumon_layout *layout = gpumon_model_add_layout(diff);

		*layout = after->layouts[i];
		gpumon_fields_copy(&gpumon_layout_fields, layout);
	}
	for (size_t i = 0; i < after->n_alerts; i++) {
		struct gpumon_alert *alert = gpumon_model_add_alert(diff);

		*alert = after->alerts[i];
		gpumon_fields_copy(&gpumon_alert_fields, alert);
	}
}
