// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format.h"
#include "lib/table.h"
#include "lib/text.h"
#include "metrics.h"
#include "scan.h"
#include "path_text.h"
#include "ranks.h"
#include "stalls_print.h"
#include "verdict.h"
#include "view.h"

#define ROWS	     10
#define TIME_ROWS    5	 /* of the tables about wall and idle time */
#define GPU_COLUMNS  32	 /* of a GPU with its process and host, in the table of idle times */
#define WIDE	     100 /* columns needed for quantiles beside names */
#define WIDER	     140 /* the same for metrics of GPUs */
#define GAP_ROWS     3	 /* of the longest idle times, below those by call path */
#define CAUSE_INDENT (GPUMON_TABLE_INDENT + 12) /* of what is missing, behind its number */
#define NOTE_INDENT  6				/* of the second and later lines of a note */

struct summary {
	FILE *out;
	const struct gpumon_term *term;
	const struct gpumon_view *view;
	struct gpumon_view_totals totals;
	unsigned int rows;
	unsigned int time_rows;
	uint64_t idle_ns; /* of GPUs, by call path */
};

static void print_heading(const struct summary *summary, const char *title, const char *what)
{
	fprintf(summary->out, "\n%s%s%s", gpumon_term_bold(summary->term), title,
		gpumon_term_reset(summary->term));
	if (!*what) {
		putc('\n', summary->out);
		return;
	}
	fputs("  ", summary->out);
	gpumon_sentence_print(summary->out, summary->term, gpumon_term_dim(summary->term),
			      gpumon_text_columns(title) + 2, GPUMON_TABLE_INDENT, what);
}

static void print_line(const struct summary *summary, unsigned int indent, const char *colour,
		       const char *text)
{
	unsigned int columns = summary->term->columns;
	char cut[1024];

	fprintf(summary->out, "%*s%s%s%s\n", (int)indent, "", colour,
		gpumon_text_cut(cut, sizeof(cut), text,
				columns > indent + 8 ? columns - indent : 0),
		*colour ? gpumon_term_reset(summary->term) : "");
}

static void print_sentence(const struct summary *summary, const char *colour, unsigned int indent,
			   unsigned int indent_below, const char *sentence)
{
	fprintf(summary->out, "%*s", (int)indent, "");
	gpumon_sentence_print(summary->out, summary->term, colour, indent, indent_below, sentence);
}

static void print_note(const struct summary *summary, const char *note)
{
	char text[512];

	snprintf(text, sizeof(text), "Note: %s", note);
	print_sentence(summary, gpumon_term_yellow(summary->term), 0, NOTE_INDENT, text);
}

/* Below a table with estimates. */
static void print_sampling(const struct summary *summary)
{
	char text[512];

	if (*gpumon_view_sampling(text, sizeof(text), summary->view))
		print_sentence(summary, gpumon_term_dim(summary->term), GPUMON_TABLE_INDENT,
			       GPUMON_TABLE_INDENT, text);
}

static void print_more(const struct summary *summary, unsigned int shown, unsigned int all)
{
	if (all > shown)
		fprintf(summary->out, "  %sand %u more%s\n", gpumon_term_dim(summary->term),
			all - shown, gpumon_term_reset(summary->term));
}

