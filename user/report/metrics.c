// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <math.h>
#include <string.h>

#include "lib/json.h"
#include "lib/table.h"
#include "lib/text.h"
#include "metrics.h"
#include "view.h"

/* --- what is known of metrics */

static const struct gpumon_metric_about abouts[GPUMON_METRICS] = {
	[GPUMON_METRIC_SM_ACTIVE] = { .text = "SM active",
				      .title = "SM",
				      .unit = GPUMON_METRIC_PERCENT,
				      .average = GPUMON_AVERAGE_TIME },
	/* Of active SMs: a sample in which few were active says less. */
	[GPUMON_METRIC_OCCUPANCY] = { .text = "occupancy",
				      .title = "OCC",
				      .unit = GPUMON_METRIC_PERCENT,
				      .average = GPUMON_AVERAGE_ACTIVE },
	[GPUMON_METRIC_TENSOR] = { .text = "tensor pipes",
				   .title = "TENSOR",
				   .unit = GPUMON_METRIC_PERCENT,
				   .average = GPUMON_AVERAGE_TIME },
	[GPUMON_METRIC_DRAM] = { .text = "DRAM throughput",
				 .title = "DRAM",
				 .unit = GPUMON_METRIC_PERCENT,
				 .average = GPUMON_AVERAGE_TIME },
	[GPUMON_METRIC_ISSUE] = { .text = "instructions issued",
				  .unit = GPUMON_METRIC_PERCENT,
				  .average = GPUMON_AVERAGE_TIME },
	[GPUMON_METRIC_DRAM_READ] = { .text = "DRAM read",
				      .unit = GPUMON_METRIC_BYTES,
				      .average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_DRAM_WRITTEN] = { .text = "DRAM written",
					 .unit = GPUMON_METRIC_BYTES,
					 .average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_PCIE_READ] = { .text = "PCIe read by the GPU",
				      .unit = GPUMON_METRIC_BYTES,
				      .average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_PCIE_WRITTEN] = { .text = "PCIe written by the GPU",
					 .unit = GPUMON_METRIC_BYTES,
					 .average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_NVLINK_RECEIVED] = { .text = "NVLink received",
					    .unit = GPUMON_METRIC_BYTES,
					    .average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_NVLINK_SENT] = { .text = "NVLink sent",
					.unit = GPUMON_METRIC_BYTES,
					.average = GPUMON_AVERAGE_RATE },
	[GPUMON_METRIC_GR_ACTIVE] = { .text = "compute engine active",
				      .unit = GPUMON_METRIC_PERCENT,
				      .average = GPUMON_AVERAGE_TIME },
	[GPUMON_METRIC_SM_CLOCK] = { .text = "SM clock",
				     .unit = GPUMON_METRIC_HZ,
				     .average = GPUMON_AVERAGE_TIME },
};

int gpumon_metric_find(const char *name)
{
	for (size_t i = 0; i < GPUMON_METRIC_NAMES; i++) {
		if (!strcmp(gpumon_metric_names[i].name, name))
			return (int)gpumon_metric_names[i].metric;
	}
	return GPUMON_METRICS;
}

const struct gpumon_metric_about *gpumon_metric_known(enum gpumon_metric metric)
{
	return &abouts[metric];
}

const struct gpumon_metric_about *gpumon_metric_about(const char *name)
{
	int metric = gpumon_metric_find(name);

	return metric < GPUMON_METRICS ? &abouts[metric] : NULL;
}

static enum gpumon_metric_unit unit_of(const struct gpumon_metric_about *about)
{
	return about ? about->unit : GPUMON_METRIC_PLAIN;
}

const char *gpumon_metric_unit_key(const struct gpumon_metric_about *about)
{
	static const char *const keys[] = {
		[GPUMON_METRIC_PLAIN] = NULL,
		[GPUMON_METRIC_PERCENT] = "percent",
		[GPUMON_METRIC_BYTES] = "bytes_per_second",
		[GPUMON_METRIC_HZ] = "hz",
	};

	return keys[unit_of(about)];
}

static const char *scaled(char text[GPUMON_METRIC_TEXT], double value, const char *unit)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
	unsigned int by = 0;

	/* 999.6 is 1.00 of the next one. */
	while (fabs(value) >= 999.5 && by + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
		value /= 1000;
		by++;
	}
	snprintf(text, GPUMON_METRIC_TEXT, "%.*f%s%s%s",
		 !by		     ? 0 :
		 fabs(value) < 9.995 ? 2 :
		 fabs(value) < 99.95 ? 1 :
				       0,
		 value, *unit ? " " : "", prefixes[by], unit);
	return text;
}

