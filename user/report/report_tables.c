// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "scan.h"
#include "report.h"
#include "ranks.h"
#include "view.h"

/* Rows of the table of threads. */
#define THREADS_MAX 100

static unsigned int rows_of(unsigned int count)
{
	return count < GPUMON_REPORT_ROWS ? count : GPUMON_REPORT_ROWS;
}

void gpumon_report_open_table(FILE *out, const char *id, const char *const *titles, unsigned int n,
			      unsigned int texts)
{
	fprintf(out, "<div class=\"scroll\"><table class=\"sortable\" id=\"%s\"><thead><tr>", id);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "<th%s>%s</th>", texts & (1u << i) ? "" : " class=\"n\"", titles[i]);
	fputs("</tr></thead><tbody>\n", out);
}

void gpumon_report_close_table(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

static void put_ns(FILE *out, uint64_t ns)
{
	char text[GPUMON_TEXT_NUMBER];

	fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">%s</td>", ns,
		gpumon_text_ns(text, sizeof(text), ns));
}

static void put_count(FILE *out, uint64_t count)
{
	char text[GPUMON_TEXT_NUMBER];

	fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">%s</td>", count,
		gpumon_text_count(text, sizeof(text), count));
}

void gpumon_report_estimate(FILE *out, bool is_ns, uint64_t value, uint64_t left, uint64_t samples)
{
	char text[GPUMON_TEXT_NUMBER], number[GPUMON_TEXT_NUMBER];

	if (!left) {
		is_ns ? put_ns(out, value) : put_count(out, value);
		return;
	}
	value += left;
	fprintf(out,
		"<td class=\"n\" data-v=\"%" PRIu64
		"\" title=\"estimated from %s recorded\">~%s</td>",
		value, gpumon_text_count(number, sizeof(number), samples),
		is_ns ? gpumon_text_ns(text, sizeof(text), value) :
			gpumon_text_count(text, sizeof(text), value));
}

static void put_unknown(FILE *out)
{
	fputs("<td class=\"n\" data-v=\"-1\">-</td>", out);
}

static void put_quantile(FILE *out, const struct gpumon_distribution *of, double q)
{
	if (of && gpumon_distribution_count(of))
		put_ns(out, gpumon_distribution_quantile(of, q));
	else
		put_unknown(out);
}

void gpumon_report_share(FILE *out, bool estimate, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	fprintf(out,
		"<td class=\"n share\" data-v=\"%" PRIu64
		"\"><i style=\"width:%.1f%%\"></i><span>%s",
		part, percent > 100 ? 100 : percent, estimate ? "~" : "");
	gpumon_report_percent(out, part, whole);
	fputs("</span></td>", out);
}

void gpumon_report_name_with(FILE *out, const char *name, const char *more)
{
	fputs("<td class=\"name\">", out);
	gpumon_text_xml(out, name);
	gpumon_report_aside(out, more);
	fputs("</td>", out);
}

void gpumon_report_name(FILE *out, const char *name)
{
	gpumon_report_name_with(out, name, "");
}

/* What a row of the table by kernel takes in the page besides its name. */
#define KERNEL_BYTES 500

/* Columns of this table, but for those of metrics. */
#define KERNEL_COLUMNS 10

unsigned int gpumon_report_kernel_rows(const struct gpumon_view *view)
{
	size_t bytes = 0;
	unsigned int n = 0;

	for (; n < rows_of(view->kernel_count); n++) {
		bytes += KERNEL_BYTES + strlen(view->kernels[n].name);
		if (n && bytes > GPUMON_REPORT_KERNELS)
			break;
	}
	return n;
}

