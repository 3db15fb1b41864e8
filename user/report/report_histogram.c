// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <math.h>

#include "lib/text.h"
#include "report.h"
#include "view.h"

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
