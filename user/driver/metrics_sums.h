/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The sums that an exporter keeps: families of metrics with their series. A counter only grows, also
 * where that which it was read from began again. The number of series is bounded: what finds no room
 * is added to one series of its family, with the label series="other", so that sums stay right.
 */
#ifndef GPUMON_DRIVER_METRICS_SUMS_H
#define GPUMON_DRIVER_METRICS_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/openmetrics.h"
#include "lib/value.h"
#include "model.h"

/* Bounds of histograms: powers of two of nanoseconds, from a microsecond to a minute. */
#define GPUMON_METRIC_BOUNDS 27

struct gpumon_sums;

/**
 * struct gpumon_sums_limits - what the sums may take
 * @series: lines of a text, without those that describe a family
 * @forget_ns: after this time a series that is gone goes to that of the others
 */
struct gpumon_sums_limits {
	uint64_t series;
	uint64_t forget_ns;
};

#define GPUMON_SUMS_SERIES    20000
#define GPUMON_SUMS_FORGET_NS (3600 * 1000000000ULL)

struct gpumon_sums *gpumon_sums_new(struct gpumon_sums_limits limits);
void gpumon_sums_free(struct gpumon_sums *sums);

/* A reading begins: gauges that it does not set are absent then. */
void gpumon_sums_begin(struct gpumon_sums *sums, uint64_t now_ns);
/* It ends: what has been gone for too long is forgotten. */
void gpumon_sums_end(struct gpumon_sums *sums);

/**
 * gpumon_sums_family() - find or make a family
 * @sums: sums
 * @prefix: "gpumon_ring"
 * @column: "busy_ns": see gpumon_openmetrics_name()
 * @type: its type
 * @help: what it is; only looked at if the family is new
 *
 * Return: number of the family.
 */
uint32_t gpumon_sums_family(struct gpumon_sums *sums, const char *prefix, const char *column,
			    enum gpumon_metric_type type, const char *help);

/* False: there is no such family so far. */
bool gpumon_sums_has(const struct gpumon_sums *sums, const char *prefix, const char *column,
		     uint32_t *family);

/* Its series are never forgotten, and its levels stay as they are while no reading sets them. */
void gpumon_sums_keep(struct gpumon_sums *sums, uint32_t family);

/* Add to a counter. With @more unknown nothing is added, but the series is there. */
void gpumon_sums_count(struct gpumon_sums *sums, uint32_t family, const char *labels,
		       struct gpumon_value more);
/* Set a gauge, or that of an info. Nothing is done if it is unknown. */
void gpumon_sums_set(struct gpumon_sums *sums, uint32_t family, const char *labels,
		     struct gpumon_level level);
/* The same, but what this reading has set it to before is added. */
void gpumon_sums_add(struct gpumon_sums *sums, uint32_t family, const char *labels,
		     struct gpumon_value level);
/* Add the values of a histogram of nanoseconds. */
void gpumon_sums_add_histogram(struct gpumon_sums *sums, uint32_t family, const char *labels,
			       const struct gpumon_histogram *histogram);

/*
 * New series leave room for that many lines from now on; a negative number is room beyond the limit. So
 * containers, of which there may be any number, take none from what there is little of.
 */
void gpumon_sums_leave(struct gpumon_sums *sums, int64_t lines);

/* Write all of it, without the end of the text. */
void gpumon_sums_write(const struct gpumon_sums *sums, const struct gpumon_exposition *exposition);

/* Lines that there are, and label sets without a series of their own, counted in each reading. */
uint64_t gpumon_sums_series(const struct gpumon_sums *sums);
uint64_t gpumon_sums_folded(const struct gpumon_sums *sums);

#endif /* GPUMON_DRIVER_METRICS_SUMS_H */