static void put_kernel(FILE *out, const struct gpumon_view *view,
		       const struct gpumon_kernel_row *row, const char *name, uint64_t all,
		       uint32_t number)
{
	static const char *const letters[GPUMON_WORK_KINDS] = { "k", "y", "m", "g" };
	char waiting[128];

	fprintf(out, "<tr class=\"kind-%s\" data-kernel=\"%" PRIu32 "\">",
		letters[row->kind % GPUMON_WORK_KINDS], number);
	gpumon_report_name_with(out, name, gpumon_ranks_of_kernel(waiting, sizeof(waiting), row));
	gpumon_report_estimate(out, true, row->gpu_ns, row->left_ns, row->count);
	gpumon_report_share(out, row->left_ns, row->gpu_ns + row->left_ns, all);
	gpumon_report_estimate(out, false, row->count, row->left_count, row->count);
	if (row->count)
		put_ns(out, row->gpu_ns / row->count);
	else
		put_unknown(out);
	put_quantile(out, row->duration, 0.5);
	put_quantile(out, row->duration, 0.99);
	put_quantile(out, row->duration, 1);
	put_quantile(out, row->latency, 0.5);
	put_quantile(out, row->latency, 0.99);
	gpumon_report_metric_cells(out, view, row);
	fputs("</tr>\n", out);
}

void gpumon_report_kernels(FILE *out, const struct gpumon_view *view,
			   struct gpumon_report_names *names)
{
	const char *titles[KERNEL_COLUMNS + GPUMON_METRIC_COLUMNS + 1] = {
		"kernel, copy, set, graph",
		"GPU time",
		"share",
		"count",
		"average",
		"median",
		"p99",
		"longest",
		"latency p50",
		"latency p99"
	};
	unsigned int n = gpumon_report_kernel_rows(view), column = KERNEL_COLUMNS;
	struct gpumon_metric_columns metrics;
	struct gpumon_view_totals totals;
	const char **whole;
	char **texts;

	if (!n)
		return;
	whole = gpumon_calloc(n, sizeof(*whole));
	texts = gpumon_calloc(n, sizeof(*texts));
	for (unsigned int i = 0; i < n; i++)
		whole[i] = view->kernels[i].name;
	gpumon_text_squeeze_rows(whole, n, GPUMON_REPORT_NAME, true, texts);
	gpumon_view_totals(view, &totals);
	gpumon_report_section(out, "kernels", "What ran on the GPU", "by GPU time");
	gpumon_metric_columns(view, &metrics);
	for (unsigned int i = 0; i < metrics.count; i++)
		titles[column++] = metrics.about[i]->text;
	if (metrics.count)
		titles[column++] = "samples";
	gpumon_report_open_table(out, "kernels-table", titles, column, 1);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];

		put_kernel(out, view, row, texts[i], totals.work_ns,
			   gpumon_report_kernel(names, row->kind, row->name));
		free(texts[i]);
	}
	free(texts);
	free(whole);
	gpumon_report_close_table(out);
	gpumon_report_more(out, n, view->kernel_count, "kernels, with less GPU time");
	gpumon_report_end(out);
}

static void put_stream(FILE *out, const struct gpumon_view *view,
		       const struct gpumon_device_row *row)
{
	char name[160];

	gpumon_view_stream_text(view, row->process, row->context, row->stream, name, sizeof(name));
	gpumon_text_xml(out, name);
	fprintf(out, ", context %u", GPUMON_NUMBER_OF(row->context));
}

/* What one of several users has of a GPU stands below it. */
static void put_device(FILE *out, const struct gpumon_view *view,
		       const struct gpumon_device_row *row)
{
	char number[GPUMON_DEVICE_TEXT];

	if (gpumon_view_is_gpu(row)) {
		fprintf(out, "%s ", gpumon_view_gpu(number, row));
		gpumon_text_xml(out, row->name ? row->name : "");
		gpumon_report_aside(out, row->host);
	} else if (row->stream == ~0u) {
		fputs(gpumon_view_part(number, view, row), out);
	} else {
		fprintf(out, "%s ", gpumon_view_gpu(number, row));
		put_stream(out, view, row);
	}
	gpumon_report_pid(out, view, row->process);
}

