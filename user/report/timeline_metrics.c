// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "time_range.h"
#include "timeline_metrics.h"

/**
 * struct gpumon_track_source - a device of a process with samples
 * @samples: number of them
 * @first_ns: begin of the first one
 * @last_ns: end of the last one
 * @bin_ns: length of the parts of the time that have a counter each; 0: each sample has one
 * @bin: number of the part that is open
 * @begin_ns: begin of the first sample in it
 * @end_ns: end of the last sample until now
 * @sums: of the open part, by number of the metric
 * @tracks: by number of the metric, NULL until there is a value
 */
struct gpumon_track_source {
	uint32_t process;
	uint32_t device;
	uint64_t samples;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t bin_ns;
	uint64_t bin;
	uint64_t begin_ns;
	uint64_t end_ns;
	struct gpumon_metric_sum *sums;
	const struct gpumon_track **tracks;
};

static struct gpumon_track_source *find_source(struct gpumon_track_metrics *metrics,
					       uint32_t process, uint32_t device)
{
	const struct gpumon_key key = { { process, device } };
	struct gpumon_track_source *source = GPUMON_KEYS_VALUE(
		&metrics->source_keys, &key, metrics->sources, metrics->source_room, NULL);

	source->process = process;
	source->device = device;
	return source;
}

static bool is_shown(const struct gpumon_track_metrics *metrics, uint64_t time_ns)
{
	return gpumon_time_within(metrics->rows->from_ns, metrics->rows->until_ns, time_ns);
}

void gpumon_track_metrics_look(struct gpumon_track_metrics *metrics, uint32_t process,
			       const struct gpumon_record *record)
{
	struct gpumon_record_metric_sample sample;
	struct gpumon_track_source *source;

	if (record->type == GPUMON_RECORD_METRIC_SET)
		gpumon_metric_sets_add(&metrics->sets, process, record);
	if (record->type != GPUMON_RECORD_METRIC_SAMPLE)
		return;
	gpumon_record_copy(&sample, sizeof(sample), record);
	if (sample.end_ns <= sample.start_ns)
		return;
	source = find_source(metrics, process, sample.device);
	if (!source->samples || sample.start_ns < source->first_ns)
		source->first_ns = sample.start_ns;
	if (sample.end_ns > source->last_ns)
		source->last_ns = sample.end_ns;
	source->samples++;
}

void gpumon_track_metrics_turn(struct gpumon_track_metrics *metrics)
{
	gpumon_metric_sets_name(&metrics->sets, metrics->rows->tables, metrics->pool);
	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		struct gpumon_track_source *source = &metrics->sources[i];
		uint32_t count = metrics->sets.kind_count;

		source->sums = gpumon_calloc((size_t)count + 1, sizeof(*source->sums));
		source->tracks = gpumon_calloc((size_t)count + 1, sizeof(*source->tracks));
		if (source->samples > GPUMON_TRACK_SAMPLES_MAX)
			source->bin_ns =
				(source->last_ns - source->first_ns) / GPUMON_TRACK_SAMPLES_MAX + 1;
	}
}

/* "DRAM throughput, %", "DRAM throughput, %, mean of 2.00 ms" */
static const struct gpumon_track *track_of(struct gpumon_track_metrics *metrics,
					   struct gpumon_track_source *source, uint32_t number)
{
	const struct gpumon_metric_kind *kind = &metrics->sets.kinds[number];
	const char *unit = kind->about ? gpumon_metric_unit_text(kind->about) : "";
	char name[256], ns[GPUMON_TEXT_NUMBER];

	if (source->tracks[number])
		return source->tracks[number];
	snprintf(name, sizeof(name), "%.160s%s%s%s%s", gpumon_metric_name(kind), *unit ? ", " : "",
		 unit, source->bin_ns ? ", mean of " : "",
		 source->bin_ns ? gpumon_text_ns(ns, sizeof(ns), source->bin_ns) : "");
	source->tracks[number] =
		gpumon_rows_counter(metrics->rows, source->process, source->device, name);
	return source->tracks[number];
}

static void put_counter(struct gpumon_track_metrics *metrics, struct gpumon_track_source *source,
			uint32_t number, uint64_t time_ns, double value)
{
	const struct gpumon_track_event event = {
		.track = track_of(metrics, source, number),
		.type = GPUMON_TRACK_COUNTER,
		.category = GPUMON_CATEGORY_METRIC,
		.name = source->tracks[number]->name,
		.start_ns = time_ns,
		.number = value,
	};

	metrics->sink->event(metrics->sink->data, &event);
}

/* A counter would go on for ever: where no sample is, it is 0. */
static void put_nothing(struct gpumon_track_metrics *metrics, struct gpumon_track_source *source)
{
	for (uint32_t i = 0; i < metrics->sets.kind_count; i++) {
		if (source->tracks[i])
			put_counter(metrics, source, i, source->end_ns, 0);
	}
}

static void put_part(struct gpumon_track_metrics *metrics, struct gpumon_track_source *source)
{
	for (uint32_t i = 0; i < metrics->sets.kind_count; i++) {
		double mean;

		if (gpumon_metric_mean(&source->sums[i], &mean))
			put_counter(metrics, source, i, source->begin_ns, mean);
		else if (source->tracks[i])
			put_counter(metrics, source, i, source->begin_ns, 0);
	}
	memset(source->sums, 0, metrics->sets.kind_count * sizeof(*source->sums));
	source->begin_ns = 0;
}

void gpumon_track_metrics_add(struct gpumon_track_metrics *metrics, uint32_t process,
			      const struct gpumon_record *record)
{
	struct gpumon_metric_values values;
	struct gpumon_track_source *source;
	uint64_t bin = 0;
	bool gap;

	if (record->type != GPUMON_RECORD_METRIC_SAMPLE ||
	    !gpumon_metric_sets_read(&metrics->sets, process, record, &values) ||
	    !is_shown(metrics, values.start_ns))
		return;
	source = find_source(metrics, process, values.device);
	if (source->bin_ns)
		bin = (values.start_ns - source->first_ns) / source->bin_ns;
	/* Times of samples that follow each other may differ by a little. */
	gap = source->end_ns && values.start_ns > source->end_ns + values.span.ns / 2;
	if (source->begin_ns && (!source->bin_ns || bin != source->bin || gap))
		put_part(metrics, source);
	if (gap)
		put_nothing(metrics, source);
	if (!source->begin_ns)
		source->begin_ns = values.start_ns;
	source->bin = bin;
	source->end_ns = values.end_ns;
	gpumon_metric_values_add(&metrics->sets, &values, 1, source->sums, 1);
}

void gpumon_track_metrics_end(struct gpumon_track_metrics *metrics)
{
	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		struct gpumon_track_source *source = &metrics->sources[i];

		if (source->begin_ns)
			put_part(metrics, source);
		put_nothing(metrics, source);
	}
}

void gpumon_track_metrics_clear(struct gpumon_track_metrics *metrics)
{
	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		free(metrics->sources[i].sums);
		free(metrics->sources[i].tracks);
	}
	gpumon_keys_clear(&metrics->source_keys);
	free(metrics->sources);
	gpumon_metric_sets_clear(&metrics->sets);
	free(metrics->sets.kinds);
}
