// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's timeline: what threads did, above how busy GPUs and streams were, and their longest operations. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "scan.h"
#include "report.h"
#include "view.h"

#define TICKS	  6
#define MARKS_MAX 5
#define AXIS_END  96 /* percent: behind it half of a label has no room */

/* Parts of the time of all rows of GPUs and streams, and of threads: with more rows the parts are longer. */
#define CELLS_MAX	 12000
#define THREAD_CELLS_MAX 6000
#define THREADS_MAX	 12

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

/**
 * struct cells - the parts of the time that a row has
 * @step: bins of the scan in each
 * @n: number of parts
 * @ns: length of a part
 */
struct cells {
	unsigned int step;
	unsigned int n;
	uint64_t ns;
};

static struct cells cells_of(const struct gpumon_scan *scan)
{
	uint64_t all = (uint64_t)scan->bins * scan->row_count;
	struct cells cells;

	cells.step = (unsigned int)((all + CELLS_MAX - 1) / CELLS_MAX);
	cells.step = cells.step ? cells.step : 1;
	cells.n = (scan->bins + cells.step - 1) / cells.step;
	cells.ns = scan->bin_ns * cells.step;
	return cells;
}

static double percent_of(const struct gpumon_scan *scan, const struct cells *cells,
			 const uint64_t *ns, unsigned int cell)
{
	uint64_t sum = 0;

	for (unsigned int i = cell * cells->step; i < (cell + 1) * cells->step && i < scan->bins;
	     i++)
		sum += ns[i];
	return 100.0 * (double)sum / (double)cells->ns;
}

/* What was not recorded hangs from the top: the rest of a part is what is known of it. */
static void put_unknown(FILE *out, const struct gpumon_scan *scan, const struct cells *cells,
			const uint64_t *unknown_ns)
{
	double last = 0;

	fputs("<path class=\"unknown\" d=\"M0 0", out);
	for (unsigned int i = 0; i < cells->n; i++) {
		double unknown = percent_of(scan, cells, unknown_ns, i);

		if (i && fabs(unknown - last) < 0.5)
			continue;
		if (i)
			fprintf(out, "H%u", i);
		fprintf(out, "V%.0f", unknown);
		last = unknown;
	}
	fprintf(out, "H%uV0Z\"/>", cells->n);
}

/* The height of each part is the share of time with a running operation. */
static void put_area(FILE *out, const struct gpumon_scan *scan, const struct cells *cells,
		     const struct gpumon_scan_row *row)
{
	double last = 0;

	fprintf(out,
		"<svg viewBox=\"0 0 %u 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
		cells->n);
	if (row->unknown_ns)
		put_unknown(out, scan, cells, row->unknown_ns);
	fputs("<path class=\"busy\" d=\"M0 100", out);
	for (unsigned int i = 0; i < cells->n; i++) {
		double busy = percent_of(scan, cells, row->busy_ns, i);

		/* Even the shortest activity must be visible. */
		if (busy > 0 && busy < 3)
			busy = 3;
		if (i && fabs(busy - last) < 0.5)
			continue;
		if (i)
			fprintf(out, "H%u", i);
		fprintf(out, "V%.0f", 100 - busy);
		last = busy;
	}
	fprintf(out, "H%uV100Z\"/></svg>", cells->n);
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

/* "0x12 40 100x3": numbers, and how often each follows itself. */
static void put_percents(FILE *out, const struct gpumon_scan *scan, const struct cells *cells,
			 const uint64_t *ns)
{
	for (unsigned int i = 0, same; i < cells->n; i += same) {
		double percent = ceil(percent_of(scan, cells, ns, i));

		for (same = 1;
		     i + same < cells->n && ceil(percent_of(scan, cells, ns, i + same)) == percent;)
			same++;
		fprintf(out, "%s%.0f", i ? " " : "", percent);
		if (same > 1)
			fprintf(out, "x%u", same);
	}
}

/* "since the one before,length,name": those of a stream that are among the longest. */
static void put_operations(FILE *out, const struct gpumon_view *view,
			   const struct gpumon_scan_row *row, struct gpumon_report_names *names)
{
	uint64_t last_ns = view->scan->first_ns;
	bool any = false;

	for (unsigned int i = 0; i < view->operation_count; i++) {
		const struct gpumon_operation *operation = &view->operations[i];

		if (operation->process != row->process || operation->device != row->device ||
		    operation->context != row->context || operation->stream != row->stream ||
		    operation->start_ns < last_ns)
			continue;
		fprintf(out, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu32, any ? ";" : "",
			operation->start_ns - last_ns, operation->end_ns - operation->start_ns,
			gpumon_report_kernel(names, operation->kind, operation->name));
		last_ns = operation->start_ns;
		any = true;
	}
}

static void put_row(FILE *out, const struct gpumon_view *view,
		    const struct gpumon_view_totals *totals, const struct cells *cells,
		    const struct gpumon_scan_row *row, struct gpumon_report_names *names)
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
	put_percents(out, scan, cells, row->busy_ns);
	if (row->unknown_ns) {
		fputs("\" data-unknown=\"", out);
		put_percents(out, scan, cells, row->unknown_ns);
	}
	if (!device) {
		fputs("\" data-operations=\"", out);
		put_operations(out, view, row, names);
	}
	fputs("\">", out);
	put_area(out, scan, cells, row);
	if (device)
		put_gaps(out, view, row);
	fputs("</div></div>\n", out);
}

