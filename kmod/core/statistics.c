// SPDX-License-Identifier: GPL-2.0-only
/* Tables of statistics: laying out the words, learning rows, reading. */
#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "memory.h"
#include "period.h"
#include "statistics.h"

#define DEFAULT_BITS 42

/* Words and columns of the longest row of all tables, for readers' buffers. */
static u32 most_words, most_columns;

static bool column_has_max(const struct gpumon_column *column)
{
	return column->kind != GPUMON_COLUMN_KIND_COUNTER;
}

/**
 * gpumon_statistics_init - lay out the words of a table's rows
 * @statistics: table, described; it has no memory for rows yet
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_statistics_exit() frees what was allocated.
 */
int gpumon_statistics_init(struct gpumon_statistics *statistics)
{
	const struct gpumon_column *column;
	struct gpumon_place *place;
	u32 words = statistics->column_count, wide, i;

	atomic_set(&statistics->generation, 1);
	statistics->label_count = 0;
	statistics->gauge_count = 0;
	while (statistics->label_count < GPUMON_LABELS &&
	       statistics->labels[statistics->label_count])
		statistics->label_count++;
	statistics->places =
		kcalloc(statistics->column_count, sizeof(*statistics->places), GFP_KERNEL);
	if (!statistics->places)
		return -ENOMEM;
	for (i = 0; i < statistics->column_count; i++) {
		column = &statistics->columns[i];
		place = &statistics->places[i];
		if (column->kind == GPUMON_COLUMN_KIND_GAUGE)
			place->bounds = statistics->gauge_count++;
		if (column->interval)
			statistics->counters.interval = i + 1;
		if (column->kind != GPUMON_COLUMN_KIND_HISTOGRAM)
			continue;
		place->bucket = words;
		place->buckets = GPUMON_HISTOGRAM_BUCKETS(column->bits ?: DEFAULT_BITS);
		words += place->buckets;
	}
	statistics->sums = words;
	wide = statistics->own_histograms ? 0 : words - statistics->column_count;
	for (i = 0; i < statistics->column_count; i++) {
		column = &statistics->columns[i];
		place = &statistics->places[i];
		if (!column_has_max(column))
			continue;
		place->extreme = words++;
		place->own_extreme = place->extreme - wide;
		if (column->kind == GPUMON_COLUMN_KIND_HISTOGRAM)
			words++;
	}
	statistics->counters.sums = statistics->sums;
	statistics->counters.extremes = words - statistics->sums;
	statistics->counters.wide = wide;
	most_words = max(most_words, words);
	most_columns = max_t(u32, most_columns, statistics->column_count);
	statistics->words = words;
	return 0;
}

/**
 * gpumon_statistics_allocate - memory for the rows of a table
 * @statistics: table, laid out
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0 or -ENOMEM, then gpumon_statistics_free() frees what was allocated.
 */
int gpumon_statistics_allocate(struct gpumon_statistics *statistics)
{
	u32 rows = statistics->capacity;
	bool created;
	int ret;

	ret = statistics->exact ?
		      gpumon_table_init(&statistics->table, rows + 1, 0) :
		      gpumon_table_init(&statistics->table, rows + GPUMON_TABLE_WAYS - 1,
					GPUMON_TABLE_WAYS);
	if (ret)
		return ret;
	if (statistics->exact)
		gpumon_table_claim(&statistics->table, GPUMON_ROW_OTHER, &created);
	rows = statistics->table.slots;
	statistics->ready = gpumon_memory_zalloc(rows, sizeof(*statistics->ready), NUMA_NO_NODE);
	statistics->text = gpumon_memory_zalloc((size_t)rows * statistics->label_count,
						sizeof(*statistics->text), NUMA_NO_NODE);
	if (!statistics->ready || !statistics->text)
		return -ENOMEM;
	if (statistics->gauge_count) {
		statistics->gauges = gpumon_memory_zalloc((size_t)rows * statistics->column_count,
							  sizeof(*statistics->gauges), NUMA_NO_NODE);
		statistics->bounds = gpumon_memory_zalloc((size_t)rows * statistics->gauge_count,
							  sizeof(*statistics->bounds), NUMA_NO_NODE);
		if (!statistics->gauges || !statistics->bounds)
			return -ENOMEM;
	}
	return gpumon_counters_init(&statistics->counters, rows,
				    statistics->own_histograms ?
					    round_up(statistics->words, SMP_CACHE_BYTES / sizeof(u64)) :
					    0);
}