static void print_about(const struct summary *summary)
{
	const struct gpumon_scan *scan = summary->view->scan;
	char wall[GPUMON_FORMAT_LEN], gpu[GPUMON_FORMAT_LEN], count[GPUMON_TEXT_NUMBER];
	const char *mark = summary->totals.left_ns ? "~" : "";
	struct gpumon_missing missing;
	char text[512];
	size_t at = 0;

	gpumon_missing_of(summary->view, &missing);

	if (*gpumon_view_command(summary->view))
		print_line(summary, 0, gpumon_term_bold(summary->term),
			   gpumon_view_command(summary->view));
	if (scan && scan->host && *scan->host)
		at = (size_t)snprintf(text, sizeof(text), "%.64s · ", scan->host);
	if (scan && scan->process_count == 1)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "pid %u · ",
				       gpumon_scan_pid(&scan->processes[0]));
	else if (scan && scan->process_count > 1)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%u processes · ",
				       scan->process_count);
	if (missing.nothing)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "nothing was recorded");
	else
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s recorded",
				       gpumon_format_ns(wall, sizeof(wall),
							gpumon_value_of(summary->totals.wall_ns)));
	if (summary->totals.gpu_ns)
		snprintf(text + at, sizeof(text) - at, " · %s%s of GPU time in %s%s operations",
			 mark,
			 gpumon_format_ns(gpu, sizeof(gpu),
					  gpumon_value_of(summary->totals.gpu_ns)),
			 mark, gpumon_text_count(count, sizeof(count), summary->totals.count));
	else if (summary->totals.cpu_ns)
		snprintf(text + at, sizeof(text) - at,
			 gpumon_view_has_hits(summary->view) ? " · %s in %s calls" :
							       " · %s in the calls of %s launches",
			 gpumon_format_ns(gpu, sizeof(gpu),
					  gpumon_value_of(summary->totals.cpu_ns)),
			 gpumon_text_count(count, sizeof(count), summary->totals.count));
	print_sentence(summary, "", 0, GPUMON_TABLE_INDENT, text);
	if (*gpumon_view_range(text, sizeof(text), summary->view))
		print_sentence(summary, gpumon_term_yellow(summary->term), 0, GPUMON_TABLE_INDENT,
			       text);
	if (scan && !scan->ended)
		print_line(summary, 0, gpumon_term_yellow(summary->term),
			   "The capture was cut off: this is what was written until then.");
	for (unsigned int i = 0; scan && i < scan->note_count; i++)
		print_note(summary, scan->notes[i]);
}

static struct gpumon_value quantile_of(const struct gpumon_distribution *distribution, double q)
{
	if (!distribution || !gpumon_distribution_count(distribution))
		return (struct gpumon_value){ 0 };
	return gpumon_value_of(gpumon_distribution_quantile(distribution, q));
}

static int print_kernels(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	unsigned int n = view->kernel_count < summary->rows ? view->kernel_count : summary->rows;
	/* The names of matrix kernels only differ after about 35 characters. */
	bool quantiles = summary->term->columns >= WIDE;
	/* On a narrow terminal they stand below the row. */
	bool metrics = summary->term->columns >= WIDER;
	struct gpumon_figure figures[GPUMON_FIGURES];
	unsigned int figure_count = gpumon_view_figures(view, figures);
	struct gpumon_table *table;
	int ret;

	if (!n)
		return 0;
	print_heading(summary, "Work", "by GPU time");
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "GPU TIME", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "COUNT", GPUMON_COLUMN_RIGHT);
	if (view->sampling && view->sampling->left_out)
		gpumon_table_column(table, "SAMPLES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "AVG", GPUMON_COLUMN_RIGHT);
	if (quantiles) {
		gpumon_table_column(table, "P50", GPUMON_COLUMN_RIGHT);
		gpumon_table_column(table, "P99", GPUMON_COLUMN_RIGHT);
	}
	for (unsigned int i = 0; i < figure_count; i++)
		gpumon_figure_column(&figures[i], table);
	if (metrics)
		gpumon_kernel_metrics_head(view, table);
	gpumon_table_column(table, "KERNEL", GPUMON_COLUMN_NAME);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];
		char waiting[128], sampled[256];

		gpumon_table_estimate(table, row->left_count || row->left_ns);
		gpumon_table_ns(table, gpumon_value_of(row->gpu_ns + row->left_ns));
		gpumon_table_percent(table, row->gpu_ns + row->left_ns, summary->totals.work_ns);
		gpumon_table_count(table, row->count + row->left_count);
		gpumon_table_estimate(table, false);
		if (view->sampling && view->sampling->left_out)
			gpumon_table_count(table, row->count);
		gpumon_table_ns(table, row->count ? gpumon_value_of(row->gpu_ns / row->count) :
						    (struct gpumon_value){ 0 });
		if (quantiles) {
			gpumon_table_ns(table, quantile_of(row->duration, 0.5));
			gpumon_table_ns(table, quantile_of(row->duration, 0.99));
		}
		for (unsigned int k = 0; k < figure_count; k++)
			gpumon_figure_cell(&figures[k], row->name, table);
		if (metrics)
			gpumon_kernel_metrics_cells(view, row, table);
		gpumon_table_text(table, row->name);
		if (!metrics && *gpumon_kernel_metrics_text(sampled, sizeof(sampled), view, row))
			gpumon_table_below(table, sampled);
		if (*gpumon_ranks_of_kernel(waiting, sizeof(waiting), row))
			gpumon_table_below(table, waiting);
	}
	ret = gpumon_table_print(table, summary->out);
	print_more(summary, n, view->kernel_count);
	if (gpumon_view_has_windows(view))
		print_sampling(summary);
	return ret;
}

