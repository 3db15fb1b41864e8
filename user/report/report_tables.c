// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "lib/text.h"
#include "scan.h"
#include "report.h"
#include "view.h"

static unsigned int rows_of(unsigned int count)
{
	return count < GPUMON_REPORT_ROWS ? count : GPUMON_REPORT_ROWS;
}

void gpumon_report_open_table(FILE *out, const char *const *titles, unsigned int n,
			      unsigned int texts)
{
	fputs("<div class=\"scroll\"><table class=\"sortable\"><thead><tr>", out);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "<th%s>%s</th>", i + texts < n ? " class=\"n\"" : "", titles[i]);
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

void gpumon_report_name(FILE *out, const char *name)
{
	char shortened[4096];

	gpumon_text_function(shortened, sizeof(shortened), name);
	fputs("<td class=\"name\" title=\"", out);
	gpumon_text_xml(out, name);
	fputs("\">", out);
	gpumon_text_xml(out, shortened);
	fputs("</td>", out);
}

void gpumon_report_kernels(FILE *out, const struct gpumon_view *view, struct gpumon_intern *kernels)
{
	static const char *const titles[] = {
		"GPU time", "share",   "count",	      "average",     "median",
		"p99",	    "longest", "latency p50", "latency p99", "kernel, copy, set, graph"
	};
	static const char *const letters[GPUMON_WORK_KINDS] = { "k", "y", "m", "g" };
	struct gpumon_view_totals totals;

	if (!view->kernel_count)
		return;
	gpumon_view_totals(view, &totals);
	gpumon_report_section(out, "kernels", "What ran on the GPU", "by GPU time");
	gpumon_report_open_table(out, titles, 10, 1);
	for (unsigned int i = 0; i < rows_of(view->kernel_count); i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];

		fprintf(out, "<tr class=\"kind-%s\" data-kernel=\"%" PRIu32 "\">",
			letters[row->kind % GPUMON_WORK_KINDS],
			gpumon_report_kernel(kernels, row->kind, row->name));
		gpumon_report_estimate(out, true, row->gpu_ns, row->left_ns, row->count);
		gpumon_report_share(out, row->left_ns, row->gpu_ns + row->left_ns, totals.work_ns);
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
		gpumon_report_name(out, row->name);
		fputs("</tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, GPUMON_REPORT_ROWS, view->kernel_count, "kernels");
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
	gpumon_report_open_table(out, titles, 6, 1);
	for (unsigned int i = 0; i < rows_of(view->device_count); i++) {
		const struct gpumon_device_row *row = &view->devices[i];

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
		fputs("</td></tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, GPUMON_REPORT_ROWS, view->device_count, "streams");
	gpumon_report_end(out);
}

void gpumon_report_gaps(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "idle", "at", "GPU", "what the CPU did" };
	char number[GPUMON_DEVICE_TEXT], what[128];

	if (!view->gap_count)
		return;
	snprintf(what, sizeof(what), "the longest times%s in which nothing ran on it",
		 gpumon_view_has_windows(view) ? " within the windows" : "");
	gpumon_report_section(out, "gaps", "Where a GPU idled", what);
	gpumon_report_open_table(out, titles, 4, 1);
	for (unsigned int i = 0; i < view->gap_count; i++) {
		const struct gpumon_gap *gap = &view->gaps[i];

		fputs("<tr>", out);
		put_ns(out, gap->end_ns - gap->start_ns);
		put_ns(out, gap->start_ns - view->first_ns);
		fprintf(out, "<td class=\"gpu\">%s", gpumon_view_gap(number, view, gap));
		gpumon_report_pid(out, view, gap->doing && *gap->doing ? gap->doer : gap->process);
		fputs("</td>", out);
		if (gap->doing && *gap->doing)
			gpumon_report_name(out, gap->doing);
		else
			fputs("<td class=\"name\">not known</td>", out);
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
	gpumon_report_open_table(out, titles, 6, 1);
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
	gpumon_report_open_table(out, titles, 5, 1);
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
