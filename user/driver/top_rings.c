// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "lib/format.h"
#include "top.h"
#include "top_page.h"

#define RING_MIN  12
#define RING_MAX  40
#define SPARK_MIN 8

/* Columns of the ring table, from left to right. */
enum column {
	COL_RING,
	COL_BUSY,
	COL_SPARK,
	COL_LOAD,
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
 * @over: title above neighbouring columns; @drop: the highest goes first on a narrow terminal, 0
 * never; @sort: the sort order that marks this title, GPUMON_TOP_SORTS if none.
 */
static const struct {
	const char *over;
	const char *title;
	unsigned int width;
	unsigned int drop;
	enum gpumon_top_sort sort;
} cols[COLS] = {
	[COL_RING] = { "", "RING", 0, 0, GPUMON_TOP_NAME },
	[COL_BUSY] = { "", "BUSY", 6, 0, GPUMON_TOP_BUSY },
	[COL_SPARK] = { "", "", 0, 9, GPUMON_TOP_SORTS },
	[COL_LOAD] = { "", "LOAD", 6, 6, GPUMON_TOP_LOAD },
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

static void ring_name(const struct gpumon_top_ring *ring, char *buf, size_t len)
{
	char device[160];
	char name[160];

	gpumon_format_name(device, sizeof(device), ring->device);
	gpumon_format_name(name, sizeof(name), ring->name);
	snprintf(buf, len, "%s/%s", device, name);
}

/* Choose the columns that fit and the widths of those that can stretch. */
static void choose_columns(const struct gpumon_page *page, unsigned int *widths)
{
	unsigned int ring = RING_MIN;
	unsigned int used;
	unsigned int drop = 10;

	for (size_t i = 0; i < page->top->n_rings; i++) {
		char name[324];
		unsigned int wanted;

		ring_name(&page->top->rings[i], name, sizeof(name));
		wanted = gpumon_text_columns(name);
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

static void draw_ring_header(struct gpumon_page *page, const unsigned int *widths)
{
	unsigned int blanks = 0;
	bool first = true;

	for (size_t i = 0; i < COLS;) {
		unsigned int width = widths[i];
		unsigned int text = gpumon_text_columns(cols[i].over);
		size_t next = i + 1;

		for (; next < COLS && *cols[i].over && !strcmp(cols[i].over, cols[next].over);
		     next++)
			width += widths[next] ? widths[next] + (width ? 2 : 0) : 0;
		if (width) {
			unsigned int left = width > text ? width - text : 0;

			/* No trailing blanks. */
			blanks += (first ? 0 : 2) + left;
			first = false;
			if (text) {
				gpumon_page_blanks(page, blanks);
				gpumon_page_colour(page, gpumon_page_dim(page), cols[i].over);
				blanks = 0;
			}
		}
		i = next;
	}
	gpumon_page_end_line(page);

	first = true;
	for (size_t i = 0; i < COLS; i++) {
		const char *text = i == COL_SPARK ? "0..100 %" : cols[i].title;
		const char *colour;

		if (!widths[i])
			continue;
		gpumon_page_blanks(page, first ? 0 : 2);
		first = false;
		colour = cols[i].sort == page->view->sort ? gpumon_term_green(&page->view->term) :
							    gpumon_page_bold(page);
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
	/* Dim values that are zero or unknown. */
	gpumon_page_right(page, width, value.v ? "" : gpumon_page_dim(page), text);
}

static void draw_ring(struct gpumon_page *page, const struct gpumon_top_ring *ring,
		      const unsigned int *widths)
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
			/* Cut the beginning: the end of the name identifies the ring. */
			length = gpumon_text_columns(text);
			if (length > width) {
				while (length >= width)
					length -= gpumon_text_character_columns(
						gpumon_text_next(&name));
				gpumon_page_put(page, page->view->utf8 ? "…" : "~");
				gpumon_page_left(page, width - 1, "", name);
			} else {
				gpumon_page_left(page, width, "", text);
			}
			break;
		case COL_BUSY:
			if (ring->busy < 0)
				strcpy(text, "-");
			else
				snprintf(text, sizeof(text), "%.1f%%", 100 * ring->busy);
			gpumon_page_right(page, width,
					  ring->busy > 0 ? gpumon_page_bold(page) :
							   gpumon_page_dim(page),
					  text);
			break;
		case COL_LOAD:
			if (ring->load < 0)
				strcpy(text, "-");
			else
				snprintf(text, sizeof(text), ring->load < 999.5 ? "%.2f" : "%.0f",
					 ring->load);
			gpumon_page_right(page, width, ring->load > 0 ? "" : gpumon_page_dim(page),
					  text);
			break;
		case COL_SPARK:
			gpumon_sparkline(spark, sizeof(spark), ring->history, ring->n_history,
					 width, 1, page->view->utf8);
			gpumon_page_left(page, width, gpumon_term_green(term), spark);
			break;
		case COL_JOBS:
			gpumon_format_rate(text, sizeof(text), ring->done,
					   page->top->diff.interval_ns);
			gpumon_page_right(page, width, ring->done.v ? "" : gpumon_page_dim(page),
					  text);
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
					  ring->errors.v ? gpumon_term_red(term) :
							   gpumon_page_dim(page),
					  text);
			break;
		case COLS:
			break;
		}
	}
	gpumon_page_end_line(page);
}

void gpumon_top_draw_rings(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_top *top = page->top;
	unsigned int widths[COLS];

	if (!top->n_rings) {
		gpumon_page_put(page, "No ring has had a job yet.");
		gpumon_page_end_line(page);
		return;
	}
	choose_columns(page, widths);
	draw_ring_header(page, widths);
	for (size_t i = 0; i < top->n_rings; i++) {
		bool last = i + 1 == top->n_rings;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, top->n_rings - i, "rings");
			return;
		}
		draw_ring(page, &top->rings[i], widths);
	}
}