static int print_paths_by(const struct summary *summary, enum gpumon_weight weight, uint64_t all,
			  const char *title, const char *what)
{
	const struct gpumon_sampling *sampling = summary->view->sampling;
	const struct gpumon_node *top[GPUMON_SUMMARY_ROWS_MAX];
	bool number = weight == GPUMON_WEIGHT_COUNT || weight == GPUMON_WEIGHT_UNTIMED;
	bool samples = weight == GPUMON_WEIGHT_GPU_NS && sampling &&
		       (sampling->left_out || sampling->unsampled);
	bool wall = weight == GPUMON_WEIGHT_WALL_NS, idle = weight == GPUMON_WEIGHT_IDLE_NS;
	unsigned int heavy = 0, n;
	char *texts[GPUMON_SUMMARY_ROWS_MAX];
	struct gpumon_table *table;
	int ret;

	n = gpumon_paths_top(summary->view->root, weight, top,
			     wall || idle ? summary->time_rows : summary->rows);
	/* Without callers (--gpu-only) this would repeat the table by kernel. */
	if (!n || (!wall && !idle && !gpumon_paths_any(top, n)))
		return 0;
	gpumon_path_texts(top, n, gpumon_table_below_columns(summary->term), texts);
	print_heading(summary, title, what);
	table = gpumon_table_new(summary->term);
	if (weight == GPUMON_WEIGHT_GPU_NS)
		gpumon_table_column(table, "GPU TIME", GPUMON_COLUMN_RIGHT);
	else if (weight == GPUMON_WEIGHT_CPU_NS)
		gpumon_table_column(table, "CPU TIME", GPUMON_COLUMN_RIGHT);
	else if (wall)
		gpumon_table_column(table, "WALL TIME", GPUMON_COLUMN_RIGHT);
	else if (idle)
		gpumon_table_column(table, "IDLE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	if (!wall)
		gpumon_table_column(table, idle ? "TIMES" : "COUNT", GPUMON_COLUMN_RIGHT);
	if (idle)
		gpumon_table_column(table, "LONGEST", GPUMON_COLUMN_RIGHT);
	if (samples)
		gpumon_table_column(table, "SAMPLES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table,
			    weight == GPUMON_WEIGHT_GPU_NS ? "KERNEL" :
			    wall || idle		   ? "WHAT" :
							     "CALL",
			    GPUMON_COLUMN_NAME);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t value = gpumon_tree_weight(top[i], weight);
		char waiting[128];

		gpumon_table_estimate(table, gpumon_tree_is_scaled(top[i], weight));
		if (!number)
			gpumon_table_ns(table, gpumon_value_of(value));
		gpumon_table_percent(table, value, all);
		if (!wall)
			gpumon_table_count(table, idle ? top[i]->idle_count :
							 top[i]->count + top[i]->left_count);
		gpumon_table_estimate(table, false);
		if (idle)
			gpumon_table_ns(table, gpumon_value_of(top[i]->idle_longest_ns));
		if (samples)
			gpumon_table_count(table, top[i]->count);
		gpumon_table_text(table, top[i]->name);
		if (*gpumon_ranks_of_node(waiting, sizeof(waiting), summary->view, top[i]) &&
		    weight == GPUMON_WEIGHT_GPU_NS)
			gpumon_table_below(table, waiting);
		if (*texts[i])
			gpumon_table_below(table, texts[i]);
		free(texts[i]);
	}
	ret = gpumon_table_print(table, summary->out);
	for (const struct gpumon_node *node = summary->view->root; node;
	     node = gpumon_tree_next(node, summary->view->root))
		heavy += gpumon_tree_weight(node, weight) != 0;
	print_more(summary, n, heavy);
	if (samples)
		print_sampling(summary);
	return ret;
}