void gpumon_report_devices(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "busy", "share",	      "GPU time",
					      "work", "longest idle", "GPU, stream" };
	struct gpumon_view_totals totals;

	if (!view->device_count)
		return;
	gpumon_view_totals(view, &totals);
	gpumon_report_section(
		out, "devices", "GPUs and streams",
		gpumon_view_has_windows(view) ?
			"busy: something ran on it; share of the time of the windows" :
			"busy: something ran on it; share of the time recorded");
	gpumon_report_open_table(out, "devices-table", titles, 6, 1 << 5);
	for (unsigned int i = 0; i < rows_of(view->device_count); i++) {
		const struct gpumon_device_row *row = &view->devices[i];
		char waiting[128];

		fputs("<tr>", out);
		put_ns(out, row->busy_ns);
		gpumon_report_share(out, false, row->busy_ns, gpumon_view_elapsed(row, &totals));
		put_ns(out, row->gpu_ns);
		put_count(out, row->count);
		put_ns(out, row->idle_longest_ns);
		fprintf(out, "<td class=\"%s\" title=\"",
			gpumon_view_is_gpu(row) ? "device" :
			row->stream == ~0u	? "device part" :
			row->part		? "stream part" :
						  "stream");
		gpumon_text_xml(out, row->uuid);
		fputs("\">", out);
		put_device(out, view, row);
		gpumon_report_aside(out,
				    gpumon_ranks_of_device(waiting, sizeof(waiting), view, row));
		fputs("</td></tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, GPUMON_REPORT_ROWS, view->device_count, "streams");
	gpumon_report_end(out);
}

/* A share of a thread's time. */
static void put_spent(FILE *out, uint64_t ns, uint64_t whole)
{
	char text[GPUMON_TEXT_NUMBER];

	fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\" title=\"%s\">", ns,
		gpumon_text_ns(text, sizeof(text), ns));
	if (ns)
		gpumon_report_percent(out, ns, whole);
	else
		putc('-', out);
	fputs("</td>", out);
}

/* Whether any thread was in a state. */
static bool has_spent(const struct gpumon_view *view, unsigned int spent)
{
	for (unsigned int i = 0; i < view->budget_count; i++) {
		if (view->budget[i].spent_ns[spent])
			return true;
	}
	return false;
}

static void put_thread(FILE *out, const struct gpumon_view *view,
		       const struct gpumon_budget_row *row)
{
	fprintf(out, "<tr><td class=\"device\">%u", row->tid);
	gpumon_report_aside(out, row->name);
	gpumon_report_pid(out, view, row->process);
	if (row->untimed)
		gpumon_report_aside(out, "launches without durations");
	fputs("</td>", out);
	put_ns(out, row->wall_ns);
	for (unsigned int k = 0; k < GPUMON_SPENTS; k++) {
		if (has_spent(view, k))
			put_spent(out, row->spent_ns[k], row->wall_ns);
	}
	put_count(out, row->launches);
	fputs("</tr>\n", out);
}

void gpumon_report_threads(FILE *out, const struct gpumon_view *view)
{
	const char *titles[GPUMON_SPENTS + 3] = { "thread", "wall time" };
	unsigned int n = view->budget_count < THREADS_MAX ? view->budget_count : THREADS_MAX;
	unsigned int columns = 2;

	if (!n)
		return;
	for (unsigned int k = 0; k < GPUMON_SPENTS; k++) {
		if (has_spent(view, k))
			titles[columns++] = gpumon_spent_text(k);
	}
	titles[columns++] = "launches";
	fputs("<details id=\"threads\"><summary>The time of each thread</summary>\n", out);
	gpumon_report_open_table(out, "threads-table", titles, columns, 1);
	for (unsigned int i = 0; i < n; i++)
		put_thread(out, view, &view->budget[i]);
	gpumon_report_close_table(out);
	gpumon_report_more(out, n, view->budget_count, "threads, with fewer launches");
	fputs("</details>\n", out);
}

