// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/version.h"
#include "flamegraph.h"
#include "lib/text.h"
#include "report.h"
#include "view.h"

void gpumon_report_section(FILE *out, const char *id, const char *title, const char *what)
{
	fprintf(out, "<section id=\"%s\"><h2>%s", id, title);
	if (*what)
		fprintf(out, " <small>%s</small>", what);
	fputs("</h2>\n", out);
}

void gpumon_report_end(FILE *out)
{
	fputs("</section>\n", out);
}

void gpumon_report_percent(FILE *out, uint64_t part, uint64_t whole)
{
	char text[GPUMON_TEXT_NUMBER];

	gpumon_text_xml(out, gpumon_text_percent(text, sizeof(text), part, whole));
}

void gpumon_report_aside(FILE *out, const char *text)
{
	if (!text || !*text)
		return;
	fputs(" <em>", out);
	gpumon_text_xml(out, text);
	fputs("</em>", out);
}

void gpumon_report_pid(FILE *out, const struct gpumon_view *view, uint32_t process)
{
	if (process != GPUMON_PROCESS_SEVERAL && view->scan && view->scan->process_count > 1)
		fprintf(out, " <em>pid %u</em>", gpumon_view_pid(view, process));
}

void gpumon_report_more(FILE *out, unsigned int shown, unsigned int all, const char *what)
{
	char number[GPUMON_TEXT_NUMBER];

	if (all > shown)
		fprintf(out, "<p>and %s more %s</p>\n",
			gpumon_text_count(number, sizeof(number), all - shown), what);
}

static void put_head(FILE *out, const struct gpumon_view *view)
{
	const char *command = gpumon_view_command(view);

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"generator\" content=\"gpumon " GPUMON_VERSION "\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
	      out);
	gpumon_text_xml(out, *command ? command : "GPU report");
	fputs("</title>\n<style>\n", out);
	gpumon_asset_write(out, GPUMON_ASSET_FLAME_CSS);
	gpumon_asset_write(out, GPUMON_ASSET_REPORT_CSS);
	fputs("</style>\n</head>\n<body>\n", out);
}

static void put_about(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_scan *scan = view->scan;
	const char *command = gpumon_view_command(view);
	char date[64], range[640];
	time_t seconds;
	struct tm tm;

	fputs("<header><h1>", out);
	gpumon_text_xml(out, *command ? command : "GPU report");
	fputs("</h1>\n<p>", out);
	if (scan && scan->host && *scan->host) {
		gpumon_text_xml(out, scan->host);
		fputs(" · ", out);
	}
	if (scan && scan->created_ns) {
		seconds = (time_t)(scan->created_ns / 1000000000);
		if (gmtime_r(&seconds, &tm) &&
		    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm))
			fprintf(out, "%s · ", date);
	}
	if (scan && scan->process_count > 1)
		fprintf(out, "%u processes · ", scan->process_count);
	fputs("gpumon " GPUMON_VERSION "</p>\n", out);
	if (*gpumon_view_range(range, sizeof(range), view)) {
		fputs("<p id=\"range\">", out);
		gpumon_text_xml(out, range);
		fputs("</p>\n", out);
	}
	fputs("</header>\n", out);
}

static void put_card(FILE *out, bool estimate, const char *value, const char *what)
{
	fprintf(out, "<div class=\"card\"><b>%s%s</b><span>%s</span></div>\n", estimate ? "~" : "",
		value, what);
}

/* Maximum number of GPU cards, more than a machine has. */
#define CARDS_MAX 64

static void put_busy(FILE *out, const struct gpumon_view *view, const struct gpumon_device_row *row,
		     uint64_t elapsed_ns)
{
	char busy[GPUMON_TEXT_NUMBER], number[GPUMON_DEVICE_TEXT];
	double part = elapsed_ns ? 100.0 * (double)row->busy_ns / (double)elapsed_ns : 0;

	fputs("<div class=\"card wide\"><b>", out);
	gpumon_report_percent(out, row->busy_ns, elapsed_ns);
	fprintf(out, "</b><span>%s ", gpumon_view_gpu(number, row));
	gpumon_text_xml(out, row->name ? row->name : "");
	gpumon_report_pid(out, view, row->process);
	fprintf(out,
		" busy, %s</span><div class=\"meter\"><i style=\"width:%.2f%%\"></i></div></div>\n",
		gpumon_text_ns(busy, sizeof(busy), row->busy_ns), part > 100 ? 100 : part);
}