const char *gpumon_metric_text(char text[GPUMON_METRIC_TEXT],
			       const struct gpumon_metric_about *about, double value)
{
	switch (unit_of(about)) {
	case GPUMON_METRIC_PERCENT:
		snprintf(text, GPUMON_METRIC_TEXT, fabs(value) < 1e6 ? "%.1f%%" : "%.3g%%", value);
		return text;
	case GPUMON_METRIC_BYTES:
		return scaled(text, value, "B/s");
	case GPUMON_METRIC_HZ:
		return scaled(text, value, "Hz");
	case GPUMON_METRIC_PLAIN:
		break;
	}
	snprintf(text, GPUMON_METRIC_TEXT, "%.4g", value);
	return text;
}

const char *gpumon_metric_unit_text(const struct gpumon_metric_about *about)
{
	static const char *const texts[] = {
		[GPUMON_METRIC_PLAIN] = "",
		[GPUMON_METRIC_PERCENT] = "%",
		[GPUMON_METRIC_BYTES] = "B/s",
		[GPUMON_METRIC_HZ] = "Hz",
	};

	return texts[unit_of(about)];
}

const char *gpumon_metric_name(const struct gpumon_metric_kind *kind)
{
	return kind->about ? kind->about->text : kind->name;
}

/* --- sums */

double gpumon_metric_of_span(const struct gpumon_metric_about *about,
			     const struct gpumon_metric_span *span, double value)
{
	return about && about->average == GPUMON_AVERAGE_RATE ? value * 1e9 / (double)span->ns :
								value;
}

void gpumon_metric_add(struct gpumon_metric_sum *to, const struct gpumon_metric_about *about,
		       const struct gpumon_metric_span *span, double value, double part)
{
	double weight = (double)span->ns * part,
	       of_span = gpumon_metric_of_span(about, span, value);

	if (about && about->average == GPUMON_AVERAGE_ACTIVE)
		weight *= span->active;
	if (!isfinite(value) || !isfinite(of_span) || !isfinite(weight) || weight < 0)
		return;
	if (!to->samples || of_span < to->least)
		to->least = of_span;
	if (!to->samples || of_span > to->most)
		to->most = of_span;
	to->samples++;
	to->sum += of_span * weight;
	to->weight += weight;
}

bool gpumon_metric_mean(const struct gpumon_metric_sum *of, double *mean)
{
	*mean = of->weight > 0 ? of->sum / of->weight : NAN;
	return isfinite(*mean);
}

/* --- by kernel */

void gpumon_metric_columns(const struct gpumon_view *view, struct gpumon_metric_columns *columns)
{
	memset(columns, 0, sizeof(*columns));
	for (unsigned int i = 0; view->metrics && i < view->metrics->count; i++) {
		const struct gpumon_metric_about *about = view->metrics->kinds[i].about;

		/* It may have several names. */
		if (about && about->title && columns->count < GPUMON_METRIC_COLUMNS &&
		    (!columns->count || columns->about[columns->count - 1] != about))
			columns->about[columns->count++] = about;
	}
}

const struct gpumon_metric_sum *gpumon_kernel_metric_sum(const struct gpumon_view *view,
							 const struct gpumon_kernel_row *row,
							 const struct gpumon_metric_about *about)
{
	const struct gpumon_metric_sum *most = NULL;

	/* Of GPUs of several kinds, that with most samples. */
	for (unsigned int i = 0; row->metrics && i < view->metrics->count; i++) {
		const struct gpumon_metric_sum *sum = &row->metrics->sums[i];

		if (view->metrics->kinds[i].about == about &&
		    (!most || sum->samples > most->samples))
			most = sum;
	}
	return most;
}

bool gpumon_kernel_metric(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
			  const struct gpumon_metric_about *about, double *mean)
{
	const struct gpumon_metric_sum *sum = gpumon_kernel_metric_sum(view, row, about);

	return sum && gpumon_metric_mean(sum, mean);
}

const char *gpumon_kernel_metrics_text(char *buf, size_t len, const struct gpumon_view *view,
				       const struct gpumon_kernel_row *row)
{
	char text[GPUMON_METRIC_TEXT], count[GPUMON_TEXT_NUMBER];
	struct gpumon_metric_columns columns;
	size_t at = 0;
	double mean;

	buf[0] = '\0';
	gpumon_metric_columns(view, &columns);
	for (unsigned int i = 0; row->metrics && i < columns.count && at < len; i++) {
		if (gpumon_kernel_metric(view, row, columns.about[i], &mean))
			at += (size_t)snprintf(buf + at, len - at, "%s%s %s", at ? ", " : "",
					       columns.about[i]->title,
					       gpumon_metric_text(text, columns.about[i], mean));
	}
	if (at && at < len)
		snprintf(buf + at, len - at, " in %s %s",
			 gpumon_text_count(count, sizeof(count), row->metrics->samples),
			 row->metrics->samples == 1 ? "sample" : "samples");
	return buf;
}