static int print_paths(const struct summary *summary)
{
	const struct gpumon_view_totals *totals = &summary->totals;
	int ret;

	if (totals->gpu_ns)
		ret = print_paths_by(summary, GPUMON_WEIGHT_GPU_NS, totals->gpu_ns, "Call paths",
				     "by GPU time, outermost caller first");
	else if (totals->cpu_ns)
		ret = print_paths_by(summary, GPUMON_WEIGHT_CPU_NS, totals->cpu_ns, "Call paths",
				     gpumon_view_has_hits(summary->view) ?
					     "by time in blocking calls, outermost caller first" :
					     "by time in launch calls, outermost caller first");
	else
		ret = 0;
	/*
	 * With uprobes, GPU operations are unknown, and calls that do not block have no duration.
	 */
	if (!ret && totals->untimed)
		ret = print_paths_by(summary, GPUMON_WEIGHT_UNTIMED, totals->untimed,
				     "Launches without GPU time",
				     "by number, outermost caller first");
	return ret;
}

/* --- where wall time went */

/* The columns of the table by thread; titles are for a wide table, and for a narrow one. */
static const struct spent_column {
	const char *wide;
	const char *narrow;
	enum gpumon_spent spent;
	enum gpumon_spent also; /* in a narrow table added to @spent; the same: none */
} spent_columns[] = {
	{ "LAUNCHING", "LAUNCH", GPUMON_SPENT_LAUNCH, GPUMON_SPENT_LAUNCH },
	{ "GPU WAIT", "WAIT", GPUMON_SPENT_GPU_WAIT, GPUMON_SPENT_GPU_WAIT },
	{ "OTHER CALLS", "CALLS", GPUMON_SPENT_CALL, GPUMON_SPENT_CALL },
	{ "BETWEEN CALLS", "BETWEEN", GPUMON_SPENT_BETWEEN, GPUMON_SPENT_BETWEEN },
	{ "RUNNING", "RUN", GPUMON_SPENT_RUNNING, GPUMON_SPENT_RUNNING },
	{ "BLOCKED", "BLOCK", GPUMON_SPENT_BLOCKED, GPUMON_SPENT_BLOCKED },
	{ "NOT RECORDED", "UNKNOWN", GPUMON_SPENT_UNRECORDED, GPUMON_SPENT_UNRECORDED },
	{ "BEFORE", "OUTSIDE", GPUMON_SPENT_BEFORE, GPUMON_SPENT_AFTER },
	{ "AFTER", NULL, GPUMON_SPENT_AFTER, GPUMON_SPENT_AFTER },
};

#define SPENT_COLUMNS (sizeof(spent_columns) / sizeof(spent_columns[0]))

static uint64_t spent_of(const struct gpumon_budget_row *row, const struct spent_column *column,
			 bool wide)
{
	uint64_t ns = row->spent_ns[column->spent];

	return wide || column->also == column->spent ?
		       ns :
		       gpumon_add_saturated(ns, row->spent_ns[column->also]);
}

/* Whether any thread has such a time. */
static bool has_spent(const struct gpumon_view *view, const struct spent_column *column, bool wide)
{
	for (unsigned int i = 0; i < view->budget_count; i++) {
		if (spent_of(&view->budget[i], column, wide))
			return wide || column->narrow;
	}
	return false;
}

/* "blocked: 12.1% lock, 3.00% sleep", the longest first; "" if it was not. */
static const char *blocked_text(char *buf, size_t len, const struct gpumon_budget_row *row)
{
	char percent[GPUMON_TEXT_NUMBER];
	bool shown[GPUMON_WAIT_KINDS] = { false };
	size_t at = 0;

	buf[0] = '\0';
	for (;;) {
		unsigned int longest = 0;
		uint64_t ns = 0;

		for (unsigned int kind = 0; kind < GPUMON_WAIT_KINDS; kind++) {
			if (shown[kind] || row->blocked_ns[kind] <= ns)
				continue;
			longest = kind;
			ns = row->blocked_ns[kind];
		}
		if (!ns || at >= len)
			return buf;
		shown[longest] = true;
		at += (size_t)snprintf(buf + at, len - at, "%s%s %s", at ? ", " : "blocked: ",
				       gpumon_text_percent(percent, sizeof(percent), ns,
							   row->wall_ns),
				       longest == GPUMON_WAIT_UNKNOWN ? "at an unknown place" :
									gpumon_wait_text(longest));
	}
}

