/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The text that Prometheus reads: OpenMetrics 1.0.0, and the older text format 0.0.4. Only the form of
 * it: what is counted, and what it is called, is elsewhere.
 */
#ifndef GPUMON_LIB_OPENMETRICS_H
#define GPUMON_LIB_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum gpumon_metric_type {
	GPUMON_METRIC_COUNTER,
	GPUMON_METRIC_GAUGE,
	GPUMON_METRIC_HISTOGRAM,
	GPUMON_METRIC_INFO, /* always 1: its labels are what it says */
};

/**
 * struct gpumon_labels - labels of a sample as they are written: a="x",b="y"
 * @text: NUL-terminated, NULL before the first one
 * @used: its length
 * @room: bytes that there is room for
 */
struct gpumon_labels {
	char *text;
	size_t used;
	size_t room;
};

/*
 * Add a label. One whose value is NULL or empty is left out: to Prometheus both are the same. Bytes
 * that are not UTF-8 become U+FFFD. Bytes of @name that no label may have become "_".
 */
void gpumon_labels_add(struct gpumon_labels *labels, const char *name, const char *value);
/* Keep the first @used bytes: what @used of the structure was before the others were added. */
void gpumon_labels_cut(struct gpumon_labels *labels, size_t used);
void gpumon_labels_clear(struct gpumon_labels *labels);
/* Never NULL. */
const char *gpumon_labels_text(const struct gpumon_labels *labels);

/**
 * gpumon_openmetrics_name() - the name of a metric from that of a column with a unit
 * @prefix: "gpumon_ring"
 * @column: "busy_ns", which becomes "gpumon_ring_busy_seconds"
 * @unit: out: "seconds", "bytes", "hertz", or "" without one; a constant
 * @digits: out: the column's numbers are multiples of 10^-digits of that
 *
 * Return: the name, to be freed, without the "_total" of a counter.
 */
char *gpumon_openmetrics_name(const char *prefix, const char *column, const char **unit,
			      unsigned int *digits);

/**
 * struct gpumon_exposition - a text that is being written
 * @stream: where to
 * @openmetrics: in OpenMetrics; otherwise in the text format 0.0.4
 */
struct gpumon_exposition {
	FILE *stream;
	bool openmetrics;
};

/* What HTTP calls the two formats. */
const char *gpumon_exposition_content_type(bool openmetrics);

/* Begin a family of metrics. Its samples follow at once. @name is without "_total" and the like. */
void gpumon_exposition_family(const struct gpumon_exposition *exposition, const char *name,
			      enum gpumon_metric_type type, const char *unit, const char *help);

/**
 * gpumon_exposition_sample() - a line
 * @exposition: text
 * @name: name of the family
 * @suffix: "_total", "_bucket" and the like, or ""
 * @labels: as of gpumon_labels_text()
 * @more: one more label, written, or ""
 * @negative: @number is below 0
 * @number: its size
 * @digits: of these digits the last ones are behind the point
 */
void gpumon_exposition_sample(const struct gpumon_exposition *exposition, const char *name,
			      const char *suffix, const char *labels, const char *more,
			      bool negative, uint64_t number, unsigned int digits);

/* The end of a text: without it an OpenMetrics text is refused as cut off. */
void gpumon_exposition_end(const struct gpumon_exposition *exposition);

#endif /* GPUMON_LIB_OPENMETRICS_H */
