/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of statistics that describe themselves: rows, each with labels, of counters, gauges and
 * histograms. A driver lists its columns and counts into them; debugfs, netlink and so userspace
 * follow the description.
 */
#ifndef GPUMON_STATISTICS_H
#define GPUMON_STATISTICS_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "counters.h"
#include "field.h"
#include "gpumon.h"
#include "histogram.h"
#include "table.h"
#include "uapi/gpumon_netlink.h"

struct gpumon_group;

#define GPUMON_LABELS	 5
#define GPUMON_LABEL_LEN 32

/* Key and row of all keys without a row of their own; gpumon_row_learn() never fails for it. */
#define GPUMON_ROW_OTHER      1
#define GPUMON_ROW_OTHER_SLOT 0

/* Label of a device that is unknown. */
#define GPUMON_DEVICE_UNKNOWN "-"

/**
 * struct gpumon_column - one column
 * @name: name with the unit at its end: "bytes", "latency_ns"; counts have none
 * @kind: counter, gauge or histogram
 * @bits: of a histogram: the last bucket holds what is 2^bits and more, 0 is 42 (73 minutes in ns)
 * @with_next: a gauge whose level is kept in a half of the next column's, another gauge
 * @interval: a counter of the nanoseconds in which something was so, one of a table at most:
 *            gpumon_interval_begin() and gpumon_interval_end() on its word
 * @needs: the column is unknown while this field of a private type is not
 *         resolved, NULL if it needs none
 * @roles: bits of the roles of its group's probes that count it: it is unknown where one of
 *         these roles cannot be attached
 * @known: asked in the same way, for what depends on something else or on the row; NULL for
 *         always
 */
struct gpumon_column {
	const char *name;
	enum gpumon_column_kind kind;
	u8 bits;
	bool with_next;
	bool interval;
	const struct gpumon_field *needs;
	u64 roles;
	bool (*known)(const struct gpumon_group *group, u32 row);
};

