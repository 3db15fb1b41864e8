// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "model_fields.h"
#include "../kmod/uapi/gpumon_options.h"

struct gpumon_group *gpumon_model_add_group(struct gpumon_model *model)
{
	return GPUMON_GROW(model->groups, model->n_groups);
}

struct gpumon_probe *gpumon_group_add_probe(struct gpumon_group *group)
{
	return GPUMON_GROW(group->probes, group->n_probes);
}

struct gpumon_ring *gpumon_model_add_ring(struct gpumon_model *model)
{
	return GPUMON_GROW(model->rings, model->n_rings);
}

struct gpumon_histogram *gpumon_model_add_histogram(struct gpumon_model *model)
{
	return GPUMON_GROW(model->histograms, model->n_histograms);
}

struct gpumon_process *gpumon_model_add_process(struct gpumon_model *model)
{
	return GPUMON_GROW(model->processes, model->n_processes);
}

struct gpumon_statistics *gpumon_model_add_statistics(struct gpumon_model *model)
{
	return GPUMON_GROW(model->statistics, model->n_statistics);
}

struct gpumon_row *gpumon_statistics_add_row(struct gpumon_statistics *statistics,
					     struct gpumon_value number)
{
	struct gpumon_row *row = GPUMON_GROW(statistics->rows, statistics->n_rows);

