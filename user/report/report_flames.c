// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's flame graphs, of which the script shows one, and with it the table of its call paths. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "report.h"
#include "view.h"

#define LINES_SHOWN 8

struct frames {
	FILE *out;
	struct gpumon_report_names *names;
	enum gpumon_weight weight;
};

/* "7", or of several lines "7,12000,8,3000", and behind them how many more there are. */
static void put_lines(const struct frames *frames, const struct gpumon_frame *frame)
{
	struct gpumon_flame_line *lines = NULL;
	FILE *out = frames->out;
	size_t n = 0;

	if (frame->same)
		lines = gpumon_flame_lines(frame, &n);
	if (n < 2) {
		fprintf(out, "%" PRIu32,
			gpumon_report_line(frames->names, n ? lines[0].text : frame->line));
		free(lines);
		return;
	}
	for (size_t i = 0; i < n && i < LINES_SHOWN; i++)
		fprintf(out, "%s%" PRIu32 ",%" PRIu64, i ? "," : "",
			gpumon_report_line(frames->names, lines[i].text), lines[i].total);
	if (n > LINES_SHOWN)
		fprintf(out, ",%zu", n - LINES_SHOWN);
	free(lines);
}

/* Depth, weight, function, lines, count; and what is rare: own weight, estimate, time of launch calls. */
static void put_frame(void *data, const struct gpumon_frame *frame)
{
	const struct frames *frames = data;
	bool gpu = frames->weight == GPUMON_WEIGHT_GPU_NS;
	uint64_t own = frame->child ? frame->self : 0, calls = gpu ? frame->cpu_ns : 0;
	FILE *out = frames->out;

	fprintf(out, "%s%u %" PRIu64 " %" PRIu32 " ", frame->parent ? ";" : "", frame->depth,
		frame->total, gpumon_report_frame(frames->names, frame));
	put_lines(frames, frame);
	fprintf(out, " %" PRIu64, frame->count);
	if (own || frame->left || calls)
		fprintf(out, " %" PRIu64, own);
	if (frame->left || calls)
		fprintf(out, " %" PRIu64, frame->left);
	if (calls)
		fprintf(out, " %" PRIu64, calls);
}

/* Writes a flame graph, and its table to @paths. */
static int put_flame(FILE *out, FILE *paths, const struct gpumon_view *view,
		     enum gpumon_weight weight, bool hidden, struct gpumon_report_names *names)
{
	struct frames frames = { .out = out, .names = names, .weight = weight };
	const struct gpumon_flame_page page = {
		.frames_max = GPUMON_REPORT_FRAMES,
		.frame = put_frame,
		.data = &frames,
	};
	bool estimates = weight == GPUMON_WEIGHT_GPU_NS || weight == GPUMON_WEIGHT_COUNT;
	char sampling[512];
	struct gpumon_flamegraph_options options = {
		.title = gpumon_view_title(view, weight),
		.icicle = true,
		.weight = weight,
		.sampling = estimates ? gpumon_view_sampling(sampling, sizeof(sampling), view) : "",
	};
	struct gpumon_flame flame;
	int ret;

	gpumon_flame_of(&flame, view->root, weight);
	fprintf(out, "<div class=\"flame\"%s>\n", hidden ? " hidden=\"\"" : "");
	ret = gpumon_flame_write(out, &flame, &options, &page);
	fputs("</div>\n", out);
	fprintf(paths, "<div class=\"paths\"%s>\n", hidden ? " hidden=\"\"" : "");
	if (!ret && !gpumon_report_paths(paths, view, &flame, weight, names))
		fputs("<p>No call path is known.</p>\n", paths);
	fputs("</div>\n", paths);
	gpumon_flame_clear(&flame);
	return ret;
}

static const char *tab_text(const struct gpumon_view *view, enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_GPU_NS:
		return "GPU time";
	case GPUMON_WEIGHT_CPU_NS:
		return gpumon_view_has_hits(view) ? "Blocking calls" : "Launch calls";
	case GPUMON_WEIGHT_WALL_NS:
		return "Wall time";
	case GPUMON_WEIGHT_IDLE_NS:
		return "Idle GPU";
	case GPUMON_WEIGHT_UNTIMED:
		return "Launches without GPU time";
	case GPUMON_WEIGHT_COUNT:
		break;
	}
	return "Launches";
}

static void put_tab(FILE *out, const struct gpumon_view *view, enum gpumon_weight weight,
		    uint64_t sum, bool chosen)
{
	bool number = weight == GPUMON_WEIGHT_COUNT || weight == GPUMON_WEIGHT_UNTIMED;
	char text[GPUMON_TEXT_NUMBER];

	fprintf(out,
		"<button type=\"button\" role=\"tab\" aria-selected=\"%s\" tabindex=\"%d\">%s <small>%s</small></button>\n",
		chosen ? "true" : "false", chosen ? 0 : -1, tab_text(view, weight),
		number ? gpumon_text_count(text, sizeof(text), sum) :
			 gpumon_text_ns(text, sizeof(text), sum));
}

int gpumon_report_flames(FILE *out, const struct gpumon_view *view,
			 struct gpumon_report_names *names)
{
	/* Launches without a time have no width in the other ones. */
	static const enum gpumon_weight all[] = { GPUMON_WEIGHT_GPU_NS, GPUMON_WEIGHT_CPU_NS,
						  GPUMON_WEIGHT_WALL_NS, GPUMON_WEIGHT_IDLE_NS,
						  GPUMON_WEIGHT_UNTIMED };
	enum gpumon_weight weights[sizeof(all) / sizeof(all[0])];
	uint64_t sums[sizeof(all) / sizeof(all[0])] = { 0 };
	struct gpumon_view_totals totals;
	unsigned int n = 0;
	char *tables;
	size_t size;
	FILE *paths;
	int ret = 0;

	gpumon_view_totals(view, &totals);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		/* Time in launch calls is a part of wall time, and of interest where no GPU time is known. */
		if (all[i] == GPUMON_WEIGHT_CPU_NS && totals.gpu_ns)
			continue;
		sums[n] = gpumon_tree_sum(view->root, all[i]);
		if (sums[n])
			weights[n++] = all[i];
	}
	if (!n)
		weights[n++] = GPUMON_WEIGHT_COUNT;
	fputs("<section id=\"flame\">\n<div class=\"tabs\" role=\"tablist\" aria-label=\"Flame graph of\">\n",
	      out);
	for (unsigned int i = 0; i < n; i++)
		put_tab(out, view, weights[i], sums[i], !i);
	fputs("</div>\n", out);
	paths = gpumon_memstream_open(&tables, &size);
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = put_flame(out, paths, view, weights[i], i, names);
	gpumon_memstream_close(paths);
	fputs("<noscript><p>Flame graphs are drawn by this page's script. gpumon-user flamegraph writes one that needs none.</p></noscript>\n",
	      out);
	gpumon_report_end(out);
	gpumon_report_section(out, "paths", "Call paths", "");
	fwrite(tables, 1, size, out);
	gpumon_report_end(out);
	free(tables);
	return ret;
}
