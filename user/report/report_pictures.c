// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/text.h"
#include "scan.h"
#include "report.h"
#include "view.h"

#define TICKS	  6
#define MARKS_MAX 5
#define AXIS_END  96 /* percent: behind it half of a label has no room */

/* --- the timeline */

/* A round interval that gives the axis about TICKS marks. */
static uint64_t tick_ns(uint64_t length_ns)
{
	uint64_t tick = 1;

	while (tick < length_ns / TICKS) {
		if (tick * 2 >= length_ns / TICKS)
			return tick * 2;
		if (tick * 5 >= length_ns / TICKS)
			return tick * 5;
		tick *= 10;
	}
	return tick;
}

static void put_axis(FILE *out, uint64_t length_ns)
{
	uint64_t tick = tick_ns(length_ns);
	char text[GPUMON_TEXT_NUMBER];

	fputs("<div class=\"row axis\"><span></span><div>", out);
	for (uint64_t at = 0; at <= length_ns; at += tick) {
		double left = 100.0 * (double)at / (double)length_ns;

		fprintf(out, "<i%s style=\"left:%.3f%%\">%s</i>",
			left > AXIS_END ? " class=\"end\"" : "", left,
			at ? gpumon_text_ns(text, sizeof(text), at) : "0");
		if (length_ns - at < tick)
			break;
	}
	fputs("</div></div>\n", out);
}

/* What was not recorded hangs from the top: the rest of a bin is what is known of it. */
static void put_unknown(FILE *out, const struct gpumon_scan *scan, const uint64_t *unknown_ns)
{
	double last = 0;

	fputs("<path class=\"unknown\" d=\"M0 0", out);
	for (unsigned int i = 0; i < scan->bins; i++) {
		double unknown = 100.0 * (double)unknown_ns[i] / (double)scan->bin_ns;

		if (i && fabs(unknown - last) < 0.05)
			continue;
		if (i)
			fprintf(out, "H%u", i);
		fprintf(out, "V%.1f", unknown);
		last = unknown;
	}
	fprintf(out, "H%uV0Z\"/>", scan->bins);
}

/* The height in each bin is the share of time with a running operation. */
static void put_area(FILE *out, const struct gpumon_scan *scan, const struct gpumon_scan_row *row)
{
	double last = 0;

	fprintf(out,
		"<svg viewBox=\"0 0 %u 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
		scan->bins);
	if (row->unknown_ns)
		put_unknown(out, scan, row->unknown_ns);
	fputs("<path d=\"M0 100", out);
	for (unsigned int i = 0; i < scan->bins; i++) {
		double busy = 100.0 * (double)row->busy_ns[i] / (double)scan->bin_ns;

		/* Even the shortest activity must be visible. */
		if (row->busy_ns[i] && busy < 3)
			busy = 3;
		if (i && fabs(busy - last) < 0.05)
			continue;
		if (i)
			fprintf(out, "H%u", i);
		fprintf(out, "V%.1f", 100 - busy);
		last = busy;
	}
	fprintf(out, "H%uV100Z\"/></svg>", scan->bins);
}

static void put_gaps(FILE *out, const struct gpumon_view *view, const struct gpumon_scan_row *row)
{
	const struct gpumon_scan *scan = view->scan;
	double length = (double)scan->bin_ns * scan->bins;
	char text[GPUMON_TEXT_NUMBER];
	unsigned int marked = 0;

	for (unsigned int i = 0; i < view->gap_count; i++) {
		const struct gpumon_gap *gap = &view->gaps[i];

		/* If it is mostly idle, the marks would cover everything. */
		if (gap->process != row->process || gap->gpu != row->gpu ||
		    gap->start_ns < scan->first_ns || marked == MARKS_MAX ||
		    (double)(gap->end_ns - gap->start_ns) * 200 < length)
			continue;
		marked++;
		fprintf(out, "<u style=\"left:%.3f%%;width:%.3f%%\" title=\"idle %s: ",
			100.0 * (double)(gap->start_ns - scan->first_ns) / length,
			100.0 * (double)(gap->end_ns - gap->start_ns) / length,
			gpumon_text_ns(text, sizeof(text), gap->end_ns - gap->start_ns));
		gpumon_text_xml(out, gap->doing && *gap->doing ? gap->doing : "not known");
		fputs("\"></u>", out);
	}
}