	row->number = number;
	if (number.known)
		gpumon_map_set(&statistics->by_number, number.v, statistics->n_rows);
	return row;
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

struct gpumon_cgroup *gpumon_model_add_cgroup(struct gpumon_model *model)
{
	return GPUMON_GROW(model->cgroups, model->n_cgroups);
}

struct gpumon_dmem *gpumon_model_add_dmem(struct gpumon_model *model)
{
	return GPUMON_GROW(model->dmem, model->n_dmem);
}

struct gpumon_device *gpumon_model_add_device(struct gpumon_model *model)
{
	return GPUMON_GROW(model->devices, model->n_devices);
}

void gpumon_histogram_clear(struct gpumon_histogram *histogram)
{
	free(histogram->group);
	free(histogram->name);
	free(histogram->buckets);
	memset(histogram, 0, sizeof(*histogram));
}

void gpumon_group_clear(struct gpumon_group *group)
{
	for (size_t i = 0; i < group->n_probes; i++)
		gpumon_fields_free(&gpumon_probe_fields, &group->probes[i]);
	free(group->probes);
	gpumon_fields_free(&gpumon_group_fields, group);
	memset(group, 0, sizeof(*group));
}

struct gpumon_missing_option *gpumon_info_add_missing_option(struct gpumon_info *info)
{
	return GPUMON_GROW(info->missing_options, info->n_missing_options);
}

bool gpumon_option_costs(const char *option)
{
#define COSTS(name, costs, lost)                       \
	if (gpumon_same_text(option, "CONFIG_" #name)) \
		return costs;
	GPUMON_OPTIONS(COSTS)
#undef COSTS
	return true;
}

void gpumon_info_clear(struct gpumon_info *info)
{
	for (size_t i = 0; i < info->n_missing_options; i++)
		gpumon_fields_free(&gpumon_missing_option_fields, &info->missing_options[i]);
	free(info->missing_options);
	gpumon_fields_free(&gpumon_process_fields, &info->exited);
	gpumon_fields_free(&gpumon_info_fields, info);
	memset(info, 0, sizeof(*info));
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

static void clear_table(struct gpumon_statistics *statistics)
{
	for (size_t k = 0; k < statistics->n_rows; k++)
		gpumon_row_clear(&statistics->rows[k]);
	free(statistics->rows);
	gpumon_map_clear(&statistics->by_number);
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

/* Free an array, whose elements are cleared. */
#define FREE_ARRAY(array, n)    \
	do {                    \
		free(array);    \
		(array) = NULL; \
		(n) = 0;        \
	} while (0)

void gpumon_model_clear_dmem(struct gpumon_model *model)
{
	for (size_t i = 0; i < model->n_dmem; i++)
		gpumon_fields_free(&gpumon_dmem_fields, &model->dmem[i]);
	FREE_ARRAY(model->dmem, model->n_dmem);
}

void gpumon_model_clear(struct gpumon_model *model, unsigned int parts)
{
	if (parts & GPUMON_PART_INFO)
		gpumon_info_clear(&model->info);
	if (parts & GPUMON_PART_EVENT_RING)
		memset(&model->event_ring, 0, sizeof(model->event_ring));
	if (parts & GPUMON_PART_GROUPS) {
		for (size_t i = 0; i < model->n_groups; i++)
			gpumon_group_clear(&model->groups[i]);
		FREE_ARRAY(model->groups, model->n_groups);
	}
	if (parts & GPUMON_PART_RINGS) {
		for (size_t i = 0; i < model->n_rings; i++)
			gpumon_fields_free(&gpumon_ring_fields, &model->rings[i]);
		FREE_ARRAY(model->rings, model->n_rings);
		for (size_t i = 0; i < model->n_devices; i++)
			gpumon_fields_free(&gpumon_device_fields, &model->devices[i]);
		FREE_ARRAY(model->devices, model->n_devices);
		model->sched_policy = (struct gpumon_value){ 0 };
	}
	if (parts & GPUMON_PART_HISTOGRAMS) {
		for (size_t i = 0; i < model->n_histograms; i++)
			gpumon_histogram_clear(&model->histograms[i]);
		FREE_ARRAY(model->histograms, model->n_histograms);
	}
	if (parts & GPUMON_PART_PROCESSES) {
		for (size_t i = 0; i < model->n_processes; i++)
			gpumon_fields_free(&gpumon_process_fields, &model->processes[i]);
		FREE_ARRAY(model->processes, model->n_processes);
		for (size_t i = 0; i < model->n_cgroups; i++)
			gpumon_fields_free(&gpumon_cgroup_fields, &model->cgroups[i]);
		FREE_ARRAY(model->cgroups, model->n_cgroups);
		gpumon_model_clear_dmem(model);
	}
	if (parts & GPUMON_PART_STATISTICS) {
		for (size_t i = 0; i < model->n_statistics; i++)
			clear_table(&model->statistics[i]);
		FREE_ARRAY(model->statistics, model->n_statistics);
	}
	if (parts & GPUMON_PART_LAYOUTS) {
		for (size_t i = 0; i < model->n_layouts; i++)
			gpumon_fields_free(&gpumon_layout_fields, &model->layouts[i]);
		FREE_ARRAY(model->layouts, model->n_layouts);
	}
	if (parts & GPUMON_PART_ALERTS) {
		for (size_t i = 0; i < model->n_alerts; i++)
			gpumon_fields_free(&gpumon_alert_fields, &model->alerts[i]);
		FREE_ARRAY(model->alerts, model->n_alerts);
	}
	model->parts &= ~parts;
	model->inconsistent &= ~parts;
}

void gpumon_model_free(struct gpumon_model *model)
{
	gpumon_model_clear(model, GPUMON_PART_ALL);
	memset(model, 0, sizeof(*model));
}

const struct gpumon_group *gpumon_model_group(const struct gpumon_model *model, const char *name)
{
	for (size_t i = 0; i < model->n_groups; i++) {
		if (model->groups[i].name && !strcmp(model->groups[i].name, name))
			return &model->groups[i];
	}
	return NULL;
}

const struct gpumon_ring *gpumon_model_ring(const struct gpumon_model *model, uint64_t id)
{
	for (size_t i = 0; i < model->n_rings; i++) {
		if (model->rings[i].id.known && model->rings[i].id.v == id)
			return &model->rings[i];
	}
	return NULL;
}

const struct gpumon_histogram *gpumon_model_histogram(const struct gpumon_model *model,
						      uint64_t ring_id, const char *name)
{
	for (size_t i = 0; i < model->n_histograms; i++) {
		const struct gpumon_histogram *histogram = &model->histograms[i];

		if (histogram->ring_id.known && histogram->ring_id.v == ring_id &&
		    histogram->name && !strcmp(histogram->name, name))
			return histogram;
	}
	return NULL;
}

struct gpumon_statistics *gpumon_model_statistics(const struct gpumon_model *model,
						  const char *group, const char *table)
{
	/* Search from the end: a dump continues its last table. */
	for (size_t i = model->n_statistics; i-- > 0;) {
		struct gpumon_statistics *statistics = &model->statistics[i];

		if (gpumon_same_text(statistics->table, table) &&
		    gpumon_same_text(statistics->group, group))
			return statistics;
	}
	return NULL;
}

struct gpumon_row *gpumon_statistics_row(const struct gpumon_statistics *statistics,
					 uint64_t number)
{
	uint64_t at = gpumon_map_get(&statistics->by_number, number);

	return at ? &statistics->rows[at - 1] : NULL;
}

struct gpumon_column *gpumon_row_column(const struct gpumon_row *row, const char *name)
{
	for (size_t i = 0; i < row->n_columns; i++) {
		if (gpumon_same_text(row->columns[i].name, name))
			return &row->columns[i];
	}
	return NULL;
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

uint64_t gpumon_row_number(const struct gpumon_row *row, const char *name)
{
	const char *text = gpumon_row_label(row, name);
	unsigned long long number;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end ? 0 : number;
}

bool gpumon_is_other(const struct gpumon_row *row)
{
	return gpumon_same_text(gpumon_row_label(row, "device"), "-") &&
	       gpumon_same_text(gpumon_row_label(row, "ring"), "other");
}

bool gpumon_is_usage(const struct gpumon_statistics *statistics)
{
	return gpumon_same_text(statistics->group, "drm_sched") &&
	       gpumon_same_text(statistics->table, "usage");
}

const char *gpumon_attach_state_name(struct gpumon_value state)
{
	static const char *const names[] = {
		[GPUMON_ATTACH_STATE_OFF] = "off",
		[GPUMON_ATTACH_STATE_WAITING] = "waiting",
		[GPUMON_ATTACH_STATE_ATTACHED] = "attached",
		[GPUMON_ATTACH_STATE_MISSING] = "missing",
		[GPUMON_ATTACH_STATE_MISMATCH] = "mismatch",
		[GPUMON_ATTACH_STATE_FAILED] = "failed",
	};

	if (!state.known || state.v >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[state.v];
}

const char *gpumon_sched_policy_name(struct gpumon_value policy)
{
	static const char *const names[] = { "RR", "FIFO", "FAIR" };

	return policy.known && policy.v < sizeof(names) / sizeof(names[0]) ? names[policy.v] : NULL;
}

const char *gpumon_probe_kind_name(struct gpumon_value kind)
{
	static const char *const names[] = {
		[GPUMON_PROBE_KIND_TRACEPOINT] = "tracepoint",
		[GPUMON_PROBE_KIND_KPROBE] = "kprobe",
		[GPUMON_PROBE_KIND_KRETPROBE] = "kretprobe",
	};

	if (!kind.known || kind.v >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[kind.v];
}

void gpumon_histogram_add_bucket(struct gpumon_histogram *histogram, uint64_t ge, uint64_t lt,
				 uint64_t count)
{
	struct gpumon_bucket *bucket = GPUMON_GROW(histogram->buckets, histogram->n_buckets);

	*bucket = (struct gpumon_bucket){ .ge = ge, .lt = lt, .count = count };
}

struct gpumon_value gpumon_histogram_percentile(const struct gpumon_histogram *histogram,
						unsigned int permille)
{
	uint64_t total = 0, rank, before = 0;
	double value;

	if (!histogram)
		return (struct gpumon_value){ 0 };

	/* Use the sum of the buckets. In a reading under load the count may differ by a few. */
	for (size_t i = 0; i < histogram->n_buckets; i++)
		total += histogram->buckets[i].count;
	if (!total)
		return (struct gpumon_value){ 0 };

	/* ceil(total * permille / 1000) without overflow. */
	rank = total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
	if (rank < 1)
		rank = 1;
	if (rank > total)
		rank = total;

	for (size_t i = 0; i < histogram->n_buckets; i++) {
		const struct gpumon_bucket *bucket = &histogram->buckets[i];
		uint64_t low = bucket->ge, high, width, at;

		if (before + bucket->count < rank) {
			before += bucket->count;
			continue;
		}
		/* lt is exclusive. An invalid bucket must not make the width wrap. */
		high = bucket->lt > low ? bucket->lt - 1 : low;
		/* min and max narrow the first and the last bucket, which are often much wider. */
		if (histogram->min.known && histogram->min.v > low && histogram->min.v <= high)
			low = histogram->min.v;
		if (histogram->max.known && histogram->max.v < high && histogram->max.v >= low)
			high = histogram->max.v;
		width = high - low;
		/* The k-th of n values is in the middle of the k-th of n equal parts. */
		value = (double)width * ((double)(rank - before) - 0.5) / (double)bucket->count;
		at = value < (double)width ? (uint64_t)(value + 0.5) : width;
		return gpumon_value_of(low + (at < width ? at : width));
	}
	return (struct gpumon_value){ 0 };
}
