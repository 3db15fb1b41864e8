// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The page of "top". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sparkline.h"
#include "top.h"
#include "top_page.h"

#define COLUMNS_DEFAULT	 132
#define COLUMNS_MAX	 512
#define RING_MIN	 12
#define RING_MAX	 40
#define SPARK_MIN	 8
#define PROCESS_ROWS_MIN 4

/* Columns of the ring table, from left to right. */
enum column {
	COL_RING,
	COL_LOAD,
	COL_SPARK,
	COL_JOBS,
	COL_QUEUED,
	COL_QUEUED_MAX,
	COL_HW,
	COL_HW_MAX,
	COL_QUEUE_P50,
	COL_QUEUE_P99,
	COL_RUN_P50,
	COL_RUN_P99,
	COL_ERRORS,
	COLS
};

/*
 * @over: title above, common to neighbours; @drop: the highest goes first where the terminal is
 * narrow, 0 never; @sort: the order that its title is marked for, GPUMON_TOP_SORTS if none.
 */
static const struct {
	const char *over;
	const char *title;
	unsigned int width;
	unsigned int drop;
	enum gpumon_top_sort sort;
} cols[COLS] = {
	[COL_RING] = { "", "RING", 0, 0, GPUMON_TOP_NAME },
	[COL_LOAD] = { "", "LOAD", 6, 0, GPUMON_TOP_LOAD },
	[COL_SPARK] = { "", "", 0, 9, GPUMON_TOP_SORTS },
	[COL_JOBS] = { "", "JOBS/S", 7, 0, GPUMON_TOP_JOBS },
	[COL_QUEUED] = { "QUEUED", "now", 6, 1, GPUMON_TOP_QUEUED },
	[COL_QUEUED_MAX] = { "QUEUED", "max", 6, 7, GPUMON_TOP_SORTS },
	[COL_HW] = { "ON HW", "now", 4, 2, GPUMON_TOP_SORTS },
	[COL_HW_MAX] = { "ON HW", "max", 4, 8, GPUMON_TOP_SORTS },
	[COL_QUEUE_P50] = { "TIME QUEUED", "p50", 7, 6, GPUMON_TOP_SORTS },
	[COL_QUEUE_P99] = { "TIME QUEUED", "p99", 7, 4, GPUMON_TOP_QUEUE_TIME },
	[COL_RUN_P50] = { "TIME RUN", "p50", 7, 5, GPUMON_TOP_SORTS },
	[COL_RUN_P99] = { "TIME RUN", "p99", 7, 3, GPUMON_TOP_RUN_TIME },
	[COL_ERRORS] = { "", "ERR", 5, 1, GPUMON_TOP_ERRORS },
};

static const struct {
	char key;
	const char *name;
} sorts[GPUMON_TOP_SORTS] = {
	[GPUMON_TOP_LOAD] = { 'l', "load" },	[GPUMON_TOP_JOBS] = { 'j', "jobs" },
	[GPUMON_TOP_QUEUED] = { 'd', "depth" }, [GPUMON_TOP_QUEUE_TIME] = { 'w', "wait" },
	[GPUMON_TOP_RUN_TIME] = { 'r', "run" }, [GPUMON_TOP_ERRORS] = { 'e', "err" },
	[GPUMON_TOP_NAME] = { 'n', "name" },
};

enum gpumon_top_sort gpumon_top_key(int key)
{
	enum gpumon_top_sort sort;

	for (sort = GPUMON_TOP_LOAD; sort < GPUMON_TOP_SORTS; sort++) {
		if (sorts[sort].key == key)
			break;
	}
	return sort;
}

static const char *dim(const struct gpumon_page *page)
{
	return gpumon_term_dim(&page->view->term);
}

static const char *bold(const struct gpumon_page *page)
{
	return gpumon_term_bold(&page->view->term);
}