/**
 * gpumon_statistics_free - free what gpumon_statistics_allocate() allocated
 * @statistics: table, may be half allocated; is as it was before
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_statistics_free(struct gpumon_statistics *statistics)
{
	gpumon_counters_free(&statistics->counters);
	kvfree(statistics->bounds);
	kvfree(statistics->gauges);
	kvfree(statistics->text);
	kvfree(statistics->ready);
	statistics->bounds = NULL;
	statistics->gauges = NULL;
	statistics->text = NULL;
	statistics->ready = NULL;
	gpumon_table_free(&statistics->table);
	atomic_add(2, &statistics->generation);
}

/**
 * gpumon_statistics_exit - free all of a table
 * @statistics: table
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_statistics_exit(struct gpumon_statistics *statistics)
{
	gpumon_statistics_free(statistics);
	kfree(statistics->places);
}

/**
 * gpumon_statistics_bytes - memory of a table
 * @statistics: table
 *
 * Return: bytes.
 */
size_t gpumon_statistics_bytes(const struct gpumon_statistics *statistics)
{
	const size_t rows = statistics->table.slots, cells = rows * statistics->column_count;

	return gpumon_table_bytes(&statistics->table) +
	       gpumon_counters_bytes(&statistics->counters) +
	       gpumon_memory_held(statistics->places,
				  statistics->column_count * sizeof(*statistics->places)) +
	       gpumon_memory_held(statistics->ready, rows * sizeof(*statistics->ready)) +
	       gpumon_memory_held(statistics->text,
				  rows * statistics->label_count * sizeof(*statistics->text)) +
	       gpumon_memory_held(statistics->gauges, cells * sizeof(*statistics->gauges)) +
	       gpumon_memory_held(statistics->bounds,
				  rows * statistics->gauge_count * sizeof(*statistics->bounds));
}

/**
 * gpumon_row_learn_labels - row of a key that has none yet
 * @statistics: table
 * @key: key
 * @label: as many labels as the table has, NULL for an empty one
 *
 * Context: any, preemption off, takes no lock.
 * Return: the row, GPUMON_NONE if the table is full: GPUMON_DROP_TABLE_FULL.
 */
noinline u32 gpumon_row_learn_labels(struct gpumon_statistics *statistics, u64 key,
				     const char *const label[GPUMON_LABELS])
{
	bool created;
	u32 slot;
	int i;

	slot = gpumon_table_claim(&statistics->table, key, &created);
	if (slot == GPUMON_NONE)
		return slot;
	/* Two CPUs that learn a row at once write the same. */
	if (!smp_load_acquire(&statistics->ready[slot])) {
		for (i = 0; i < statistics->label_count; i++)
			strscpy(gpumon_row_label(statistics, slot, i), label[i] ?: "",
				GPUMON_LABEL_LEN);
		/* Pairs with gpumon_row_read(). */
		smp_store_release(&statistics->ready[slot], true);
		atomic_add(2, &statistics->generation);
	}
	return slot;
}

/**
 * gpumon_row_learn - as gpumon_row_learn_labels(), with up to three labels
 * @statistics: table
 * @key: key
 * @label0: first label
 * @label1: second label, NULL if there is none
 * @label2: third label, NULL if there is none
 *
 * Context: any, preemption off, takes no lock.
 * Return: the row, GPUMON_NONE if the table is full.
 */