static int print_threads(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	unsigned int n = view->budget_count < summary->time_rows ? view->budget_count :
								   summary->time_rows;
	bool wide = summary->term->columns >= WIDE;
	struct gpumon_table *table;
	char text[512];
	int ret;

	if (!n)
		return 0;
	print_heading(
		summary, "Threads",
		"% of their time: in calls that launch work, wait for the GPU, or do neither; between calls; before and after all of them");
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "TIME", GPUMON_COLUMN_RIGHT);
	for (size_t i = 0; i < SPENT_COLUMNS; i++) {
		if (has_spent(view, &spent_columns[i], wide))
			gpumon_table_column(table,
					    wide ? spent_columns[i].wide : spent_columns[i].narrow,
					    GPUMON_COLUMN_RIGHT);
	}
	gpumon_table_column(table, "THREAD", GPUMON_COLUMN_PHRASE);
	for (unsigned int k = 0; k < n; k++) {
		const struct gpumon_budget_row *row = &view->budget[k];

		gpumon_table_ns(table, gpumon_value_of(row->wall_ns));
		for (size_t i = 0; i < SPENT_COLUMNS; i++) {
			if (has_spent(view, &spent_columns[i], wide))
				gpumon_table_percent(table, spent_of(row, &spent_columns[i], wide),
						     row->wall_ns);
		}
		gpumon_table_text(table, gpumon_view_thread(text, sizeof(text), view, row));
		if (*blocked_text(text, sizeof(text), row))
			gpumon_table_below(table, text);
	}
	ret = gpumon_table_print(table, summary->out);
	print_more(summary, n, view->budget_count);
	if (*gpumon_view_budget_note(text, sizeof(text), view))
		print_sentence(summary, gpumon_term_dim(summary->term), GPUMON_TABLE_INDENT,
			       GPUMON_TABLE_INDENT, text);
	return ret;
}

static int print_wall(const struct summary *summary)
{
	uint64_t all = gpumon_tree_sum(summary->view->root, GPUMON_WEIGHT_WALL_NS);

	if (!all)
		return 0;
	return print_paths_by(summary, GPUMON_WEIGHT_WALL_NS, all, "Wall time",
			      summary->view->budget_count > 1 ?
				      "of these threads by call path, outermost caller first" :
				      "of this thread by call path, outermost caller first");
}

/* What the threads that launched next did while a GPU was idle. */
static int print_idle(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	uint64_t all = summary->idle_ns;
	char what[256], number[GPUMON_FORMAT_LEN];

	if (!all)
		return 0;
	snprintf(what, sizeof(what), "%s%s by what the thread that launched next did meanwhile",
		 gpumon_format_ns(number, sizeof(number), gpumon_value_of(all)),
		 gpumon_view_has_windows(view) ? " within the windows," : ",");
	return print_paths_by(summary, GPUMON_WEIGHT_IDLE_NS, all, "Idle GPU", what);
}

/* --- devices */

/* Whose times those of a GPU are, where there are several processes: " of PID", " of PID on HOST". */
static const char *owner_text(char *buf, size_t len, const struct gpumon_view *view,
			      uint32_t process)
{
	bool hosts = false, processes = false;
	const char *host = "";

	for (unsigned int i = 0; i < view->device_count; i++) {
		const struct gpumon_device_row *row = &view->devices[i];

		hosts |= strcmp(row->host, view->devices[0].host) != 0;
		processes |= row->process != view->devices[0].process;
		if (row->process == process)
			host = row->host;
	}
	buf[0] = '\0';
	if (!processes)
		return buf;
	if (process != GPUMON_PROCESS_SEVERAL)
		snprintf(buf, len, " of %u", gpumon_view_pid(view, process));
	if (hosts)
		snprintf(buf + strlen(buf), len - strlen(buf), " on %s", host);
	return buf;
}