/* --- threads */

/* The letter of a state, by which the script knows its colour; those without one are not drawn. */
static const char letters[GPUMON_SPENTS] = {
	[GPUMON_SPENT_LAUNCH] = 'l',	 [GPUMON_SPENT_GPU_WAIT] = 'w',
	[GPUMON_SPENT_CALL] = 'c',	 [GPUMON_SPENT_BETWEEN] = 'b',
	[GPUMON_SPENT_RUNNING] = 'r',	 [GPUMON_SPENT_BLOCKED] = 'k',
	[GPUMON_SPENT_UNRECORDED] = 'u',
};

/* "l20b80": the shares of a part. Returns its length. */
static int states_of(char *text, size_t len, const struct gpumon_budget_row *row,
		     const struct cells *cells, unsigned int cell)
{
	uint64_t sums[GPUMON_SPENTS] = { 0 };
	int at = 0;

	for (unsigned int i = cell * cells->step; i < (cell + 1) * cells->step; i++) {
		if (i < row->bins.first || i >= row->bins.first + row->bins.room)
			continue;
		for (unsigned int k = 0; k < GPUMON_SPENTS; k++)
			sums[k] +=
				row->bins.busy_ns[(size_t)(i - row->bins.first) * GPUMON_SPENTS + k];
	}
	text[0] = '\0';
	for (unsigned int k = 0; k < GPUMON_SPENTS; k++) {
		double percent = 100.0 * (double)sums[k] / (double)cells->ns;

		if (letters[k] && percent >= 0.5)
			at += snprintf(text + at, len - (size_t)at, "%c%.0f", letters[k], percent);
	}
	if (!at)
		at = snprintf(text, len, "-");
	return at;
}

static void put_states(FILE *out, const struct gpumon_budget_row *row, const struct cells *cells)
{
	char text[96], next[96];

	for (unsigned int i = 0, same; i < cells->n; i += same) {
		(void)states_of(text, sizeof(text), row, cells, i);
		for (same = 1; i + same < cells->n; same++) {
			(void)states_of(next, sizeof(next), row, cells, i + same);
			if (strcmp(text, next))
				break;
		}
		fprintf(out, "%s%s", i ? " " : "", text);
		if (same > 1)
			fprintf(out, "x%u", same);
	}
}

/* The state with most of its time. */
static enum gpumon_spent main_state(const struct gpumon_budget_row *row)
{
	unsigned int most = GPUMON_SPENT_LAUNCH;

	for (unsigned int k = 0; k < GPUMON_SPENTS; k++) {
		if (letters[k] && row->spent_ns[k] > row->spent_ns[most])
			most = k;
	}
	return most;
}

static void put_thread(FILE *out, const struct gpumon_view *view,
		       const struct gpumon_budget_row *row, const struct cells *cells)
{
	enum gpumon_spent most = main_state(row);
	char name[64], number[32];

	snprintf(number, sizeof(number), "thread %u", row->tid);
	fputs("<div class=\"row thread\"><span><b>", out);
	gpumon_text_xml(out, row->name && *row->name ?
				     gpumon_text_cut(name, sizeof(name), row->name, 32) :
				     number);
	fputs("</b>", out);
	gpumon_report_pid(out, view, row->process);
	fputs("<em>", out);
	gpumon_report_percent(out, row->spent_ns[most], row->wall_ns);
	fprintf(out, " %s</em></span><div class=\"area\" data-cell=\"%" PRIu64 "\" data-states=\"",
		gpumon_spent_text(most), cells->ns);
	put_states(out, row, cells);
	fputs("\"><svg preserveAspectRatio=\"none\" aria-hidden=\"true\"></svg></div></div>\n",
	      out);
}

