/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Metrics of GPUs (--gpu-metrics): what each means, its unit, and how samples of it are averaged; of whole
 * GPUs, and of kernels in whose executions samples lie.
 */
#ifndef GPUMON_REPORT_METRICS_H
#define GPUMON_REPORT_METRICS_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/gpu_metrics.h"
#include "lib/format.h"

struct gpumon_view;
struct gpumon_table;
struct gpumon_kernel_row;

enum gpumon_metric_unit {
	GPUMON_METRIC_PLAIN, /* of metrics that are not known */
	GPUMON_METRIC_PERCENT,
	GPUMON_METRIC_BYTES, /* a second */
	GPUMON_METRIC_HZ,
};

enum gpumon_metric_average {
	GPUMON_AVERAGE_TIME, /* mean, weighted by the length of samples */
	GPUMON_AVERAGE_ACTIVE, /* the same, by the part of it in which SMs were active: the ratio of sums */
	GPUMON_AVERAGE_RATE, /* the sum of what samples counted, by the sum of their lengths */
};

/**
 * struct gpumon_metric_about - what is known of a metric
 * @text: "DRAM throughput"
 * @title: of its column in the table by kernel, NULL: it has none
 */
struct gpumon_metric_about {
	const char *text;
	const char *title;
	enum gpumon_metric_unit unit;
	enum gpumon_metric_average average;
};

/* What CUPTI's name means: enum gpumon_metric, or GPUMON_METRICS if it is not known. */
int gpumon_metric_find(const char *name);
/* NULL if it is not known. */
const struct gpumon_metric_about *gpumon_metric_about(const char *name);
/* By what it means. */
const struct gpumon_metric_about *gpumon_metric_known(enum gpumon_metric metric);

/* "88.4%", "1.51 TB/s", "1.98 GHz" */
#define GPUMON_METRIC_TEXT 32
const char *gpumon_metric_text(char text[GPUMON_METRIC_TEXT],
			       const struct gpumon_metric_about *about, double value);

/* "percent" and so on, NULL if it is not known. */
const char *gpumon_metric_unit_key(const struct gpumon_metric_about *about);
/* "%", "B/s", "Hz" */
const char *gpumon_metric_unit_text(const struct gpumon_metric_about *about);

/**
 * struct gpumon_metric_sum - samples of a metric
 * @sum: of the values, times their weights
 * @weight: sum of weights
 * @least: lowest value of a sample
 * @most: highest one
 * @samples: number of samples that have a value
 */
struct gpumon_metric_sum {
	double sum;
	double weight;
	double least;
	double most;
	uint64_t samples;
};

/**
 * struct gpumon_metric_span - the time of a sample
 * @ns: its length, not 0
 * @active: part of it in which SMs were active, 1 if that is not known
 */
struct gpumon_metric_span {
	uint64_t ns;
	double active;
};

/*
 * Add @part (of 1) of a sample. Values that are not available, or that no double holds, are left out.
 */
void gpumon_metric_add(struct gpumon_metric_sum *to, const struct gpumon_metric_about *about,
		       const struct gpumon_metric_span *span, double value, double part);
/* A value of one sample: of what was counted the rate. */
double gpumon_metric_of_span(const struct gpumon_metric_about *about,
			     const struct gpumon_metric_span *span, double value);
/* False: there is none. */
bool gpumon_metric_mean(const struct gpumon_metric_sum *of, double *mean);

/* --- in a profile */

/* A metric of the capture. @about: NULL if it is not known */
struct gpumon_metric_kind {
	const char *name;
	const struct gpumon_metric_about *about;
};

/* "DRAM throughput", or CUPTI's name. */
const char *gpumon_metric_name(const struct gpumon_metric_kind *kind);