/* "GPU0 H100 of 12"; of one that several use "GPU0 H100", "  of 12", "    stream 7". */
static void device_name(const struct gpumon_view *view, const struct gpumon_device_row *row,
			char *name, size_t len)
{
	char owner[256], number[GPUMON_DEVICE_TEXT];
	const char *part;

	if (row->stream != ~0u) {
		size_t indent = row->part ? 4 : 2;

		memset(name, ' ', indent);
		gpumon_view_stream_text(view, row->process, row->context, row->stream,
					name + indent, len - indent);
		return;
	}
	owner_text(owner, sizeof(owner), view, row->process);
	if (row->part) {
		part = gpumon_view_part(number, view, row);
		snprintf(name, len, "  %s%s", part, *part || !*owner ? owner : owner + 1);
	} else {
		snprintf(name, len, "%s %.200s%s", gpumon_view_gpu(number, row), row->name, owner);
	}
}

static int print_devices(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	struct gpumon_table *table;
	char what[192];

	if (!view->device_count)
		return 0;
	snprintf(what, sizeof(what), "busy: something ran on it, %% of the time %s%s",
		 gpumon_view_has_windows(view) ? "of the windows" : "recorded",
		 view->idle_count ?
			 "; in use: from its first to its last operation, without start-up" :
			 "");
	print_heading(summary, "GPUs", what);
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "BUSY", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	if (view->idle_count)
		gpumon_table_column(table, "% IN USE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "GPU TIME", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "COUNT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "LONGEST IDLE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "DEVICE", GPUMON_COLUMN_PHRASE);
	for (unsigned int i = 0; i < view->device_count; i++) {
		const struct gpumon_device_row *row = &view->devices[i];
		char name[512], waiting[128];

		gpumon_table_ns(table, gpumon_value_of(row->busy_ns));
		gpumon_table_percent(table, row->busy_ns,
				     gpumon_view_elapsed(row, &summary->totals));
		if (view->idle_count && gpumon_view_is_gpu(row))
			gpumon_table_percent(table, row->busy_ns, gpumon_view_in_use(view, row));
		else if (view->idle_count)
			gpumon_table_text(table, "");
		gpumon_table_ns(table, gpumon_value_of(row->gpu_ns));
		gpumon_table_count(table, row->count);
		gpumon_table_ns(table, gpumon_value_of(row->idle_longest_ns));
		device_name(view, row, name, sizeof(name));
		gpumon_table_text(table, name);
		if (*gpumon_ranks_of_device(waiting, sizeof(waiting), view, row))
			gpumon_table_below(table, waiting);
	}
	return gpumon_table_print(table, summary->out);
}

/* Automatic migrations and the waits for them, only if requested. */
static int print_unified(const struct summary *summary)
{
	const struct gpumon_scan *scan = summary->view->scan;
	struct gpumon_table *table;
	uint64_t all = 0;

	for (unsigned int kind = 0; scan && kind < GPUMON_UNIFIED_KINDS; kind++)
		all += scan->unified[kind].count;
	if (!all)
		return 0;
	print_heading(summary, "Unified memory", "what moved by itself, and faults");
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "TIME", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "COUNT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "BYTES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "WHAT", GPUMON_COLUMN_PHRASE);
	for (unsigned int kind = 0; kind < GPUMON_UNIFIED_KINDS; kind++) {
		const struct gpumon_unified *row = &scan->unified[kind];
		char bytes[GPUMON_FORMAT_LEN] = "-";

		if (!row->count)
			continue;
		if (gpumon_unified_has_bytes(kind))
			gpumon_format_bytes(bytes, sizeof(bytes), gpumon_value_of(row->bytes));
		gpumon_table_ns(table,
				row->ns ? gpumon_value_of(row->ns) : (struct gpumon_value){ 0 });
		gpumon_table_count(table, gpumon_unified_is_fault(kind) ? row->faults : row->count);
		gpumon_table_text(table, bytes);
		gpumon_table_text(table, gpumon_unified_text(kind));
	}
	return gpumon_table_print(table, summary->out);
}

