// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rings and their histograms, from the table drm_sched.rings. The module describes them like any
 * other table, and BPF programs use them as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "parse.h"

static const struct {
	const char *column;
	size_t value;
} counters[] = {
	{ "queued", offsetof(struct gpumon_ring, queued) },
	{ "run", offsetof(struct gpumon_ring, run) },
	{ "done", offsetof(struct gpumon_ring, done) },
	{ "errors", offsetof(struct gpumon_ring, errors) },
	{ "killed", offsetof(struct gpumon_ring, killed) },
	{ "dependency_waits", offsetof(struct gpumon_ring, dependency_waits) },
	{ "untracked", offsetof(struct gpumon_ring, untracked) },
	{ "jobs_table_full", offsetof(struct gpumon_ring, jobs_table_full) },
	{ "clock_backwards", offsetof(struct gpumon_ring, clock_backwards) },
};

static const struct {
	const char *column;
	const char *name;
} histograms[] = {
	{ "queue_ns", "queue_ns" },
	{ "run_ns", "run_ns" },
	{ "queue_depths", "queue_depth" },
	{ "hw_depths", "hw_depth" },
};

static void take_gauge(const struct gpumon_row *row, const char *name, struct gpumon_value *now,
		       struct gpumon_value *highest)
{
	const struct gpumon_column *column = gpumon_row_column(row, name);

	if (!column || !column->level.known)
		return;
	/* Two CPUs that change it at once may make it negative for a moment. */
	*now = gpumon_value_of(column->level.v > 0 ? (uint64_t)column->level.v : 0);
	if (highest)
		*highest = column->highest;
}

/* Strings and buckets are moved, not copied. */
static int take_histogram(struct gpumon_model *model, struct gpumon_row *row, size_t i)
{
	struct gpumon_column *column = gpumon_row_column(row, histograms[i].column);
	struct gpumon_histogram *histogram;

	if (!column)
		return 0;
	histogram = gpumon_model_add_histogram(model);
	if (!histogram)
		return -ENOMEM;
	*histogram = column->histogram;
	memset(&column->histogram, 0, sizeof(column->histogram));
	histogram->ring_id = row->number;
	histogram->group = strdup("drm_sched");
	histogram->name = strdup(histograms[i].name);
	return histogram->group && histogram->name ? 0 : -ENOMEM;
}

static int take_row(struct gpumon_model *model, struct gpumon_row *row)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(model);
	const char *device = gpumon_row_label(row, "device");
	const char *name = gpumon_row_label(row, "ring");

	if (!ring)
		return -ENOMEM;
	ring->id = row->number;
	ring->device = device ? strdup(device) : NULL;
	ring->name = name ? strdup(name) : NULL;
	if ((device && !ring->device) || (name && !ring->name))
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		const struct gpumon_column *column = gpumon_row_column(row, counters[i].column);

		if (column)
			*(struct gpumon_value *)((char *)ring + counters[i].value) = column->value;
	}
	take_gauge(row, "queue_depth", &ring->queue_depth, &ring->queue_depth_max);
	take_gauge(row, "hw_depth", &ring->hw_depth, &ring->hw_depth_max);
	take_gauge(row, "live", &ring->live, NULL);
	for (size_t i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++)
		if (take_histogram(model, row, i))
			return -ENOMEM;
	return 0;
}

int gpumon_parse_rings(struct gpumon_model *model)
{
	struct gpumon_statistics *table = gpumon_model_statistics(model, "drm_sched", "rings");
	int ret = 0;

	if (!table)
		return 0;
	for (size_t i = 0; i < table->n_rows && !ret; i++)
		ret = take_row(model, &table->rows[i]);
	gpumon_model_remove_statistics(model, table);
	return ret;
}
