// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Metrics of GPUs in the report: bands of the timeline, and columns of the table by kernel. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/text.h"
#include "report.h"
#include "scan.h"
#include "view.h"

/* Of the height of a band: what is lower is still seen. */
#define HEIGHT_MIN 2

/* With more bands only those of the metrics that kernels have columns of, and of the first GPUs. */
#define BANDS_MAX 96

/* A part of the time of a band. */
struct part {
	bool known;
	double mean;
	double least;
	double most;
};

static struct part part_of(const struct gpumon_metrics *metrics,
			   const struct gpumon_metric_device *device, unsigned int number,
			   unsigned int bin)
{
	const struct gpumon_metric_sum *sum = &device->bins[(size_t)number * metrics->bins + bin];
	struct part part = { .least = sum->least, .most = sum->most };

	part.known = gpumon_metric_mean(sum, &part.mean);
	return part;
}

/* What the height of a band is: of shares all, of others the most that there was. */
static double top_of(const struct gpumon_metric_kind *kind, const struct gpumon_metric_sum *sum)
{
	double top = kind->about && kind->about->unit == GPUMON_METRIC_PERCENT ? 100 : sum->most;

	return top > 0 ? top : 1;
}

/* "88.1/80/90x2 -x5": mean, least and most of a part, and how often it follows itself. */
static int part_text(char *text, size_t len, const struct part *part)
{
	return part->known ?
		       snprintf(text, len, "%.3g/%.3g/%.3g", part->mean, part->least, part->most) :
		       snprintf(text, len, "-");
}

static void put_parts(FILE *out, const struct gpumon_metrics *metrics,
		      const struct gpumon_metric_device *device, unsigned int number)
{
	char text[64], next[64];

	for (unsigned int i = 0, same; i < metrics->bins; i += same) {
		struct part part = part_of(metrics, device, number, i);

		(void)part_text(text, sizeof(text), &part);
		for (same = 1; i + same < metrics->bins; same++) {
			part = part_of(metrics, device, number, i + same);
			(void)part_text(next, sizeof(next), &part);
			if (strcmp(text, next) != 0)
				break;
		}
		fprintf(out, "%s%s", i ? " " : "", text);
		if (same > 1)
			fprintf(out, "x%u", same);
	}
}

static double height_of(double value, double top)
{
	double height = 100 * value / top;

	return height < HEIGHT_MIN ? HEIGHT_MIN : height > 100 ? 100 : height;
}

/* The area below the mean, or below the highest value, of each part that has one. */
static void put_path(FILE *out, const struct gpumon_metrics *metrics,
		     const struct gpumon_metric_device *device, unsigned int number,
		     uint64_t length_ns, bool most)
{
	double top = top_of(&metrics->kinds[number], &device->sums[number]), last = -1;
	double scale = 1000.0 * (double)metrics->bin_ns / (double)length_ns;

	fprintf(out, "<path class=\"%s\" d=\"", most ? "most" : "mean");
	for (unsigned int i = 0; i < metrics->bins; i++) {
		struct part part = part_of(metrics, device, number, i);
		double height = part.known ? round(height_of(most ? part.most : part.mean, top)) :
					     -1;

		if (height == last)
			continue;
		if (last >= 0)
			fprintf(out, "H%.1fV100Z", i * scale);
		if (height >= 0)
			fprintf(out, "M%.1f 100V%.0f", i * scale, 100 - height);
		last = height;
	}
	if (last >= 0)
		fprintf(out, "H%.1fV100Z", metrics->bins * scale);
	fputs("\"/>", out);
}

static void put_band(FILE *out, const struct gpumon_view *view,
		     const struct gpumon_metric_device *device, unsigned int number, bool alone)
{
	const struct gpumon_metrics *metrics = view->metrics;
	const struct gpumon_metric_kind *kind = &metrics->kinds[number];
	uint64_t length_ns = view->scan->bin_ns * view->scan->bins;
	char text[GPUMON_METRIC_TEXT], name[80];
	double mean;

	fputs("<div class=\"row metric\"><span><b>", out);
	if (alone)
		fprintf(out, "%s ", device->text);
	gpumon_text_cut(name, sizeof(name), gpumon_metric_name(kind), 40);
	gpumon_text_xml(out, name);
	fprintf(out,
		"</b><em>%s</em></span><div class=\"area\" data-cell=\"%" PRIu64
		"\" data-top=\"%.6g\" data-unit=\"%s\" data-metric=\"",
		gpumon_metric_mean(&device->sums[number], &mean) ?
			gpumon_metric_text(text, kind->about, mean) :
			"-",
		metrics->bin_ns, top_of(kind, &device->sums[number]),
		kind->about ? gpumon_metric_unit_text(kind->about) : "");
	put_parts(out, metrics, device, number);
	fputs("\"><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
	      out);
	put_path(out, metrics, device, number, length_ns, true);
	put_path(out, metrics, device, number, length_ns, false);
	fputs("</svg></div></div>\n", out);
}

bool gpumon_report_has_bands(const struct gpumon_view *view)
{
	for (unsigned int i = 0; view->metrics && i < view->metrics->device_count; i++) {
		if (view->metrics->devices[i].bins && view->metrics->devices[i].samples)
			return true;
	}
	return false;
}

static bool has_band(const struct gpumon_metrics *metrics, unsigned int device, unsigned int number)
{
	const struct gpumon_metric_about *about = metrics->kinds[number].about;

	if (!metrics->devices[device].has[number])
		return false;
	return metrics->device_count * metrics->count <= BANDS_MAX ||
	       (about && about->title && device < BANDS_MAX / GPUMON_METRIC_COLUMNS);
}

void gpumon_report_bands(FILE *out, const struct gpumon_view *view, uint32_t gpu)
{
	const struct gpumon_metrics *metrics = view->metrics;

	for (unsigned int i = 0; metrics && i < metrics->device_count; i++) {
		const struct gpumon_metric_device *device = &metrics->devices[i];

		if (device->gpu != gpu || !device->bins || !device->samples)
			continue;
		for (unsigned int k = 0; k < metrics->count; k++) {
			if (has_band(metrics, i, k))
				put_band(out, view, device, k, gpu == ~0u);
		}
	}
}

/* --- by kernel */

void gpumon_report_metric_cells(FILE *out, const struct gpumon_view *view,
				const struct gpumon_kernel_row *row)
{
	struct gpumon_metric_columns columns;
	char text[GPUMON_METRIC_TEXT];
	double mean;

	gpumon_metric_columns(view, &columns);
	for (unsigned int i = 0; i < columns.count; i++) {
		if (gpumon_kernel_metric(view, row, columns.about[i], &mean))
			fprintf(out, "<td class=\"n\" data-v=\"%.6g\">%s</td>", mean,
				gpumon_metric_text(text, columns.about[i], mean));
		else
			fputs("<td class=\"n\" data-v=\"-1\">-</td>", out);
	}
	if (columns.count)
		gpumon_report_estimate(out, false, row->metrics ? row->metrics->samples : 0, 0, 0);
}