static void print_latency(const struct summary *summary)
{
	const struct gpumon_distribution *of = summary->view->latency;
	char text[256], a[GPUMON_FORMAT_LEN], b[GPUMON_FORMAT_LEN], c[GPUMON_FORMAT_LEN];
	char n[GPUMON_TEXT_NUMBER];

	if (!of || !gpumon_distribution_count(of))
		return;
	print_heading(summary, "Launch latency",
		      gpumon_view_has_windows(summary->view) ?
			      "from the call to the start on the GPU, within the windows" :
			      "from the call to the start on the GPU");
	snprintf(text, sizeof(text), "p50 %s   p99 %s   longest %s   of %s",
		 gpumon_format_ns(a, sizeof(a), quantile_of(of, 0.5)),
		 gpumon_format_ns(b, sizeof(b), quantile_of(of, 0.99)),
		 gpumon_format_ns(c, sizeof(c), gpumon_value_of(gpumon_distribution_max(of))),
		 gpumon_text_count(n, sizeof(n), gpumon_distribution_count(of)));
	print_line(summary, GPUMON_TABLE_INDENT, "", text);
}

/* Of one GPU that several processes use: which of them did it. */
static const char *doing_text(char *buf, size_t len, const struct gpumon_view *view,
			      const struct gpumon_gap *gap)
{
	char owner[256] = "";

	if (!gap->doing || !*gap->doing)
		return "-";
	if (gap->process == GPUMON_PROCESS_SEVERAL)
		owner_text(owner, sizeof(owner), view, gap->doer);
	snprintf(buf, len, "%s%s", gap->doing, owner);
	return buf;
}

static int print_gaps(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	bool by_path = summary->idle_ns;
	unsigned int rows = by_path && summary->rows > GAP_ROWS ? GAP_ROWS : summary->rows;
	unsigned int n = view->gap_count < rows ? view->gap_count : rows;
	struct gpumon_table *table;
	char what[128], owner[256];

	if (!n)
		return 0;
	snprintf(what, sizeof(what), "the longest times in which a GPU did nothing%s",
		 gpumon_view_has_windows(view) ? ", within the windows" : "");
	print_heading(summary, by_path ? "Longest idle" : "Idle", what);
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "IDLE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "AT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "GPU", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "WHAT THE CPU DID", GPUMON_COLUMN_PHRASE);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_gap *gap = &view->gaps[i];
		char text[GPUMON_FORMAT_LEN + 1] = "+", number[GPUMON_DEVICE_TEXT];
		char device[GPUMON_DEVICE_TEXT + sizeof(owner)], cut[sizeof(device)], doing[512];
		const char *gpu = gpumon_view_gap(number, view, gap);

		gpumon_table_ns(table, gpumon_value_of(gap->end_ns - gap->start_ns));
		gpumon_format_ns(text + 1, sizeof(text) - 1,
				 gpumon_value_of(gap->start_ns - gpumon_view_began(view)));
		gpumon_table_text(table, text);
		snprintf(device, sizeof(device), "%s%s", strncmp(gpu, "GPU", 3) ? gpu : gpu + 3,
			 owner_text(owner, sizeof(owner), view, gap->process));
		gpumon_table_text(table, gpumon_text_cut(cut, sizeof(cut), device, GPU_COLUMNS));
		gpumon_table_text(table, doing_text(doing, sizeof(doing), view, gap));
	}
	return gpumon_table_print(table, summary->out);
}

static int print_ranges(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	unsigned int n = view->range_count < summary->rows ? view->range_count : summary->rows;
	struct gpumon_table *table;
	int ret;

	if (!n)
		return 0;
	print_heading(summary, "NVTX ranges", "with the GPU time of what was launched in them");
	table = gpumon_table_new(summary->term);
	gpumon_table_column(table, "GPU TIME", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "WORK", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "RANGES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "OPEN FOR", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "RANGE", GPUMON_COLUMN_PHRASE);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_range_row *row = &view->ranges[i];
		bool domain = row->domain && *row->domain;
		char name[512];

		gpumon_table_estimate(table, row->left_works || row->left_ns);
		gpumon_table_ns(table, gpumon_value_of(row->gpu_ns + row->left_ns));
		gpumon_table_percent(table, row->gpu_ns + row->left_ns, summary->totals.work_ns);
		gpumon_table_count(table, row->works + row->left_works);
		gpumon_table_estimate(table, false);
		gpumon_table_count(table, row->count);
		gpumon_table_ns(table, gpumon_value_of(row->cpu_ns));
		snprintf(name, sizeof(name), "%s%s%s", domain ? row->domain : "",
			 domain ? ": " : "", row->text);
		gpumon_table_text(table, name);
	}
	ret = gpumon_table_print(table, summary->out);
	print_more(summary, n, view->range_count);
	if (gpumon_view_has_windows(view))
		print_sampling(summary);
	return ret;
}