/* Columns, followed by further initialisers. */
#define GPUMON_COUNTER(_name, ...) \
	{ .name = _name, .kind = GPUMON_COLUMN_KIND_COUNTER, ##__VA_ARGS__ }
#define GPUMON_GAUGE(_name, ...) \
	{ .name = _name, .kind = GPUMON_COLUMN_KIND_GAUGE, ##__VA_ARGS__ }
#define GPUMON_HISTOGRAM(_name, ...) \
	{ .name = _name, .kind = GPUMON_COLUMN_KIND_HISTOGRAM, ##__VA_ARGS__ }

/**
 * struct gpumon_gauge - a level, of one row
 * @now: the level, of what was seen to begin
 * @halves: two levels that change at once: that of the column before, with gpumon_column.with_next, and
 *          the own one
 * @begun: something was seen to begin, else the level is unknown
 */
struct gpumon_gauge {
	union {
		atomic64_t now;
		atomic_t halves[2];
	};
	bool begun;
};

/**
 * struct gpumon_bounds - levels of a gauge
 * @begin: at the begin of the closed period
 * @end: at its end, where the one that runs begins
 */
struct gpumon_bounds {
	s64 begin;
	s64 end;
};

/**
 * struct gpumon_place - where the words of a column lie in a row
 * @bucket: a histogram's first bucket
 * @buckets: number of its buckets
 * @extreme: highest value of a histogram or gauge; that of the complement of a
 *           histogram's lowest follows
 * @own_extreme: where that is in a CPU's copy of the row
 * @bounds: of a gauge: which of its row's gauges it is
 */
struct gpumon_place {
	u16 bucket;
	u16 buckets;
	u16 extreme;
	u16 own_extreme;
	u16 bounds;
};

/**
 * struct gpumon_statistics - a table of rows
 * @name: name within the group: "crtcs"
 * @labels: names of the labels: "device", "crtc"; NULL behind the last
 * @numbers: bit i: label i is a number
 * @columns: its columns
 * @column_count: number of columns
 * @capacity: rows that fit
 * @own_histograms: each CPU has the buckets of each row for itself: for many events; else all CPUs
 *                  share those of a row, which it gets with its first value
 * @exact: so many fit however their keys are spread, and a row for all others, GPUMON_ROW_OTHER;
 *         then gpumon_row_find() is not for it, and gpumon_row_learn() searches all rows
 * @table: the keys, the rest is filled in at load
 * @ready: by slot: its labels are written
 * @text: label_count labels for each slot, see gpumon_row_label()
 * @label_count: labels of a row
 * @counters: words: one for each column (counter, or sum of a histogram), the
 *            buckets of the histograms, then the extremes; all but the buckets are first in a
 *            CPU's copy if it does not have these
 * @gauges: column_count for each row; NULL in a table without gauges
 * @bounds: gauge_count for each row: their levels at the bounds of the closed period
 * @places: where the words of the columns lie
 * @gauge_count: columns that are gauges
 * @sums: words of a row that are sums
 * @words: all words of a row
 * @generation: changes when a row comes, never 0
 */
struct gpumon_statistics {
	const char *name;
	const char *labels[GPUMON_LABELS];
	u8 numbers;
	const struct gpumon_column *columns;
	u8 column_count;
	u32 capacity;
	bool own_histograms;
	bool exact;

	struct gpumon_table table;
	bool *ready;
	char (*text)[GPUMON_LABEL_LEN];
	u8 label_count;
	struct gpumon_counters counters;
	struct gpumon_gauge *gauges;
	struct gpumon_bounds *bounds;
	struct gpumon_place *places;
	u8 gauge_count;
	u32 sums;
	u32 words;
	atomic_t generation;
};

#define GPUMON_COLUMNS(_columns) .columns = _columns, .column_count = ARRAY_SIZE(_columns)

/**
 * struct gpumon_row_view - a row in one period
 * @words: the counters' words
 * @level: of the gauges, by column
 */
struct gpumon_row_view {
	u64 *words;
	s64 *level;
};

int gpumon_statistics_init(struct gpumon_statistics *statistics);
int gpumon_statistics_allocate(struct gpumon_statistics *statistics);
void gpumon_statistics_free(struct gpumon_statistics *statistics);
void gpumon_statistics_exit(struct gpumon_statistics *statistics);
size_t gpumon_statistics_bytes(const struct gpumon_statistics *statistics);
int gpumon_statistics_keep(struct gpumon_statistics *statistics);
void gpumon_statistics_close(struct gpumon_statistics *statistics);
void gpumon_statistics_supply(struct gpumon_statistics *statistics);
void gpumon_statistics_forget_levels(struct gpumon_statistics *statistics);
void gpumon_row_release(struct gpumon_statistics *statistics, u32 row);

/* For readers, with gpumon_period_lock held. */
struct gpumon_row_view *gpumon_row_view_alloc(void);
bool gpumon_row_read(const struct gpumon_statistics *statistics, u32 row, bool closed,
		     struct gpumon_row_view *view);
bool gpumon_row_level_known(const struct gpumon_statistics *statistics, u32 row, u32 column);
void gpumon_row_distribution(const struct gpumon_statistics *statistics, u32 column,
			     const struct gpumon_row_view *view,
			     struct gpumon_distribution *distribution);

/* For probes at the first event of a row. */
u32 gpumon_row_learn(struct gpumon_statistics *statistics, u64 key, const char *label0,
		     const char *label1, const char *label2);
u32 gpumon_row_learn_number(struct gpumon_statistics *statistics, u64 key, const char *label0,
			    u64 label1, const char *label2);
u32 gpumon_row_learn_labels(struct gpumon_statistics *statistics, u64 key,
			    const char *const label[GPUMON_LABELS]);
int gpumon_row_fold(struct gpumon_statistics *statistics, u32 from, u32 to);

/**
 * gpumon_row_find - row of a key
 * @statistics: table
 * @key: any 64 bits but 0 that are the same for the same labels
 *
 * Context: any, takes no lock.
 * Return: the row, GPUMON_NONE if there is none yet: gpumon_row_learn() makes it.
 */
static __always_inline u32 gpumon_row_find(const struct gpumon_statistics *statistics, u64 key)
{
	return gpumon_table_find(&statistics->table, gpumon_table_home(&statistics->table, key),
				 key, GPUMON_TABLE_WAYS);
}

/* What a row is known by, as text. */
static inline char *gpumon_row_label(const struct gpumon_statistics *statistics, u32 row,
				     unsigned int label)
{
	return statistics->text[row * statistics->label_count + label];
}

/* This CPU's words of a row; the first of them are by column. Preemption off. */
static __always_inline local64_t *gpumon_row_words(const struct gpumon_statistics *statistics,
						   u32 row)
{
	return statistics->counters.cpu[raw_smp_processor_id()] +
	       (size_t)row * statistics->counters.stride;
}

static __always_inline void gpumon_row_add(local64_t *words, unsigned int column, u64 n)
{
	local64_add(n, &words[column]);
}

/**
 * gpumon_row_begin - count an event into a counter column of its row, others may follow
 * @ctx: as filled in by gpumon_probe_enter()
 * @statistics: table
 * @row: row, GPUMON_NONE or GPUMON_UNREADABLE
 * @column: number of the column
 * @words: set to gpumon_row_words()
 *
 * Context: any, preemption off.
 * Return: false if there is no row, the event is counted as dropped then.
 */
static __always_inline bool gpumon_row_begin(struct gpumon_event_context *ctx,
					     const struct gpumon_statistics *statistics, u32 row,
					     unsigned int column, local64_t **words)
{
	if (!gpumon_probe_found(ctx, row))
		return false;
	*words = gpumon_row_words(statistics, row);
	gpumon_row_add(*words, column, 1);
	gpumon_probe_recorded(ctx);
	return true;
}

/* gpumon_row_begin() of an event that is counted in one column only. */
static __always_inline bool gpumon_row_count(struct gpumon_event_context *ctx,
					     const struct gpumon_statistics *statistics, u32 row,
					     unsigned int column)
{
	local64_t *words;

	return gpumon_row_begin(ctx, statistics, row, column, &words);
}

/**
 * gpumon_row_observe - count a value into a histogram column
 * @statistics: table
 * @words: from gpumon_row_words()
 * @column: number of the column
 * @value: value
 *
 * Context: any, preemption off.
 */
static __always_inline void gpumon_row_observe(struct gpumon_statistics *statistics,
					       local64_t *words, unsigned int column, u64 value)
{
	const struct gpumon_place *place = &statistics->places[column];
	unsigned int bucket = place->bucket + min_t(unsigned int, gpumon_histogram_index(value),
						    place->buckets - 1);

	if (statistics->own_histograms)
		local64_inc(&words[bucket]);
	else if (!gpumon_counters_shared_inc(&statistics->counters, words, bucket))
		return;
	local64_add(value, &words[column]);
	gpumon_counters_raise(&words[place->own_extreme], value);
	gpumon_counters_raise(&words[place->own_extreme + 1], ~value);
}

/*
 * Records the level that a gauge has risen to. Also called where no probe runs, on a CPU that has
 * no copy.
 */
static __always_inline void gpumon_row_raise(const struct gpumon_statistics *statistics, u32 row,
					     unsigned int column, s64 level)
{
	if (likely(statistics->counters.cpu[raw_smp_processor_id()]))
		gpumon_counters_raise(gpumon_row_words(statistics, row) +
					      statistics->places[column].own_extreme,
				      max_t(s64, level, 0));
}

/**
 * gpumon_row_level_now - level of a gauge column
 * @statistics: table
 * @row: row
 * @column: number of the column
 *
 * Context: any.
 * Return: the level, of what was seen to begin.
 */
static inline s64 gpumon_row_level_now(const struct gpumon_statistics *statistics, u32 row,
				       unsigned int column)
{
	const struct gpumon_gauge *gauge =
		&statistics->gauges[(size_t)row * statistics->column_count + column];
	const struct gpumon_column *of = &statistics->columns[column];

	if (of->with_next)
		return atomic_read(&gauge[1].halves[0]);
	if (column && of[-1].with_next)
		return atomic_read(&gauge->halves[1]);
	return atomic64_read(&gauge->now);
}

/**
 * gpumon_row_level - change a gauge column
 * @statistics: table
 * @row: row
 * @column: number of the column
 * @change: by how much; what goes down must have gone up by as much before, see level.h
 *
 * Context: any, preemption off.
 */
static __always_inline void gpumon_row_level(struct gpumon_statistics *statistics, u32 row,
					     unsigned int column, s64 change)
{
	struct gpumon_gauge *gauge =
		&statistics->gauges[(size_t)row * statistics->column_count + column];
	s64 now = atomic64_add_return(change, &gauge->now);

	if (change <= 0)
		return;
	if (unlikely(!READ_ONCE(gauge->begun)))
		WRITE_ONCE(gauge->begun, true);
	gpumon_row_raise(statistics, row, column, now);
}

/**
 * gpumon_row_level_set - give a gauge column its value
 * @statistics: table
 * @row: row
 * @column: number of the column, which gpumon_row_level() is not used for
 * @value: what it is from now on
 *
 * For a measure rather than a number of things.
 *
 * Context: any, preemption off.
 */
static __always_inline void gpumon_row_level_set(struct gpumon_statistics *statistics, u32 row,
						 unsigned int column, s64 value)
{
	struct gpumon_gauge *gauge =
		&statistics->gauges[(size_t)row * statistics->column_count + column];

	atomic64_set(&gauge->now, value);
	if (unlikely(!READ_ONCE(gauge->begun)))
		WRITE_ONCE(gauge->begun, true);
	gpumon_row_raise(statistics, row, column, value);
}

#endif /* GPUMON_STATISTICS_H */