static void draw_title(struct gpumon_page *page)
{
	const struct gpumon_top *top = page->top;
	struct gpumon_value done = { .known = top->readings > 0 };
	char rate[GPUMON_FORMAT_LEN];
	char interval[GPUMON_FORMAT_LEN];
	char text[256];
	unsigned int clock;

	for (size_t i = 0; i < top->n_rings; i++)
		done.v += top->rings[i].done.v;
	gpumon_format_rate(rate, sizeof(rate), done, top->diff.interval_ns);
	gpumon_format_ns(interval, sizeof(interval), gpumon_value_of(top->diff.interval_ns));

	gpumon_page_colour(page, bold(page), "gpumon top");
	snprintf(text, sizeof(text), "  %zu ring%s  %zu process%s  %s jobs/s", top->n_rings,
		 top->n_rings == 1 ? "" : "s", top->n_processes, top->n_processes == 1 ? "" : "es",
		 rate);
	gpumon_page_put(page, text);
	if (top->readings == 1)
		snprintf(text, sizeof(text), "  mean of the last %s", interval);
	else if (top->diff.reset_between)
		snprintf(text, sizeof(text), "  in %s, since somebody reset the counters",
			 interval);
	else
		snprintf(text, sizeof(text), "  in %s", interval);
	gpumon_page_colour(page,
			   top->readings == 1 || top->diff.reset_between ?
				   gpumon_term_yellow(&page->view->term) :
				   dim(page),
			   text);
	if (page->view->paused)
		gpumon_page_colour(page, gpumon_term_yellow(&page->view->term), "  PAUSED");
	clock = page->view->clock ? gpumon_page_width(page->view->clock) : 0;
	if (clock && page->at + clock + 2 <= page->columns) {
		gpumon_page_blanks(page, page->columns - page->at - clock);
		gpumon_page_colour(page, dim(page), page->view->clock);
	}
	gpumon_page_end_line(page);
}

static void draw_groups(struct gpumon_page *page)
{
	const struct gpumon_model *last = &page->top->last;

	for (size_t i = 0; i < last->n_groups; i++) {
		const struct gpumon_group *group = &last->groups[i];
		bool attached = group->state.known &&
				group->state.v == GPUMON_ATTACH_STATE_ATTACHED;
		char text[512];

		if (attached)
			continue;
		gpumon_page_colour(page, bold(page), group->name ? group->name : "-");
		snprintf(text, sizeof(text), " is %s", gpumon_attach_state_name(group->state));
		gpumon_page_colour(page, gpumon_term_yellow(&page->view->term), text);
		if (group->reason && *group->reason) {
			char reason[400];

			gpumon_format_name(reason, sizeof(reason), group->reason);
			gpumon_page_put(page, ": ");
			gpumon_page_put(page, reason);
		}
		gpumon_page_end_line(page);
	}
}

static void draw_loss(struct gpumon_page *page, bool *any, const char *cause, uint64_t total,
		      uint64_t now)
{
	const struct gpumon_term *term = &page->view->term;
	char count[GPUMON_FORMAT_LEN];
	char text[128];

	if (!total)
		return;
	gpumon_page_colour(page, *any ? "" : gpumon_term_yellow(term), *any ? ", " : "Lost: ");
	*any = true;
	gpumon_format_short(count, sizeof(count), gpumon_value_of(total));
	snprintf(text, sizeof(text), "%s %s", count, cause);
	gpumon_page_put(page, text);
	if (!now || page->top->readings < 2)
		return;
	gpumon_format_short(count, sizeof(count), gpumon_value_of(now));
	snprintf(text, sizeof(text), " (+%s)", count);
	gpumon_page_colour(page, gpumon_term_red(term), text);
}

static void draw_losses(struct gpumon_page *page)
{
	const struct gpumon_top *top = page->top;
	const struct gpumon_event_ring *events = &top->last.event_ring;
	bool any = false;

	draw_loss(page, &any, "table full", top->lost.table_full.v, top->lost_now.table_full.v);
	draw_loss(page, &any, "recursion", top->lost.recursion.v, top->lost_now.recursion.v);
	draw_loss(page, &any, "rings recycled", top->last.info.rings_retired.v,
		  top->diff.info.rings_retired.v);
	if (events->enabled.v) {
		draw_loss(page, &any, "trace events overwritten", events->overwritten.v, 0);
		draw_loss(page, &any, "trace events dropped", events->dropped.v, 0);
	}
	if (!any)
		gpumon_page_colour(page, dim(page), "Nothing lost");
	if (top->last.inconsistent)
		gpumon_page_colour(page, gpumon_term_yellow(&page->view->term),
				   "  The tables kept changing while they were read");
	gpumon_page_end_line(page);
}

static void ring_name(const struct gpumon_top_ring *ring, char *buf, size_t len)
{
	char device[160];
	char name[160];

	gpumon_format_name(device, sizeof(device), ring->device);
	gpumon_format_name(name, sizeof(name), ring->name);
	snprintf(buf, len, "%s/%s", device, name);
}

