// SPDX-License-Identifier: GPL-2.0-only
/* debugfs: the tables of statistics, and how numbers and histograms are written. */
#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/seq_file.h>

#include "attach/probe.h"
#include "core/period.h"
#include "core/statistics.h"
#include "debugfs.h"

/* Writes a name as one column, whatever characters it has; "" as "-". */
void gpumon_debugfs_show_name(struct seq_file *m, const char *name)
{
	if (!*name)
		seq_putc(m, '-');
	for (; *name; name++)
		seq_putc(m, isgraph(*name) ? *name : '_');
}

/* Writes a blank and a number, or "-" if it is not known. */
void gpumon_debugfs_show_u64(struct seq_file *m, u64 value, bool known)
{
	if (known)
		seq_printf(m, " %llu", value);
	else
		seq_puts(m, " -");
}

/* Writes the columns p50 and p99 of a histogram. */
static void show_percentiles(struct seq_file *m, const u64 *bucket, unsigned int buckets,
			     const struct gpumon_distribution *d, bool known)
{
	static const unsigned int percent[] = { 50, 99 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(percent); i++)
		gpumon_debugfs_show_u64(m,
					gpumon_histogram_percentile(bucket, buckets, d->count,
								    d->min, d->max, percent[i]),
					known && d->count);
}

/* Writes a histogram, after its labels: the buckets that have values, in rising order. */
static void show_histogram(struct seq_file *m, const char *name, const u64 *bucket,
			   unsigned int buckets, const struct gpumon_distribution *d)
{
	unsigned int i;

	seq_printf(m, "%s: count %llu, sum %llu, min %llu, max %llu\n", name, d->count, d->sum,
		   d->min, d->max);
	for (i = 0; i < buckets; i++) {
		if (!bucket[i])
			continue;
		seq_printf(m, "[%llu, ", gpumon_histogram_lower(i));
		if (i + 1 < buckets)
			seq_printf(m, "%llu) %llu\n", gpumon_histogram_lower(i + 1), bucket[i]);
		else
			seq_printf(m, "...) %llu\n", bucket[i]);
	}
	seq_putc(m, '\n');
}

static void show_header(struct seq_file *m, const struct gpumon_group *group,
			const struct gpumon_statistics *statistics)
{
	const struct gpumon_column *column;
	int i;

	seq_printf(m, "# %s.%s\n", group->name, statistics->name);
	for (i = 0; i < GPUMON_LABELS && statistics->labels[i]; i++)
		seq_printf(m, "%s%s", i ? " " : "", statistics->labels[i]);
	for (column = statistics->columns; column < statistics->columns + statistics->column_count;
	     column++) {
		switch (column->kind) {
		case GPUMON_COLUMN_KIND_GAUGE:
			seq_printf(m, " %s %s_max", column->name, column->name);
			break;
		case GPUMON_COLUMN_KIND_HISTOGRAM:
			seq_printf(m, " %s_count %s_p50 %s_p99", column->name, column->name,
				   column->name);
			break;
		default:
			seq_printf(m, " %s", column->name);
		}
	}
	seq_putc(m, '\n');
}

static void show_column(struct seq_file *m, const struct gpumon_group *group,
			const struct gpumon_statistics *statistics, u32 row, u32 column,
			const struct gpumon_row_view *view)
{
	const struct gpumon_place *place = &statistics->places[column];
	bool known = gpumon_group_column_known(group, statistics, row, column);
	struct gpumon_distribution d;

	switch (statistics->columns[column].kind) {
	case GPUMON_COLUMN_KIND_GAUGE:
		known = known && gpumon_row_level_known(statistics, row, column);
		if (known)
			seq_printf(m, " %lld %llu", view->level[column],
				   view->words[place->extreme]);
		else
			seq_puts(m, " - -");
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		gpumon_row_distribution(statistics, column, view, &d);
		gpumon_debugfs_show_u64(m, d.count, known);
		show_percentiles(m, view->words + place->bucket, place->buckets, &d, known);
		break;
	default:
		gpumon_debugfs_show_u64(m, view->words[column], known);
	}
}

static void show_labels(struct seq_file *m, const struct gpumon_statistics *statistics, u32 row)
{
	int i;

	for (i = 0; i < GPUMON_LABELS && statistics->labels[i]; i++) {
		if (i)
			seq_putc(m, ' ');
		gpumon_debugfs_show_name(m, gpumon_row_label(statistics, row, i));
	}
}

static void show_table(struct seq_file *m, const struct gpumon_group *group,
		       const struct gpumon_statistics *statistics, struct gpumon_row_view *view)
{
	u32 row, column;

	show_header(m, group, statistics);
	for (row = 0; row < statistics->table.slots; row++) {
		if (!gpumon_row_read(statistics, row, false, view))
			continue;
		show_labels(m, statistics, row);
		for (column = 0; column < statistics->column_count; column++)
			show_column(m, group, statistics, row, column, view);
		seq_putc(m, '\n');
	}
}

/* Writes a section for each table of each group; gpumon_probe_lock and gpumon_period_lock held. */
void gpumon_debugfs_show_statistics(struct seq_file *m, struct gpumon_row_view *view)
{
	const struct gpumon_group *group;
	unsigned int g, i;

	for_each_group(group, g) {
		if (!gpumon_group_shown(group))
			continue;
		for (i = 0; i < group->statistics_count; i++)
			show_table(m, group, group->statistics[i], view);
	}
}

static void show_row_histograms(struct seq_file *m, const struct gpumon_group *group,
				const struct gpumon_statistics *statistics, u32 row,
				const struct gpumon_row_view *view)
{
	struct gpumon_distribution d;
	u32 column;

	for (column = 0; column < statistics->column_count; column++) {
		if (statistics->columns[column].kind != GPUMON_COLUMN_KIND_HISTOGRAM ||
		    !gpumon_group_column_known(group, statistics, row, column))
			continue;
		gpumon_row_distribution(statistics, column, view, &d);
		if (!d.count)
			continue;
		seq_printf(m, "%s.%s ", group->name, statistics->name);
		show_labels(m, statistics, row);
		seq_putc(m, ' ');
		show_histogram(m, statistics->columns[column].name,
			       view->words + statistics->places[column].bucket,
			       statistics->places[column].buckets, &d);
	}
}

int gpumon_debugfs_show_histograms(struct seq_file *m)
{
	struct gpumon_row_view *view = gpumon_row_view_alloc();
	const struct gpumon_statistics *statistics;
	const struct gpumon_group *group;
	unsigned int g, i;
	u32 row;

	if (!view)
		return -ENOMEM;
	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	for_each_group(group, g) {
		for (i = 0; i < group->statistics_count; i++) {
			statistics = group->statistics[i];
			for (row = 0; row < statistics->table.slots; row++)
				if (gpumon_row_read(statistics, row, false, view))
					show_row_histograms(m, group, statistics, row, view);
		}
	}
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	kvfree(view);
	return 0;
}