static const struct gpumon_device_row *device_row(const struct gpumon_view *view,
						  const struct gpumon_scan_row *row)
{
	for (unsigned int i = 0; i < view->device_count; i++) {
		const struct gpumon_device_row *device = &view->devices[i];

		if (device->process == row->process && device->device == row->device &&
		    device->context == row->context && device->stream == row->stream)
			return device;
	}
	return NULL;
}

static void put_percents(FILE *out, const struct gpumon_scan *scan, const uint64_t *ns)
{
	for (unsigned int i = 0; i < scan->bins; i++)
		fprintf(out, "%s%.0f", i ? " " : "",
			ceil(100.0 * (double)ns[i] / (double)scan->bin_ns));
}

static void put_row(FILE *out, const struct gpumon_view *view,
		    const struct gpumon_view_totals *totals, const struct gpumon_scan_row *row)
{
	const struct gpumon_scan *scan = view->scan;
	bool device = row->stream == ~0u;
	const struct gpumon_device_row *of = device_row(view, row);
	char name[160], number[GPUMON_DEVICE_TEXT];

	fprintf(out, "<div class=\"row %s%s\"><span><b>", device ? "device" : "stream",
		of && of->part ? " part" : "");
	if (device) {
		fputs(of ? gpumon_view_gpu(number, of) :
			   gpumon_device_text(number, row->device, GPUMON_DEVICE_GPU),
		      out);
		if (of && gpumon_view_is_gpu(of) && *of->name) {
			putc(' ', out);
			gpumon_text_xml(out, gpumon_text_cut(name, sizeof(name), of->name, 48));
		}
	} else {
		gpumon_view_stream_text(view, row->process, row->context, row->stream, name,
					sizeof(name));
		gpumon_text_xml(out, name);
	}
	fputs("</b>", out);
	gpumon_report_pid(out, view, row->process);
	fputs("<em>", out);
	if (of)
		gpumon_report_percent(out, of->busy_ns, gpumon_view_elapsed(of, totals));
	fputs("</em></span><div class=\"area\" data-busy=\"", out);
	put_percents(out, scan, row->busy_ns);
	if (row->unknown_ns) {
		fputs("\" data-unknown=\"", out);
		put_percents(out, scan, row->unknown_ns);
	}
	fputs("\">", out);
	put_area(out, scan, row);
	if (device)
		put_gaps(out, view, row);
	fputs("</div></div>\n", out);
}

void gpumon_report_timeline(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_scan *scan = view->scan;
	char what[256], text[GPUMON_TEXT_NUMBER];
	struct gpumon_view_totals totals;

	if (!scan || !scan->bin_ns || !scan->row_count)
		return;
	snprintf(what, sizeof(what),
		 "how much of each %s something ran; the longest idling marked%s",
		 gpumon_text_ns(text, sizeof(text), scan->bin_ns),
		 gpumon_view_has_windows(view) ?
			 "; grey from the top: how much of it was not recorded" :
			 "");
	gpumon_report_section(out, "timeline", "Timeline", what);
	fprintf(out, "<div class=\"timeline\" data-bin=\"%" PRIu64 "\">\n", scan->bin_ns);
	gpumon_view_totals(view, &totals);
	for (unsigned int i = 0; i < scan->row_count; i++)
		put_row(out, view, &totals, &scan->rows[i]);
	put_axis(out, scan->bin_ns * scan->bins);
	fputs("</div>\n", out);
	gpumon_report_more(out, 0, scan->rows_left, "streams, busy for less time");
	gpumon_report_end(out);
}

/* --- the histogram */

#define BARS   48
#define WIDTH  1000
#define HEIGHT 200
#define LEFT   10
#define BOTTOM 24
#define TOP    36

/* The number of values that are at most @value. Quantiles are the inverse function. */
static double at_most(const struct gpumon_distribution *of, double value)
{
	double low = 0, high = 1;

	if ((double)gpumon_distribution_max(of) <= value)
		return 1;
	for (unsigned int i = 0; i < 40; i++) {
		double q = (low + high) / 2;

		if ((double)gpumon_distribution_quantile(of, q) <= value)
			low = q;
		else
			high = q;
	}
	return low;
}

struct scale {
	double low;
	double high; /* both are logarithms */
};

static double x_of(const struct scale *scale, double value)
{
	return LEFT + (WIDTH - 2 * LEFT) * (log(value) - scale->low) / (scale->high - scale->low);
}