static void print_cause(void *data, const struct gpumon_cause *cause)
{
	char number[GPUMON_TEXT_NUMBER], text[GPUMON_TEXT_NUMBER + 16], what[256];
	const struct summary *summary = data;
	const char *colour = cause->bad ? gpumon_term_red(summary->term) : "";

	if (cause->whole)
		return;
	snprintf(text, sizeof(text), "%*s%10s  ", GPUMON_TABLE_INDENT, "",
		 gpumon_text_count(number, sizeof(number), cause->count));
	fprintf(summary->out, "%s%s", colour, text);
	snprintf(what, sizeof(what), "%s", cause->what);
	if (cause->of)
		snprintf(what, sizeof(what), "of %s GPU operations: %s",
			 gpumon_text_count(number, sizeof(number), cause->of), cause->what);
	gpumon_sentence_print(summary->out, summary->term, colour, gpumon_text_columns(text),
			      CAUSE_INDENT, what);
	if (*cause->advice)
		print_sentence(summary, gpumon_term_dim(summary->term), CAUSE_INDENT, CAUSE_INDENT,
			       cause->advice);
}

/* Caveats by cause, followed by operations without a call path. */
static void print_missing(const struct summary *summary)
{
	struct gpumon_missing sums;
	const char *nothing;
	char line[512];

	gpumon_missing_of(summary->view, &sums);
	nothing = sums.nothing;
	if (nothing)
		print_heading(summary, "Nothing was recorded", nothing);
	sums.nothing = NULL;
	if (*gpumon_missing_line(line, sizeof(line), &sums))
		print_heading(summary, "Missing", line);
	else if (!nothing)
		print_heading(summary, "Nothing is missing", gpumon_view_complete(summary->view));
	gpumon_missing_causes(summary->view, print_cause, (void *)summary);
}

/* What programs in kernels have gathered, of each capture. */
static int print_findings(const struct summary *summary)
{
	const struct gpumon_view *view = summary->view;
	char what[128];
	int ret = 0;

	for (unsigned int i = 0; i < view->findings_count && !ret; i++) {
		print_heading(summary, "In kernels",
			      gpumon_view_findings_name(what, sizeof(what), view, i));
		ret = gpumon_findings_print(view->findings[i], summary->term, summary->out);
	}
	return ret;
}

int gpumon_output_summary(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view,
			  const struct gpumon_summary_options *options)
{
	const struct gpumon_term pipe = { .columns = GPUMON_PIPE_COLUMNS };
	struct summary summary = {
		.out = out,
		.term = term->columns ? term : &pipe,
		.view = view,
		.rows = options && options->rows ? options->rows : ROWS,
	};

	if (summary.rows > GPUMON_SUMMARY_ROWS_MAX)
		summary.rows = GPUMON_SUMMARY_ROWS_MAX;
	summary.idle_ns = gpumon_tree_sum(view->root, GPUMON_WEIGHT_IDLE_NS);
	summary.time_rows = options && options->rows ? summary.rows : TIME_ROWS;
	gpumon_view_totals(view, &summary.totals);
	print_about(&summary);
	gpumon_verdict_print(out, summary.term, view);
	if (print_threads(&summary) || print_wall(&summary) || print_kernels(&summary) ||
	    print_paths(&summary) ||
	    gpumon_stalls_print(out, summary.term, view, summary.time_rows) ||
	    print_findings(&summary) || print_devices(&summary) ||
	    gpumon_metrics_print(out, summary.term, view) ||
	    gpumon_ranks_print(out, summary.term, view))
		goto no_memory;
	print_latency(&summary);
	if (print_idle(&summary) || print_gaps(&summary) || print_ranges(&summary) ||
	    print_unified(&summary))
		goto no_memory;
	print_missing(&summary);
	return ferror(out) ? -1 : 0;

no_memory:
	errno = ENOMEM;
	return -1;
}