static void put_cards(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_distribution *latency = view->latency;
	char text[GPUMON_TEXT_NUMBER], what[96], p99[GPUMON_TEXT_NUMBER];
	struct gpumon_view_totals totals;

	gpumon_view_totals(view, &totals);
	fputs("<div class=\"cards\">\n", out);
	put_card(out, false, gpumon_text_ns(text, sizeof(text), totals.wall_ns), "recorded");
	if (totals.gpu_ns || !totals.cpu_ns)
		put_card(out, totals.left_ns, gpumon_text_ns(text, sizeof(text), totals.gpu_ns),
			 "GPU time");
	put_card(out, totals.left_count, gpumon_text_count(text, sizeof(text), totals.count),
		 totals.gpu_ns		    ? "GPU operations" :
		 gpumon_view_has_hits(view) ? "calls" :
					      "launches");
	if (totals.cpu_ns)
		put_card(out, false, gpumon_text_ns(text, sizeof(text), totals.cpu_ns),
			 gpumon_view_has_hits(view) ? "in these calls" : "in launch calls");
	if (latency && gpumon_distribution_count(latency)) {
		snprintf(what, sizeof(what), "call to start, median; p99 %s",
			 gpumon_text_ns(p99, sizeof(p99),
					gpumon_distribution_quantile(latency, 0.99)));
		put_card(out, false,
			 gpumon_text_ns(text, sizeof(text),
					gpumon_distribution_quantile(latency, 0.5)),
			 what);
	}
	for (unsigned int i = 0, cards = 0; i < view->device_count && cards < CARDS_MAX; i++) {
		if (gpumon_view_is_gpu(&view->devices[i]) && ++cards)
			put_busy(out, view, &view->devices[i],
				 gpumon_view_elapsed(&view->devices[i], &totals));
	}
	fputs("</div>\n", out);
}

static void put_cause(void *data, const struct gpumon_cause *cause)
{
	char number[GPUMON_TEXT_NUMBER];
	FILE *out = data;

	fprintf(out, "<tr%s><td class=\"n\">%s</td><td>%s", cause->bad ? " class=\"bad\"" : "",
		gpumon_text_count(number, sizeof(number), cause->count),
		cause->of ? "GPU operations: " : "");
	gpumon_text_xml(out, cause->what);
	gpumon_report_aside(out, cause->advice);
	fputs("</td></tr>\n", out);
}

static void put_notes(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_scan *scan = view->scan;
	unsigned int notes = scan ? scan->note_count : 0;

	for (unsigned int i = 0; i < notes && i < GPUMON_REPORT_NOTES; i++) {
		fputs("<p>Note: ", out);
		gpumon_text_xml(out, scan->notes[i]);
		fputs("</p>\n", out);
	}
	gpumon_report_more(out, GPUMON_REPORT_NOTES, notes, "notes");
}

static void put_sentence(FILE *out, const char *what, const char *text)
{
	fprintf(out, "<p><b>%s: ", what);
	gpumon_text_xml(out, text);
	fputs(".</b></p>\n", out);
}

/*
 * If something is missing, that stands below the verdict, since it says how reliable all is; that nothing is
 * stands at the end.
 */
static void put_missing(FILE *out, const struct gpumon_view *view, bool at_end)
{
	struct gpumon_missing missing;
	const char *nothing;
	char line[512];
	bool bad, good;

	gpumon_missing_of(view, &missing);
	nothing = missing.nothing;
	missing.nothing = NULL;
	gpumon_missing_line(line, sizeof(line), &missing);
	bad = nothing || *line;
	good = !bad;
	if (good != at_end)
		return;
	fprintf(out, "<div class=\"box %s\" id=\"missing\">", bad ? "warn" : "good");
	if (nothing)
		put_sentence(out, "Nothing was recorded", nothing);
	if (*line)
		put_sentence(out, "Missing", line);
	if (good)
		put_sentence(out, "Nothing is missing", gpumon_view_complete(view));
	if (*gpumon_view_sampling(line, sizeof(line), view)) {
		fputs("<p id=\"sampling\">", out);
		gpumon_text_xml(out, line);
		if (gpumon_view_has_windows(view))
			fputs(". Busy and idle times are those within the windows", out);
		fputs(".</p>\n", out);
	}
	/* A note is no part of what is good, but it may say what is missing. */
	if (!good)
		put_notes(out, view);
	fputs("<details><summary>By cause</summary><table>\n", out);
	gpumon_missing_causes(view, put_cause, out);
	fputs("</table></details></div>\n", out);
	if (good && view->scan && view->scan->note_count) {
		fputs("<div class=\"box\" id=\"notes\">\n", out);
		put_notes(out, view);
		fputs("</div>\n", out);
	}
}