/**
 * struct gpumon_metric_device - samples of a device of a process: of a whole GPU
 * @process: number of the process that took them
 * @device: its id
 * @text: "GPU0"
 * @gpu: number of the GPU, ~0 if nothing ran on it
 * @multiprocessors: 0 if unknown
 * @interval_ns: distance of samples that was asked for
 * @samples: number of samples that are shown
 * @sampled_ns: time of these
 * @unreadable: samples whose metrics are not known, or which have no length
 * @of_kernels: samples of @samples that lie in executions of one kernel
 * @beyond: samples of which is not known in which kernel they lie: there are too many
 * @has: by number of the metric: it was asked for here
 * @sums: by number of the metric
 * @bins: with a timeline: of each metric as many parts of the time as gpumon_metrics has
 */
struct gpumon_metric_device {
	uint32_t process;
	uint32_t device;
	const char *text;
	uint32_t gpu;
	uint32_t multiprocessors;
	uint64_t interval_ns;
	uint64_t samples;
	uint64_t sampled_ns;
	uint64_t unreadable;
	uint64_t of_kernels;
	uint64_t beyond;
	bool *has;
	struct gpumon_metric_sum *sums;
	struct gpumon_metric_sum *bins;
};

/**
 * struct gpumon_metrics - metrics of a profile
 * @kinds: the metrics that occur, the most important first
 * @count: number of these
 * @devices: by process and device
 * @device_count: number of these
 * @from_ns: with a timeline: its beginning
 * @bin_ns: length of a part of it, 0 without a timeline
 * @bins: number of parts
 */
struct gpumon_metrics {
	struct gpumon_metric_kind *kinds;
	unsigned int count;
	struct gpumon_metric_device *devices;
	unsigned int device_count;
	uint64_t from_ns;
	uint64_t bin_ns;
	unsigned int bins;
};

/**
 * struct gpumon_kernel_metrics - samples that lie in executions of a kernel
 * @samples: number of these
 * @ns: time of them
 * @sums: by number of the metric
 */
struct gpumon_kernel_metrics {
	uint64_t samples;
	uint64_t ns;
	struct gpumon_metric_sum *sums;
};

/*
 * A sample is one of a kernel if nothing else ran in it, and the kernel for this part of it at least:
 * between executions in a row there is a microsecond, and what the sample says differs by as much.
 */
#define GPUMON_METRIC_FILLED 95 /* percent */

/* --- outputs */

/* Columns of the table by kernel. */
#define GPUMON_METRIC_COLUMNS 4
struct gpumon_metric_columns {
	const struct gpumon_metric_about *about[GPUMON_METRIC_COLUMNS];
	unsigned int count;
};

/* Which of them the captures have; without metrics none. */
void gpumon_metric_columns(const struct gpumon_view *view, struct gpumon_metric_columns *columns);
/* Samples of a kernel; NULL: the captures do not have the metric. */
const struct gpumon_metric_sum *gpumon_kernel_metric_sum(const struct gpumon_view *view,
							 const struct gpumon_kernel_row *row,
							 const struct gpumon_metric_about *about);
/* The mean of a kernel; false if no sample lies in it. */
bool gpumon_kernel_metric(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
			  const struct gpumon_metric_about *about, double *mean);
/* "SM 98.1%, DRAM 88.4% in 120 samples"; "" if there are none. */
const char *gpumon_kernel_metrics_text(char *buf, size_t len, const struct gpumon_view *view,
				       const struct gpumon_kernel_row *row);
/* The columns of a table, and their cells in the row of a kernel. */
void gpumon_kernel_metrics_head(const struct gpumon_view *view, struct gpumon_table *table);
void gpumon_kernel_metrics_cells(const struct gpumon_view *view,
				 const struct gpumon_kernel_row *row, struct gpumon_table *table);
/* What is to be known of them, in sentences; "" without metrics. */
const char *gpumon_metrics_note(char *buf, size_t len, const struct gpumon_view *view);
/* The table of metrics by GPU. 0, or -1. */
int gpumon_metrics_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view);
struct json_object *gpumon_metrics_json(const struct gpumon_view *view);
/* Of a kernel in a view that has metrics. */
struct json_object *gpumon_kernel_metrics_json(const struct gpumon_view *view,
					       const struct gpumon_kernel_row *row);

#endif /* GPUMON_REPORT_METRICS_H */