noinline u32 gpumon_row_learn(struct gpumon_statistics *statistics, u64 key, const char *label0,
			      const char *label1, const char *label2)
{
	const char *const label[GPUMON_LABELS] = { label0, label1, label2 };

	return gpumon_row_learn_labels(statistics, key, label);
}

/**
 * gpumon_row_learn_number - as gpumon_row_learn(), with a number as the second label
 * @statistics: table
 * @key: key
 * @label0: first label
 * @label1: second label
 * @label2: third label, NULL if there is none
 *
 * Context: any, preemption off, takes no lock.
 * Return: the row, GPUMON_NONE if the table is full.
 */
noinline u32 gpumon_row_learn_number(struct gpumon_statistics *statistics, u64 key,
				     const char *label0, u64 label1, const char *label2)
{
	char number[24];
	const char *const label[GPUMON_LABELS] = { label0, number, label2 };

	snprintf(number, sizeof(number), "%llu", label1);
	return gpumon_row_learn_labels(statistics, key, label);
}

/**
 * gpumon_row_release - free a row for another key
 * @statistics: table
 * @row: slot with a row that no probe uses
 *
 * Its counts are gone, also those of the closed period.
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_row_release(struct gpumon_statistics *statistics, u32 row)
{
	const size_t columns = statistics->column_count, gauges = statistics->gauge_count;

	lockdep_assert_held(&gpumon_period_lock);
	WRITE_ONCE(statistics->ready[row], false);
	gpumon_counters_zero(&statistics->counters, row);
	if (statistics->gauges) {
		memset(statistics->gauges + row * columns, 0,
		       columns * sizeof(*statistics->gauges));
		memset(statistics->bounds + row * gauges, 0, gauges * sizeof(*statistics->bounds));
	}
	gpumon_table_release(&statistics->table, row);
	atomic_add(2, &statistics->generation);
}

/**
 * gpumon_row_fold - add the counts of a row to those of another one
 * @statistics: table of counters only
 * @from: row that no probe uses, which is freed
 * @to: another row
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0, or -ENOMEM: both rows are as they were.
 */
int gpumon_row_fold(struct gpumon_statistics *statistics, u32 from, u32 to)
{
	int ret;

	lockdep_assert_held(&gpumon_period_lock);
	ret = gpumon_counters_fold(&statistics->counters, from, to);
	if (!ret)
		gpumon_row_release(statistics, from);
	return ret;
}

/**
 * gpumon_statistics_forget_levels - what was begun is not followed any more
 * @statistics: table
 *
 * Intervals end.
 *
 * Context: gpumon_period_lock held, no probe of its group runs.
 */
void gpumon_statistics_forget_levels(struct gpumon_statistics *statistics)
{
	size_t i;

	for (i = 0; statistics->gauges && i < (size_t)statistics->table.slots * statistics->column_count;
	     i++) {
		atomic64_set(&statistics->gauges[i].now, 0);
		WRITE_ONCE(statistics->gauges[i].begun, false);
	}
	gpumon_counters_settle(&statistics->counters);
}

/**
 * gpumon_statistics_keep - get memory for the end of a period
 * @statistics: table
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0 or -ENOMEM.
 */
int gpumon_statistics_keep(struct gpumon_statistics *statistics)
{
	lockdep_assert_held(&gpumon_period_lock);
	return gpumon_counters_keep(&statistics->counters, statistics->table.keys,
				    statistics->table.slots);
}