/* Which columns fit, and how wide those are that can stretch. */
static void layout(const struct gpumon_page *page, unsigned int *widths)
{
	unsigned int ring = RING_MIN;
	unsigned int used;
	unsigned int drop = 10;

	for (size_t i = 0; i < page->top->n_rings; i++) {
		char name[324];
		unsigned int wanted;

		ring_name(&page->top->rings[i], name, sizeof(name));
		wanted = gpumon_page_width(name);
		if (wanted > ring)
			ring = wanted < RING_MAX ? wanted : RING_MAX;
	}

	/* Drop columns, the least important first, until the rest fits. */
	do {
		drop--;
		used = 0;
		for (size_t i = 0; i < COLS; i++) {
			widths[i] = !cols[i].drop || cols[i].drop <= drop ? cols[i].width : 0;
			if (i == COL_SPARK && cols[i].drop <= drop)
				widths[i] = SPARK_MIN;
			if (i == COL_RING)
				widths[i] = ring;
			used += widths[i] ? widths[i] + (used ? 2 : 0) : 0;
		}
	} while (used > page->columns && drop);

	if (used > page->columns) {
		unsigned int excess = used - page->columns;

		widths[COL_RING] = ring > excess + 4 ? ring - excess : 4;
	} else if (widths[COL_SPARK]) {
		widths[COL_SPARK] += page->columns - used;
		if (widths[COL_SPARK] > GPUMON_TOP_HISTORY)
			widths[COL_SPARK] = GPUMON_TOP_HISTORY;
	}
}

/* A full bar is one job at all times, or the highest on the page where that is more. */
static double spark_scale(const struct gpumon_top *top, unsigned int width)
{
	double scale = 1;

	for (size_t i = 0; i < top->n_rings; i++) {
		const struct gpumon_top_ring *ring = &top->rings[i];
		size_t from = ring->n_history > width ? ring->n_history - width : 0;

		for (size_t k = from; k < ring->n_history; k++) {
			if (ring->history[k] > scale)
				scale = ring->history[k];
		}
	}
	return scale;
}

static void draw_ring_header(struct gpumon_page *page, const unsigned int *widths, double scale)
{
	unsigned int blanks = 0;
	char title[64];
	bool first = true;

	for (size_t i = 0; i < COLS;) {
		unsigned int width = widths[i];
		unsigned int text = gpumon_page_width(cols[i].over);
		size_t next = i + 1;

		for (; next < COLS && *cols[i].over && !strcmp(cols[i].over, cols[next].over);
		     next++)
			width += widths[next] ? widths[next] + (width ? 2 : 0) : 0;
		if (width) {
			unsigned int left = width > text ? width - text : 0;

			/* Blanks at the end of the line are left out. */
			blanks += (first ? 0 : 2) + left;
			first = false;
			if (text) {
				gpumon_page_blanks(page, blanks);
				gpumon_page_colour(page, dim(page), cols[i].over);
				blanks = 0;
			}
		}
		i = next;
	}
	gpumon_page_end_line(page);

	first = true;
	for (size_t i = 0; i < COLS; i++) {
		const char *text = cols[i].title;
		const char *colour;

		if (!widths[i])
			continue;
		gpumon_page_blanks(page, first ? 0 : 2);
		first = false;
		if (i == COL_SPARK) {
			snprintf(title, sizeof(title), "0..%.3g", scale);
			text = title;
		}
		colour = cols[i].sort == page->view->sort ? gpumon_term_green(&page->view->term) :
							    bold(page);
		if (i == COL_RING || i == COL_SPARK)
			gpumon_page_left(page, widths[i], colour, text);
		else
			gpumon_page_right(page, widths[i], colour, text);
	}
	gpumon_page_end_line(page);
}

static void draw_value(struct gpumon_page *page, unsigned int width, struct gpumon_value value,
		       bool time)
{
	char text[GPUMON_FORMAT_LEN];

	if (time)
		gpumon_format_ns(text, sizeof(text), value);
	else
		gpumon_format_short(text, sizeof(text), value);
	/* What is zero or unknown steps back. */
	gpumon_page_right(page, width, value.v ? "" : dim(page), text);
}

