/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which metrics the samples of a capture have, and their values. */
#ifndef GPUMON_REPORT_METRIC_SETS_H
#define GPUMON_REPORT_METRIC_SETS_H

#include "captures.h"
#include "lib/map.h"
#include "metrics.h"

#define GPUMON_METRIC_NONE UINT32_MAX

/**
 * struct gpumon_metric_set - what the samples of a device have
 * @numbers: of each value its metric, or GPUMON_METRIC_NONE; until gpumon_metric_sets_name() string ids
 * @count: number of these
 * @active: place of the metric that says how active SMs were, or GPUMON_METRIC_NONE
 */
struct gpumon_metric_set {
	uint32_t process;
	uint32_t device;
	uint32_t *numbers;
	uint32_t count;
	uint32_t active;
};

/**
 * struct gpumon_metric_sets - a zeroed one is empty
 * @keys: process, device and number of the set to its place in @sets
 * @kinds: metrics by number, the most important first
 * @kind_count: number of @kinds
 */
struct gpumon_metric_sets {
	struct gpumon_keys keys;
	struct gpumon_metric_set *sets;
	uint32_t room;
	struct gpumon_metric_kind *kinds;
	unsigned int kind_count;
};

/**
 * struct gpumon_metric_values - a sample with its values
 * @start_ns: begin
 * @end_ns: end
 * @device: id
 * @set: which metrics these are
 * @count: number of values
 * @at: the values, not aligned
 * @span: its time
 */
struct gpumon_metric_values {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device;
	const struct gpumon_metric_set *set;
	uint32_t count;
	const char *at;
	struct gpumon_metric_span span;
};

/* Add a record of a set. Of several with one number, the first one counts. */
void gpumon_metric_sets_add(struct gpumon_metric_sets *sets, uint32_t process,
			    const struct gpumon_record *record);
/* All definitions are known: give metrics their numbers. Names are in the pool. */
void gpumon_metric_sets_name(struct gpumon_metric_sets *sets, const struct gpumon_tables *tables,
			     struct gpumon_pool *pool);
/* Read a record of a sample. False if it has no length, or its metrics are not known: then it has only times. */
bool gpumon_metric_sets_read(struct gpumon_metric_sets *sets, uint32_t process,
			     const struct gpumon_record *record,
			     struct gpumon_metric_values *values);
double gpumon_metric_value(const struct gpumon_metric_values *values, uint32_t place);
/* Add a part of its values to sums by number. @stride: elements from one metric to the next */
void gpumon_metric_values_add(const struct gpumon_metric_sets *sets,
			      const struct gpumon_metric_values *values, double part,
			      struct gpumon_metric_sum *sums, size_t stride);
/* All but @kinds. */
void gpumon_metric_sets_clear(struct gpumon_metric_sets *sets);

#endif /* GPUMON_REPORT_METRIC_SETS_H */