void gpumon_kernel_metrics_head(const struct gpumon_view *view, struct gpumon_table *table)
{
	struct gpumon_metric_columns columns;

	gpumon_metric_columns(view, &columns);
	for (unsigned int i = 0; i < columns.count; i++)
		gpumon_table_column(table, columns.about[i]->title, GPUMON_COLUMN_RIGHT);
	if (columns.count)
		gpumon_table_column(table, "SAMPLED", GPUMON_COLUMN_RIGHT);
}

void gpumon_kernel_metrics_cells(const struct gpumon_view *view,
				 const struct gpumon_kernel_row *row, struct gpumon_table *table)
{
	char text[GPUMON_METRIC_TEXT];
	struct gpumon_metric_columns columns;
	double mean;

	gpumon_metric_columns(view, &columns);
	for (unsigned int i = 0; i < columns.count; i++)
		gpumon_table_text(table, gpumon_kernel_metric(view, row, columns.about[i], &mean) ?
						 gpumon_metric_text(text, columns.about[i], mean) :
						 "-");
	if (columns.count)
		gpumon_table_count(table, row->metrics ? row->metrics->samples : 0);
}

/* --- by GPU */

static void append(char *buf, size_t len, const char *text)
{
	size_t at = strlen(buf);

	snprintf(buf + at, len - at, "%s%s", at ? " " : "", text);
}

const char *gpumon_metrics_note(char *buf, size_t len, const struct gpumon_view *view)
{
	const struct gpumon_metrics *metrics = view->metrics;
	uint64_t samples = 0, ns = 0, of_kernels = 0, unreadable = 0, beyond = 0;
	char a[GPUMON_TEXT_NUMBER], b[GPUMON_TEXT_NUMBER], text[256];

	buf[0] = '\0';
	for (unsigned int i = 0; metrics && i < metrics->device_count; i++) {
		const struct gpumon_metric_device *device = &metrics->devices[i];

		samples = gpumon_add_saturated(samples, device->samples);
		ns = gpumon_add_saturated(ns, device->sampled_ns);
		of_kernels = gpumon_add_saturated(of_kernels, device->of_kernels);
		unreadable = gpumon_add_saturated(unreadable, device->unreadable);
		beyond = gpumon_add_saturated(beyond, device->beyond);
	}
	if (samples) {
		snprintf(
			text, sizeof(text),
			"Means of %s samples, %s each on average, of whole GPUs: work of other processes is part of them.",
			gpumon_text_count(a, sizeof(a), samples),
			gpumon_text_ns(b, sizeof(b), ns / samples));
		append(buf, len, text);
		snprintf(
			text, sizeof(text),
			"In %s of them one kernel, copy or memset ran alone: these are the samples of a row.",
			gpumon_text_count(a, sizeof(a), of_kernels));
		append(buf, len, text);
	}
	for (unsigned int i = 0; metrics && i < metrics->device_count; i++) {
		const struct gpumon_metric_device *device = &metrics->devices[i];

		if (device->samples)
			continue;
		snprintf(text, sizeof(text),
			 "Metrics of %s were asked for, and no sample of them %s.", device->text,
			 device->unreadable ? "can be read" :
			 view->range	    ? "is in this part" :
					      "was recorded");
		append(buf, len, text);
	}
	if (beyond) {
		snprintf(text, sizeof(text),
			 "%s more are not given to kernels: there are too many.",
			 gpumon_text_count(a, sizeof(a), beyond));
		append(buf, len, text);
	}
	if (unreadable) {
		snprintf(text, sizeof(text),
			 "%s samples cannot be read: what they are of was lost.",
			 gpumon_text_count(a, sizeof(a), unreadable));
		append(buf, len, text);
	}
	return buf;
}

/* With many GPUs only the most important ones. */
static bool is_printed(const struct gpumon_metrics *metrics, unsigned int number)
{
	const struct gpumon_metric_about *about = metrics->kinds[number].about;

	return metrics->device_count <= 2 || (about && about->title);
}

static void put_row(struct gpumon_table *table, const struct gpumon_metric_device *device,
		    const struct gpumon_metric_kind *kind, const struct gpumon_metric_sum *sum)
{
	char text[GPUMON_METRIC_TEXT];
	double mean;
	bool known = gpumon_metric_mean(sum, &mean);

	gpumon_table_text(table, known ? gpumon_metric_text(text, kind->about, mean) : "-");
	gpumon_table_text(table,
			  sum->samples ? gpumon_metric_text(text, kind->about, sum->least) : "-");
	gpumon_table_text(table,
			  sum->samples ? gpumon_metric_text(text, kind->about, sum->most) : "-");
	gpumon_table_count(table, sum->samples);
	gpumon_table_text(table, device->text);
	gpumon_table_text(table, gpumon_metric_name(kind));
}