static void draw_ring(struct gpumon_page *page, const struct gpumon_top_ring *ring,
		      const unsigned int *widths, double scale)
{
	const struct gpumon_term *term = &page->view->term;
	char spark[GPUMON_TOP_HISTORY * GPUMON_SPARKLINE_GLYPH + 1];
	char text[324];
	const char *name = text;
	unsigned int length;
	bool first = true;

	for (size_t i = 0; i < COLS; i++) {
		unsigned int width = widths[i];

		if (!width)
			continue;
		gpumon_page_blanks(page, first ? 0 : 2);
		first = false;
		switch ((enum column)i) {
		case COL_RING:
			ring_name(ring, text, sizeof(text));
			/* The end tells rings apart: cut the beginning. */
			length = gpumon_page_width(text);
			if (length > width) {
				for (; length >= width; length--)
					name += gpumon_page_character(name);
				gpumon_page_put(page, page->view->utf8 ? "…" : "~");
				gpumon_page_left(page, width - 1, "", name);
			} else {
				gpumon_page_left(page, width, "", text);
			}
			break;
		case COL_LOAD:
			if (ring->load < 0)
				strcpy(text, "-");
			else
				snprintf(text, sizeof(text), ring->load < 999.5 ? "%.2f" : "%.0f",
					 ring->load);
			gpumon_page_right(page, width, ring->load > 0 ? bold(page) : dim(page),
					  text);
			break;
		case COL_SPARK:
			gpumon_sparkline(spark, sizeof(spark), ring->history, ring->n_history,
					 width, scale, page->view->utf8);
			gpumon_page_left(page, width, gpumon_term_green(term), spark);
			break;
		case COL_JOBS:
			gpumon_format_rate(text, sizeof(text), ring->done,
					   page->top->diff.interval_ns);
			gpumon_page_right(page, width, ring->done.v ? "" : dim(page), text);
			break;
		case COL_QUEUED:
			draw_value(page, width, ring->queue_depth, false);
			break;
		case COL_QUEUED_MAX:
			draw_value(page, width, ring->queue_depth_max, false);
			break;
		case COL_HW:
			draw_value(page, width, ring->hw_depth, false);
			break;
		case COL_HW_MAX:
			draw_value(page, width, ring->hw_depth_max, false);
			break;
		case COL_QUEUE_P50:
			draw_value(page, width, ring->queue_p50, true);
			break;
		case COL_QUEUE_P99:
			draw_value(page, width, ring->queue_p99, true);
			break;
		case COL_RUN_P50:
			draw_value(page, width, ring->run_p50, true);
			break;
		case COL_RUN_P99:
			draw_value(page, width, ring->run_p99, true);
			break;
		case COL_ERRORS:
			gpumon_format_short(text, sizeof(text), ring->errors);
			gpumon_page_right(page, width,
					  ring->errors.v ? gpumon_term_red(term) : dim(page), text);
			break;
		case COLS:
			break;
		}
	}
	gpumon_page_end_line(page);
}

static void draw_more(struct gpumon_page *page, size_t n, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "and %zu more %s", n, what);
	gpumon_page_colour(page, dim(page), text);
	gpumon_page_end_line(page);
}

static void draw_rings(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_top *top = page->top;
	unsigned int widths[COLS];
	double scale;

	if (!top->n_rings) {
		gpumon_page_put(page, "No ring has had a job yet.");
		gpumon_page_end_line(page);
		return;
	}
	layout(page, widths);
	scale = spark_scale(top, widths[COL_SPARK]);
	draw_ring_header(page, widths, scale);
	for (size_t i = 0; i < top->n_rings; i++) {
		bool last = i + 1 == top->n_rings;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				draw_more(page, top->n_rings - i, "rings");
			return;
		}
		draw_ring(page, &top->rings[i], widths, scale);
	}
}

static void draw_process(struct gpumon_page *page, const struct gpumon_top_process *process)
{
	const char *colour = process->exited || !process->jobs.v ? dim(page) : "";
	char text[GPUMON_FORMAT_LEN];
	char comm[160];

	gpumon_page_right(page, 8, colour, gpumon_format_count(text, sizeof(text), process->pid));
	gpumon_page_right(page, 10, colour,
			  gpumon_format_rate(text, sizeof(text), process->jobs,
					     page->top->diff.interval_ns));
	gpumon_page_right(page, 10, colour,
			  gpumon_format_short(text, sizeof(text), process->total));
	gpumon_page_blanks(page, 2);
	gpumon_page_colour(page, colour, gpumon_format_name(comm, sizeof(comm), process->comm));
	if (process->exited)
		gpumon_page_colour(page, colour, " (exited)");
	gpumon_page_end_line(page);
}