static void put_mark(FILE *out, const struct scale *scale, uint64_t value, const char *name,
		     unsigned int y)
{
	double x = x_of(scale, (double)(value ? value : 1));
	bool left = x > WIDTH * 0.8;
	char text[GPUMON_TEXT_NUMBER];

	fprintf(out,
		"<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text class=\"mark\" x=\"%.1f\" y=\"%u\" text-anchor=\"%s\">%s %s</text>\n",
		x, x, y - 10, HEIGHT - BOTTOM, x + (left ? -5 : 5), y, left ? "end" : "start", name,
		gpumon_text_ns(text, sizeof(text), value));
}

/* The axis extends a little beyond the largest integer. */
static uint64_t to_ns(double value)
{
	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

/* Half of the widest label of the axis, and the width of a decade that has room for three of them. */
#define LABEL_HALF   26
#define DECADE_THREE 180

/* 10, 20 and 50 us, ..., or of many decades 10 us, 100 us, ...: those that are not cut at an end. */
static void put_axis_labels(FILE *out, const struct scale *scale)
{
	bool all = (WIDTH - 2 * LEFT) * log(10) >= DECADE_THREE * (scale->high - scale->low);

	for (double tick = 1; tick < 1e19; tick *= 10) {
		for (unsigned int part = 1; part <= 5; part = part == 1 ? 2 : part + 3) {
			double x = x_of(scale, tick * part);
			char text[GPUMON_TEXT_NUMBER];

			if (x < LABEL_HALF || x > WIDTH - LABEL_HALF || (!all && part > 1))
				continue;
			fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
				x, HEIGHT - 6,
				gpumon_text_ns(text, sizeof(text), to_ns(tick * part)));
		}
	}
}

void gpumon_report_histogram(FILE *out, const struct gpumon_distribution *of)
{
	uint64_t min = gpumon_distribution_min(of), max = gpumon_distribution_max(of);
	uint64_t count = gpumon_distribution_count(of), p50, p99;
	char from[GPUMON_TEXT_NUMBER], to[GPUMON_TEXT_NUMBER], number[GPUMON_TEXT_NUMBER];
	double parts[BARS], highest = 0, before = 0, step;
	struct scale scale;

	/* Add some room at both ends, so that a single value has a width, too. */
	scale.low = log((double)(min ? min : 1)) - 0.05;
	scale.high = log((double)(max ? max : 1)) + 0.05;
	if (scale.high - scale.low < 0.7) {
		scale.low -= 0.35;
		scale.high += 0.35;
	}
	step = (scale.high - scale.low) / BARS;
	for (unsigned int i = 0; i < BARS; i++) {
		double until = at_most(of, exp(scale.low + step * (i + 1)));

		parts[i] = until > before ? until - before : 0;
		before = until > before ? until : before;
		highest = parts[i] > highest ? parts[i] : highest;
	}
	fprintf(out, "<svg class=\"histogram\" viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH,
		HEIGHT);
	for (unsigned int i = 0; i < BARS; i++) {
		double width = (double)(WIDTH - 2 * LEFT) / BARS;
		double height = highest > 0 ? parts[i] / highest * (HEIGHT - BOTTOM - TOP) : 0;

		if (parts[i] * (double)count < 0.5)
			continue;
		/* One value must be visible beside a million. */
		height = height < 1.5 ? 1.5 : height;
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s to %s: %s</title></rect>\n",
			LEFT + i * width + 0.5, HEIGHT - BOTTOM - height, width - 1, height,
			gpumon_text_ns(from, sizeof(from), to_ns(exp(scale.low + step * i))),
			gpumon_text_ns(to, sizeof(to), to_ns(exp(scale.low + step * (i + 1)))),
			gpumon_text_count(number, sizeof(number),
					  (uint64_t)(parts[i] * (double)count + 0.5)));
	}
	fprintf(out, "<line class=\"base\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT,
		WIDTH - LEFT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	put_axis_labels(out, &scale);
	p50 = gpumon_distribution_quantile(of, 0.5);
	p99 = gpumon_distribution_quantile(of, 0.99);
	/* Place the labels below each other, since the marks may be close. */
	put_mark(out, &scale, p50, "median", 14);
	put_mark(out, &scale, p99, "p99", 29);
	fputs("</svg>\n", out);
}