int gpumon_metrics_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view)
{
	const struct gpumon_metrics *metrics = view->metrics;
	struct gpumon_table *table;
	bool any = false;
	char note[1024];
	int ret;

	if (!metrics)
		return 0;
	fprintf(out, "\n%sGPU metrics%s\n", gpumon_term_bold(term), gpumon_term_reset(term));
	table = gpumon_table_new(term);
	gpumon_table_column(table, "MEAN", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "LOWEST", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "HIGHEST", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "SAMPLES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "DEVICE", 0);
	gpumon_table_column(table, "METRIC", GPUMON_COLUMN_PHRASE);
	for (unsigned int i = 0; i < metrics->device_count; i++) {
		const struct gpumon_metric_device *device = &metrics->devices[i];

		for (unsigned int k = 0; k < metrics->count; k++) {
			if (!device->samples || !device->has[k] || !is_printed(metrics, k))
				continue;
			put_row(table, device, &metrics->kinds[k], &device->sums[k]);
			any = true;
		}
	}
	ret = any ? gpumon_table_print(table, out) : (gpumon_table_free(table), 0);
	if (*gpumon_metrics_note(note, sizeof(note), view)) {
		fprintf(out, "%*s", GPUMON_TABLE_INDENT, "");
		gpumon_sentence_print(out, term, gpumon_term_dim(term), GPUMON_TABLE_INDENT,
				      GPUMON_TABLE_INDENT, note);
	}
	return ret;
}

/* --- JSON */

static void add_double(struct json_object *object, const char *key, double value, bool known)
{
	if (known)
		gpumon_json_add(object, key, json_object_new_double(value));
	else
		gpumon_json_add_null(object, key);
}

/* A mean with its extremes, and what it is of. */
static struct json_object *sum_json(const struct gpumon_metric_kind *kind,
				    const struct gpumon_metric_sum *sum)
{
	struct json_object *object = gpumon_json_object();
	double mean;
	bool known = gpumon_metric_mean(sum, &mean);

	gpumon_json_add_string(object, "name", kind->name);
	gpumon_json_add_string(object, "text", gpumon_metric_name(kind));
	gpumon_json_add_string(object, "unit", gpumon_metric_unit_key(kind->about));
	gpumon_json_add_u64(object, "samples", sum->samples);
	add_double(object, "mean", mean, known);
	add_double(object, "lowest", sum->least, sum->samples);
	add_double(object, "highest", sum->most, sum->samples);
	return object;
}

static struct json_object *device_json(const struct gpumon_metrics *metrics,
				       const struct gpumon_metric_device *device)
{
	struct json_object *object = gpumon_json_object(), *values = gpumon_json_array();

	gpumon_json_add_u64(object, "process", device->process);
	gpumon_json_add_u64(object, "device", device->device);
	gpumon_json_add_value(object, "gpu",
			      (struct gpumon_value){ device->gpu, device->gpu != ~0u });
	gpumon_json_add_u64(object, "interval_ns", device->interval_ns);
	gpumon_json_add_u64(object, "samples", device->samples);
	gpumon_json_add_u64(object, "sampled_ns", device->sampled_ns);
	gpumon_json_add_u64(object, "samples_of_kernels", device->of_kernels);
	gpumon_json_add_u64(object, "samples_beyond", device->beyond);
	gpumon_json_add_u64(object, "samples_unreadable", device->unreadable);
	for (unsigned int i = 0; i < metrics->count; i++) {
		if (device->has[i])
			gpumon_json_append(values, sum_json(&metrics->kinds[i], &device->sums[i]));
	}
	gpumon_json_add(object, "values", values);
	return object;
}

struct json_object *gpumon_metrics_json(const struct gpumon_view *view)
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int i = 0; view->metrics && i < view->metrics->device_count; i++)
		gpumon_json_append(array, device_json(view->metrics, &view->metrics->devices[i]));
	return array;
}

struct json_object *gpumon_kernel_metrics_json(const struct gpumon_view *view,
					       const struct gpumon_kernel_row *row)
{
	const struct gpumon_kernel_metrics *of = row->metrics;
	struct json_object *object, *values;

	object = gpumon_json_object();
	values = gpumon_json_array();
	gpumon_json_add_u64(object, "samples", of ? of->samples : 0);
	gpumon_json_add_u64(object, "sampled_ns", of ? of->ns : 0);
	for (unsigned int i = 0; of && i < view->metrics->count; i++) {
		if (of->sums[i].samples)
			gpumon_json_append(values,
					   sum_json(&view->metrics->kinds[i], &of->sums[i]));
	}
	gpumon_json_add(object, "values", values);
	return object;
}