/**
 * gpumon_statistics_supply - memory for buckets of rows that come
 * @statistics: table
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_statistics_supply(struct gpumon_statistics *statistics)
{
	lockdep_assert_held(&gpumon_period_lock);
	gpumon_counters_supply(&statistics->counters);
}

static struct gpumon_bounds *gauge_bounds(const struct gpumon_statistics *statistics, u32 row,
					  u32 column)
{
	return &statistics->bounds[(size_t)row * statistics->gauge_count +
				   statistics->places[column].bounds];
}

/**
 * gpumon_statistics_close - end the period
 * @statistics: table, gpumon_statistics_keep() was called
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_statistics_close(struct gpumon_statistics *statistics)
{
	struct gpumon_bounds *bounds;
	u32 row, i;

	lockdep_assert_held(&gpumon_period_lock);
	for (row = 0; statistics->gauges && row < statistics->table.slots; row++) {
		if (!gpumon_read_once64(statistics->table.keys[row]))
			continue;
		for (i = 0; i < statistics->column_count; i++) {
			if (statistics->columns[i].kind != GPUMON_COLUMN_KIND_GAUGE)
				continue;
			bounds = gauge_bounds(statistics, row, i);
			bounds->begin = bounds->end;
			bounds->end = gpumon_row_level_now(statistics, row, i);
		}
	}
	gpumon_counters_close(&statistics->counters);
	atomic_add(2, &statistics->generation);
}

/**
 * gpumon_row_view_alloc - room for any row of any table
 *
 * Context: may sleep, all tables are initialised.
 * Return: the view, for kvfree(), or NULL.
 */
struct gpumon_row_view *gpumon_row_view_alloc(void)
{
	struct gpumon_row_view *view = kvzalloc(
		sizeof(*view) + (size_t)(most_words + most_columns) * sizeof(u64), GFP_KERNEL);

	if (!view)
		return NULL;
	view->words = (u64 *)(view + 1);
	view->level = (s64 *)(view->words + most_words);
	return view;
}

/**
 * gpumon_row_read - a row in one period
 * @statistics: table
 * @row: slot
 * @closed: the period that the last reset closed, else the one that runs
 * @view: filled in
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if no row is in this slot.
 */
bool gpumon_row_read(const struct gpumon_statistics *statistics, u32 row, bool closed,
		     struct gpumon_row_view *view)
{
	const struct gpumon_bounds *bounds;
	u32 i, max;

	/* Pairs with gpumon_row_learn_labels(): the labels are complete. */
	if (!smp_load_acquire(&statistics->ready[row]))
		return false;
	gpumon_counters_read(&statistics->counters, row, closed, view->words);
	for (i = 0; i < statistics->column_count; i++) {
		if (statistics->columns[i].kind != GPUMON_COLUMN_KIND_GAUGE)
			continue;
		bounds = gauge_bounds(statistics, row, i);
		view->level[i] = closed ? bounds->end : gpumon_row_level_now(statistics, row, i);
		/*
		 * The level at the begin of the period may be its highest: probes record only
		 * rises.
		 */
		max = statistics->places[i].extreme;
		view->words[max] = max3((s64)view->words[max], view->level[i],
					closed ? bounds->begin : bounds->end);
	}
	return true;
}

/**
 * gpumon_row_level_known - has a gauge of a row a baseline
 * @statistics: table
 * @row: slot with a row
 * @column: number of a gauge column
 *
 * Return: whether something was seen to begin since its group was attached.
 */
bool gpumon_row_level_known(const struct gpumon_statistics *statistics, u32 row, u32 column)
{
	return READ_ONCE(statistics->gauges[(size_t)row * statistics->column_count + column].begun);
}

/**
 * gpumon_row_distribution - count, sum and extremes of a histogram column
 * @statistics: table
 * @column: number of the column
 * @view: row
 * @distribution: filled in
 */
void gpumon_row_distribution(const struct gpumon_statistics *statistics, u32 column,
			     const struct gpumon_row_view *view,
			     struct gpumon_distribution *distribution)
{
	const struct gpumon_place *place = &statistics->places[column];

	gpumon_histogram_distribution(view->words + place->bucket, place->buckets,
				      view->words[column], view->words[place->extreme],
				      view->words[place->extreme + 1], distribution);
}