static void draw_processes(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_top *top = page->top;
	size_t shown = 0;

	/* Those that exited and did nothing in the interval come last, and are only counted. */
	while (shown < top->n_processes &&
	       !(top->processes[shown].exited && !top->processes[shown].jobs.v))
		shown++;
	if (!top->n_processes || !gpumon_page_room(page, 3 + reserved))
		return;

	gpumon_page_end_line(page);
	gpumon_page_right(page, 8, bold(page), "PID");
	gpumon_page_right(page, 10, bold(page), "JOBS/S");
	gpumon_page_right(page, 10, bold(page), "JOBS");
	gpumon_page_blanks(page, 2);
	gpumon_page_colour(page, bold(page), "PROCESS");
	gpumon_page_end_line(page);

	for (size_t i = 0; i < shown; i++) {
		bool last = i + 1 == top->n_processes;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				draw_more(page, top->n_processes - i, "processes");
			return;
		}
		draw_process(page, &top->processes[i]);
	}
	if (shown < top->n_processes && gpumon_page_room(page, 1 + reserved)) {
		char text[64];

		snprintf(text, sizeof(text), "%s%zu that exited", shown ? "and " : "",
			 top->n_processes - shown);
		gpumon_page_colour(page, dim(page), text);
		gpumon_page_end_line(page);
	}
}

/* The keys, at the bottom of the screen. */
static void draw_keys(struct gpumon_page *page)
{
	const struct gpumon_top_view *view = page->view;
	char interval[GPUMON_FORMAT_LEN];
	char text[96];

	while (view->term.rows && page->lines + 1 < view->term.rows)
		gpumon_page_end_line(page);
	gpumon_page_colour(page, bold(page), "q");
	gpumon_page_put(page, " quit  ");
	gpumon_page_colour(page, bold(page), "p");
	gpumon_page_put(page, view->paused ? " go on  " : " pause  ");
	/* The sorting is worth more than that on a narrow terminal. */
	if (page->columns >= 96) {
		gpumon_page_colour(page, bold(page), "+ -");
		gpumon_format_ns(interval, sizeof(interval), gpumon_value_of(view->interval_ns));
		snprintf(text, sizeof(text), " every %s  ", interval);
		gpumon_page_put(page, text);
	}
	gpumon_page_put(page, "sort");
	for (size_t i = 0; i < GPUMON_TOP_SORTS; i++) {
		char key[2] = { sorts[i].key, '\0' };
		bool chosen = i == view->sort;

		gpumon_page_put(page, chosen ? " [" : "  ");
		gpumon_page_colour(page, bold(page), key);
		gpumon_page_put(page, " ");
		gpumon_page_colour(page, chosen ? gpumon_term_green(&view->term) : dim(page),
				   sorts[i].name);
		gpumon_page_put(page, chosen ? "]" : "");
	}
	gpumon_page_end_line(page);
}

void gpumon_top_draw(const struct gpumon_top *top, const struct gpumon_top_view *view, FILE *out)
{
	struct gpumon_page page = { .top = top, .view = view, .out = out };
	unsigned int keys = view->live && view->term.rows != 1;
	unsigned int below;

	page.columns = view->term.columns ? view->term.columns : COLUMNS_DEFAULT;
	if (page.columns > COLUMNS_MAX)
		page.columns = COLUMNS_MAX;

	draw_title(&page);
	if (gpumon_page_room(&page, 1 + keys))
		draw_losses(&page);
	if (gpumon_page_room(&page, (unsigned int)top->last.n_groups + keys))
		draw_groups(&page);
	if (view->note && gpumon_page_room(&page, 1 + keys)) {
		gpumon_page_colour(&page, gpumon_term_red(&view->term), view->note);
		gpumon_page_end_line(&page);
	}
	if (gpumon_page_room(&page, 4 + keys)) {
		/* Processes keep a few lines, however many rings there are. */
		below = (unsigned int)(top->n_processes < PROCESS_ROWS_MIN ? top->n_processes :
									     PROCESS_ROWS_MIN);
		below = below ? below + 2 + keys : keys;
		if (!gpumon_page_room(&page, below + 6))
			below = keys;
		gpumon_page_end_line(&page);
		draw_rings(&page, below);
		draw_processes(&page, keys);
	}
	if (keys)
		draw_keys(&page);
}