/* By process, and of one process as in the table: the thread with most launches first. */
static int by_process(const void *a, const void *b)
{
	const struct gpumon_budget_row *x = *(const struct gpumon_budget_row *const *)a;
	const struct gpumon_budget_row *y = *(const struct gpumon_budget_row *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The threads that launch most. Returns how many others there are. */
static unsigned int put_threads(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_budget_row *rows[THREADS_MAX];
	const struct gpumon_scan *scan = view->scan;
	unsigned int n = 0, parts = scan->bins / GPUMON_BUDGET_BINS + 1;
	struct cells cells;

	for (unsigned int i = 0; i < view->budget_count && n < THREADS_MAX; i++) {
		if (view->budget[i].bins.room)
			rows[n++] = &view->budget[i];
	}
	if (!n)
		return 0;
	qsort(rows, n, sizeof(rows[0]), by_process);
	cells.step = (parts * n + THREAD_CELLS_MAX - 1) / THREAD_CELLS_MAX;
	cells.n = (parts + cells.step - 1) / cells.step;
	cells.ns = scan->bin_ns * GPUMON_BUDGET_BINS * cells.step;
	for (unsigned int i = 0; i < n; i++)
		put_thread(out, view, rows[i], &cells);
	return view->budget_count - n;
}

/* What the colours mean. */
static void put_legend(FILE *out, const struct gpumon_view *view)
{
	bool any = false;

	for (unsigned int k = 0; k < GPUMON_SPENTS; k++) {
		uint64_t ns = 0;

		for (unsigned int i = 0; i < view->budget_count; i++)
			ns += view->budget[i].bins.room ? view->budget[i].spent_ns[k] : 0;
		if (!ns || !letters[k])
			continue;
		fprintf(out, "%s<span><i class=\"state-%c\"></i>%s</span>\n",
			any ? "" : "<p class=\"states\">", letters[k], gpumon_spent_text(k));
		any = true;
	}
	if (any)
		fputs("</p>\n", out);
}

void gpumon_report_timeline(FILE *out, const struct gpumon_view *view,
			    struct gpumon_report_names *names)
{
	const struct gpumon_scan *scan = view->scan;
	char what[256], text[GPUMON_TEXT_NUMBER], note[1024];
	struct gpumon_view_totals totals;
	unsigned int threads_left;
	struct cells cells;

	if (!scan || !scan->bin_ns || (!scan->row_count && !view->budget_count))
		return;
	cells = cells_of(scan);
	snprintf(
		what, sizeof(what),
		"Threads: what they did. GPUs and streams: how much of each %s something ran; the longest idling marked%s",
		gpumon_text_ns(text, sizeof(text), cells.ns),
		gpumon_view_has_windows(view) ?
			"; grey from the top: how much of it was not recorded" :
			"");
	gpumon_report_section(out, "timeline", "Timeline", "");
	fprintf(out, "<p class=\"what\">%s", what);
	if (gpumon_report_has_bands(view))
		fprintf(out,
			". Metrics: the mean of each %s, with the highest sample behind it in pale; of the whole GPU, other processes included",
			gpumon_text_ns(text, sizeof(text), view->metrics->bin_ns));
	fputs("</p>\n", out);
	fprintf(out,
		"<div class=\"timeline\" data-bin=\"%" PRIu64 "\" data-length=\"%" PRIu64 "\">\n",
		cells.ns, scan->bin_ns * scan->bins);
	gpumon_view_totals(view, &totals);
	threads_left = put_threads(out, view);
	for (unsigned int i = 0; i < scan->row_count; i++) {
		put_row(out, view, &totals, &cells, &scan->rows[i], names);
		/* Behind its last stream. */
		if (i + 1 == scan->row_count || scan->rows[i + 1].gpu != scan->rows[i].gpu)
			gpumon_report_bands(out, view, scan->rows[i].gpu);
	}
	gpumon_report_bands(out, view, ~0u);
	put_axis(out, scan->bin_ns * scan->bins);
	fputs("</div>\n", out);
	put_legend(out, view);
	if (*gpumon_metrics_note(note, sizeof(note), view)) {
		fputs("<p class=\"states\" id=\"metrics\">", out);
		gpumon_text_xml(out, note);
		fputs("</p>\n", out);
	}
	gpumon_report_more(out, 0, threads_left, "threads, with fewer launches");
	gpumon_report_more(out, 0, scan->rows_left, "streams, busy for less time");
	gpumon_report_threads(out, view);
	gpumon_report_end(out);
}