static void put_lines(FILE *out, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		gpumon_text_xml(out, line);
		putc('\n', out);
	}
}

/* As text: a tool's tables are its own. */
static int put_findings(FILE *out, const struct gpumon_view *view, unsigned int number)
{
	const struct gpumon_term term = { 0 };
	char *text = NULL, what[128];
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int ret = memory ? gpumon_findings_print(view->findings[number], &term, memory) : -1;

	if (memory && fclose(memory))
		ret = -1;
	if (!ret) {
		fputs("<p><b>", out);
		gpumon_text_xml(out, gpumon_view_findings_name(what, sizeof(what), view, number));
		fputs("</b></p>\n<pre>", out);
		put_lines(out, text);
		fputs("</pre>\n", out);
	}
	free(text);
	return ret;
}

static int put_all_findings(FILE *out, const struct gpumon_view *view)
{
	int ret = 0;

	if (!view->findings_count)
		return 0;
	gpumon_report_section(out, "probe", "In kernels", "what programs in them gathered");
	for (unsigned int i = 0; i < view->findings_count && !ret; i++)
		ret = put_findings(out, view, i);
	gpumon_report_end(out);
	return ret;
}

static void put_latency(FILE *out, const struct gpumon_view *view)
{
	if (!view->latency || !gpumon_distribution_count(view->latency))
		return;
	gpumon_report_section(out, "latency", "Launch latency",
			      "from the call to the start on the GPU");
	gpumon_report_histogram(out, view->latency);
	gpumon_report_end(out);
}

/* What takes the time comes first, then what ran, then where. */
static int put_main(FILE *out, const struct gpumon_view *view, struct gpumon_report_names *names)
{
	gpumon_report_verdict(out, view);
	put_missing(out, view, false);
	put_cards(out, view);
	if (gpumon_report_frame_times(out, view))
		return -1;
	gpumon_report_timeline(out, view, names);
	if (gpumon_report_flames(out, view, names))
		return -1;
	gpumon_report_kernels(out, view, names);
	gpumon_report_stalls(out, view);
	if (put_all_findings(out, view))
		return -1;
	put_latency(out, view);
	gpumon_report_ranges(out, view);
	gpumon_report_gaps(out, view);
	gpumon_report_devices(out, view);
	gpumon_report_ranks(out, view);
	gpumon_report_processes(out, view);
	put_missing(out, view, true);
	return 0;
}

int gpumon_output_report(FILE *out, const struct gpumon_view *view)
{
	struct gpumon_report_names names = { 0 };
	int ret;

	/* Call paths tell by the number whether a kernel has a row: these come first. */
	for (unsigned int i = 0; i < gpumon_report_kernel_rows(view); i++)
		(void)gpumon_report_kernel(&names, view->kernels[i].kind, view->kernels[i].name);
	put_head(out, view);
	put_about(out, view);
	fputs("<main>\n", out);
	ret = put_main(out, view, &names);
	fputs("</main>\n", out);
	gpumon_report_names_write(out, &names);
	gpumon_report_names_clear(&names);
	if (ret && !ferror(out))
		errno = ENOMEM;
	if (ret)
		return -1;
	fputs("<script>\n", out);
	gpumon_asset_write(out, GPUMON_ASSET_FLAME_JS);
	gpumon_asset_write(out, GPUMON_ASSET_REPORT_JS);
	fputs("</script>\n</body>\n</html>\n", out);
	return ferror(out) ? -1 : 0;
}
