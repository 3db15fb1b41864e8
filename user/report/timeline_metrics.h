/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Metrics of GPUs as counters of a timeline: of many samples, means of as many parts of the time. */
#ifndef GPUMON_REPORT_TIMELINE_METRICS_H
#define GPUMON_REPORT_TIMELINE_METRICS_H

#include "metric_sets.h"
#include "timeline.h"
#include "timeline_rows.h"

/* Counters of a metric of one device; with more samples each is the mean of several. */
#define GPUMON_TRACK_SAMPLES_MAX 20000u

/**
 * struct gpumon_track_metrics - a zeroed one is empty but for @sink, @rows and @pool
 * @source_keys: process and device to the place in @sources
 */
struct gpumon_track_metrics {
	const struct gpumon_track_sink *sink;
	struct gpumon_track_rows *rows;
	struct gpumon_pool *pool;
	struct gpumon_metric_sets sets;
	struct gpumon_keys source_keys;
	struct gpumon_track_source *sources;
	uint32_t source_room;
};

/* In the first pass. */
void gpumon_track_metrics_look(struct gpumon_track_metrics *metrics, uint32_t process,
			       const struct gpumon_record *record);
void gpumon_track_metrics_turn(struct gpumon_track_metrics *metrics);
/* In the second pass. */
void gpumon_track_metrics_add(struct gpumon_track_metrics *metrics, uint32_t process,
			      const struct gpumon_record *record);
void gpumon_track_metrics_end(struct gpumon_track_metrics *metrics);
void gpumon_track_metrics_clear(struct gpumon_track_metrics *metrics);

#endif /* GPUMON_REPORT_TIMELINE_METRICS_H */