void gpumon_report_gaps(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "idle", "at", "GPU", "what the CPU did" };
	char number[GPUMON_DEVICE_TEXT], what[128], doing[4096];

	if (!view->gap_count)
		return;
	snprintf(what, sizeof(what), "the longest times%s in which nothing ran on it",
		 gpumon_view_has_windows(view) ? " within the windows" : "");
	gpumon_report_section(out, "gaps", "Where a GPU idled", what);
	gpumon_report_open_table(out, "gaps-table", titles, 4, 1 << 3);
	for (unsigned int i = 0; i < view->gap_count; i++) {
		const struct gpumon_gap *gap = &view->gaps[i];

		fputs("<tr>", out);
		put_ns(out, gap->end_ns - gap->start_ns);
		put_ns(out, gap->start_ns - gpumon_view_began(view));
		fprintf(out, "<td class=\"gpu\">%s", gpumon_view_gap(number, view, gap));
		gpumon_report_pid(out, view, gap->doing && *gap->doing ? gap->doer : gap->process);
		fputs("</td>", out);
		gpumon_report_name(out,
				   gap->doing && *gap->doing ?
					   gpumon_text_function(doing, sizeof(doing), gap->doing) :
					   "not known");
		fputs("</tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_end(out);
}

void gpumon_report_ranges(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "GPU time", "share",    "work",
					      "ranges",	  "open for", "NVTX range" };
	struct gpumon_view_totals totals;

	if (!view->range_count)
		return;
	gpumon_view_totals(view, &totals);
	gpumon_report_section(out, "ranges", "NVTX ranges",
			      "GPU time of what was launched while they were open");
	gpumon_report_open_table(out, "ranges-table", titles, 6, 1 << 5);
	for (unsigned int i = 0; i < rows_of(view->range_count); i++) {
		const struct gpumon_range_row *row = &view->ranges[i];

		fputs("<tr>", out);
		gpumon_report_estimate(out, true, row->gpu_ns, row->left_ns, row->works);
		gpumon_report_share(out, row->left_ns, row->gpu_ns + row->left_ns, totals.work_ns);
		gpumon_report_estimate(out, false, row->works, row->left_works, row->works);
		put_count(out, row->count);
		put_ns(out, row->cpu_ns);
		fputs("<td class=\"name\">", out);
		gpumon_text_xml(out, row->text);
		gpumon_report_aside(out, row->domain);
		fputs("</td></tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, GPUMON_REPORT_ROWS, view->range_count, "ranges");
	gpumon_report_end(out);
}

void gpumon_report_processes(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "pid", "rank", "CUPTI", "driver", "command" };
	const struct gpumon_scan *scan = view->scan;

	if (!scan || !scan->process_count)
		return;
	gpumon_report_section(out, "processes", "Processes", "");
	gpumon_report_open_table(out, "processes-table", titles, 5, 1 << 4);
	for (unsigned int i = 0; i < rows_of(scan->process_count); i++) {
		const struct gpumon_scan_process *process = &scan->processes[i];
		uint32_t pid = gpumon_scan_pid(process);

		fprintf(out, "<tr><td class=\"n\" data-v=\"%u\">%u</td>", pid, pid);
		if (process->rank != ~0u)
			put_count(out, process->rank);
		else
			put_unknown(out);
		if (process->cupti_version)
			fprintf(out, "<td class=\"n\" data-v=\"%u\">%u</td>",
				process->cupti_version, process->cupti_version);
		else
			put_unknown(out);
		/* 13000 is version 13.0. */
		if (process->driver_version)
			fprintf(out, "<td class=\"n\" data-v=\"%u\">%u.%u</td>",
				process->driver_version, process->driver_version / 1000,
				process->driver_version % 1000 / 10);
		else
			put_unknown(out);
		fputs("<td class=\"name\" title=\"", out);
		gpumon_text_xml(out, process->executable ? process->executable : "");
		fputs("\">", out);
		gpumon_text_xml(out, process->command && *process->command ? process->command :
				     process->executable		   ? process->executable :
									     "");
		gpumon_report_aside(out, process->host);
		fputs("</td></tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, GPUMON_REPORT_ROWS, scan->process_count, "processes");
	gpumon_report_end(out);
}
