// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Draws the pages of "top" with tables: those of groups, and the full process table. */
#include <stdlib.h>
#include <string.h>

#include "model_fields.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/format.h"
#include "lib/table.h"
#include "top.h"
#include "top_page.h"

/* Lines that a table needs at least: name, heading, one row, and the count of the other rows. */
#define TABLE_LINES 4
#define CELL_LEN    64
#define PLACE_LEN   24

static bool is_nothing(const char *text)
{
	return !strcmp(text, "-") || !strcmp(text, "0") || !strcmp(text, "0B") ||
	       !strcmp(text, "0ns");
}

/* Only zeroes and dashes. */
static bool is_quiet(const struct gpumon_table_layout *layout, size_t column)
{
	for (size_t row = 0; row < layout->n_rows; row++)
		if (!is_nothing(*gpumon_table_layout_text(layout, row, column)))
			return false;
	return true;
}

/* No activity: that is what numbers show. Keys, and texts, only say what the row is. */
static bool is_idle(const struct gpumon_table_layout *layout, size_t row)
{
	for (size_t i = 0; i < layout->n_columns; i++) {
		unsigned int flags = layout->columns[i]->flags;

		if (flags & GPUMON_COLUMN_RIGHT && !(flags & GPUMON_COLUMN_KEY) &&
		    !is_nothing(*gpumon_table_layout_text(layout, row, i)))
			return false;
	}
	return true;
}

/*
 * Drop optional columns without a value, then others until the rest fits, quiet ones first, from the
 * right, and no keys: their width becomes 0. Returns the number of the others.
 */
static size_t fit_columns(struct gpumon_table_layout *layout, unsigned int columns)
{
	unsigned int used = 0;
	size_t left_out = 0;

	for (size_t i = 0; i < layout->n_columns; i++) {
		if (layout->columns[i]->flags & GPUMON_COLUMN_OPTIONAL && !layout->used[i])
			layout->widths[i] = 0;
		used += layout->widths[i] ? layout->widths[i] + (i ? 2 : 0) : 0;
	}
	for (int quiet = 1; quiet >= 0; quiet--) {
		for (size_t i = layout->n_columns; i-- > 0 && used > columns;) {
			if (layout->columns[i]->flags & GPUMON_COLUMN_KEY || !layout->widths[i] ||
			    (quiet && !is_quiet(layout, i)))
				continue;
			used -= layout->widths[i] + 2;
			layout->widths[i] = 0;
			left_out++;
		}
	}
	return left_out;
}

/* Draw titles, or the texts of a row. */
static void draw_line(struct gpumon_page *page, const struct gpumon_table_layout *layout,
		      const char *const *row, const char *colour)
{
	bool first = true;

	for (size_t i = 0; i < layout->n_columns; i++) {
		const struct gpumon_table_column *column = layout->columns[i];
		const char *text = row ? row[i] : column->title;

		if (!layout->widths[i])
			continue;
		gpumon_page_blanks(page, first ? 0 : 2);
		first = false;
		if (column->flags & GPUMON_COLUMN_RIGHT)
			gpumon_page_right(page, layout->widths[i], colour, text);
		else if (i + 1 == layout->n_columns)
			gpumon_page_colour(page, colour, text);
		else
			gpumon_page_left(page, layout->widths[i], colour, text);
	}
	gpumon_page_end_line(page);
}

static void draw_rows(struct gpumon_page *page, const struct gpumon_table_layout *layout,
		      unsigned int reserved)
{
	for (size_t k = 0; k < layout->n_rows; k++) {
		bool last = k + 1 == layout->n_rows;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, layout->n_rows - k, "rows");
			return;
		}
		draw_line(page, layout, gpumon_table_layout_text(layout, k, 0),
			  is_idle(layout, k) ? gpumon_term_dim(&page->view->term) : "");
	}
}

void gpumon_page_table(struct gpumon_page *page, struct gpumon_table *table, const char *name,
		       unsigned int reserved)
{
	const struct gpumon_term *term = &page->view->term;
	struct gpumon_table_layout layout;
	size_t left_out;
	char text[64];

	gpumon_table_layout_init(&layout, table, table->n_rows, term);
	left_out = fit_columns(&layout, page->columns);
	gpumon_page_colour(page, gpumon_term_bold(term), name);
	if (left_out) {
		snprintf(text, sizeof(text), "  %zu column%s more, not wide enough", left_out,
			 left_out == 1 ? "" : "s");
		gpumon_page_colour(page, gpumon_term_dim(term), text);
	}
	gpumon_page_end_line(page);
	draw_line(page, &layout, NULL, gpumon_term_bold(term));
	draw_rows(page, &layout, reserved);
	gpumon_table_layout_clear(&layout);
	gpumon_table_free(table);
}

/* A text of CELL_LEN at most. */
static void add_name(struct gpumon_table *table, const char *name)
{
	char text[CELL_LEN];

	gpumon_table_text(table, gpumon_format_name(text, sizeof(text), name));
}

void gpumon_page_place(struct gpumon_table *table, const char *container, const char *cgroup)
{
	const char *place = container ? container : cgroup;
	size_t length = place ? strlen(place) : 0;

	add_name(table, length > PLACE_LEN ? place + length - PLACE_LEN : place);
}

static void add_value(const struct gpumon_page *page, struct gpumon_table *table,
		      const struct gpumon_column *like, const struct gpumon_column *column)
{
	static const struct gpumon_column unknown;
	char text[GPUMON_FORMAT_LEN];

	if (!column || column->kind.v != like->kind.v)
		column = &unknown;
	switch (like->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		gpumon_format_level(text, like->name, column->level);
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		gpumon_format_by_name(text, like->name,
				      gpumon_histogram_percentile(&column->histogram, 990));
		break;
	default:
		gpumon_format_rate_by_name(text, like->name, column->value,
					   page->top->diff.interval_ns);
	}
	gpumon_table_text(table, text);
}

static const char *title_ending(const struct gpumon_column *column)
{
	switch (column->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		return "";
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		return "-P99";
	default:
		return "/S";
	}
}

/* Activity of a row: its first counter, which is always the most important one. */
static uint64_t row_activity(const struct gpumon_row *row)
{
	for (size_t i = 0; i < row->n_columns; i++) {
		if (row->columns[i].kind.v == GPUMON_COLUMN_KIND_COUNTER)
			return row->columns[i].value.v;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t x = row_activity(*(const struct gpumon_row *const *)a);
	uint64_t y = row_activity(*(const struct gpumon_row *const *)b);

	return x != y ? (x > y ? -1 : 1) : gpumon_row_compare(a, b);
}

/* All rows of a table have the same labels and columns, so the first one defines the heading. */
static void draw_table(struct gpumon_page *page, const struct gpumon_statistics *statistics,
		       unsigned int reserved)
{
	const struct gpumon_row *first = &statistics->rows[0];
	const struct gpumon_row **rows = gpumon_calloc(statistics->n_rows, sizeof(*rows));
	struct gpumon_table *table = gpumon_table_new(&page->view->term);
	char title[GPUMON_TITLE_LEN], name[2 * GPUMON_TITLE_LEN], safe[2 * GPUMON_TITLE_LEN];

	for (size_t i = 0; i < statistics->n_rows; i++)
		rows[i] = &statistics->rows[i];
	qsort(rows, statistics->n_rows, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < first->n_labels; i++)
		gpumon_table_column(table, gpumon_format_title(title, first->labels[i].name, ""),
				    GPUMON_COLUMN_KEY |
					    (first->labels[i].number ? GPUMON_COLUMN_RIGHT : 0));
	for (size_t i = 0; i < first->n_columns; i++)
		gpumon_table_column(table,
				    gpumon_format_title(title, first->columns[i].name,
							title_ending(&first->columns[i])),
				    GPUMON_COLUMN_RIGHT);
	for (size_t k = 0; k < statistics->n_rows; k++) {
		for (size_t i = 0; i < first->n_labels; i++)
			add_name(table, gpumon_row_label(rows[k], first->labels[i].name));
		for (size_t i = 0; i < first->n_columns; i++)
			add_value(page, table, &first->columns[i],
				  gpumon_row_column(rows[k], first->columns[i].name));
	}
	free(rows);
	snprintf(name, sizeof(name), "%s.%s", statistics->group, statistics->table);
	gpumon_page_table(page, table, gpumon_format_name(safe, sizeof(safe), name), reserved);
}

/* A column is only shown if something counts it. */
static bool is_counted(const struct gpumon_model *model, size_t count)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		if (gpumon_process_count_of(&model->processes[i], count).known)
			return true;
	}
	return false;
}

static bool is_alive(const struct gpumon_process *process)
{
	return !process->alive.known || process->alive.v;
}

/* A process and what it used. */
struct owner {
	const struct gpumon_process *process;
	const struct gpumon_usage_total *usage;
};

/*
 * Longest GPU time first. Then compare by one counter after the other, since a sum of different
 * units means little.
 */
static int compare_processes(const void *a, const void *b)
{
	const struct owner *left = a, *right = b;
	const struct gpumon_process *x = left->process, *y = right->process;

	if (left->usage->sum.gpu_ns.v != right->usage->sum.gpu_ns.v)
		return left->usage->sum.gpu_ns.v > right->usage->sum.gpu_ns.v ? -1 : 1;
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		if (gpumon_process_count_of(x, i).v != gpumon_process_count_of(y, i).v)
			return gpumon_process_count_of(x, i).v > gpumon_process_count_of(y, i).v ?
				       -1 :
				       1;
	}
	if (is_alive(x) != is_alive(y))
		return is_alive(x) ? -1 : 1;
	return x->pid.v < y->pid.v ? -1 : x->pid.v > y->pid.v;
}

static struct gpumon_table *process_table(const struct gpumon_page *page)
{
	struct gpumon_table *table = gpumon_table_new(&page->view->term);
	char title[GPUMON_TITLE_LEN];

	gpumon_table_column(table, "PID", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "PROCESS", GPUMON_COLUMN_KEY);
	if (page->top->usage.known) {
		gpumon_table_column(table, "GPU", GPUMON_COLUMN_RIGHT);
		gpumon_table_column(table, "WAIT/JOB", GPUMON_COLUMN_RIGHT);
	}
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		snprintf(title, sizeof(title), "%s/S", gpumon_process_counts.at[i].title);
		if (is_counted(&page->top->diff, i))
			gpumon_table_column(table, title, GPUMON_COLUMN_RIGHT);
	}
	gpumon_table_column(table, "OPEN-NOW", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "VRAM-NOW", GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "OBJECTS-NOW", GPUMON_COLUMN_RIGHT | GPUMON_COLUMN_OPTIONAL);
	gpumon_table_column(table, "CONTAINER", 0);
	return table;
}

static void add_process(const struct gpumon_page *page, struct gpumon_table *table,
			const struct owner *owner)
{
	const struct gpumon_process *process = owner->process;
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_value(table, process->pid);
	add_name(table, process->comm);
	if (page->top->usage.known) {
		gpumon_table_text(table, gpumon_usage_format_part(text, owner->usage,
								  page->top->diff.interval_ns));
		gpumon_table_ns(table, gpumon_usage_wait(&owner->usage->sum));
	}
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		gpumon_format_rate_by_name(text, gpumon_process_counts.at[i].name,
					   gpumon_process_count_of(process, i),
					   page->top->diff.interval_ns);
		if (is_counted(&page->top->diff, i))
			gpumon_table_text(table, text);
	}
	gpumon_table_value(table, process->open_handles);
	gpumon_table_text(table, gpumon_format_bytes(text, sizeof(text), process->vram_bytes));
	gpumon_table_text(table,
			  gpumon_format_bytes(text, sizeof(text), process->live_object_bytes));
	gpumon_page_place(table, process->container, process->cgroup);
}

static void draw_processes(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_model *diff = &page->top->diff;
	struct owner *processes = gpumon_calloc(diff->n_processes, sizeof(*processes));
	struct gpumon_table *table = process_table(page);

	for (size_t i = 0; i < diff->n_processes; i++)
		processes[i] =
			(struct owner){ &diff->processes[i], &page->top->usage.processes[i] };
	qsort(processes, diff->n_processes, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < diff->n_processes; i++)
		add_process(page, table, &processes[i]);
	free(processes);
	gpumon_page_table(page, table, GPUMON_TOP_PROCESSES, reserved);
}

static bool of_group(const struct gpumon_statistics *statistics, const char *group)
{
	return statistics->n_rows && statistics->group && !strcmp(statistics->group, group) &&
	       statistics->rows[0].n_labels + statistics->rows[0].n_columns;
}

void gpumon_top_draw_tables(struct gpumon_page *page, const char *group, unsigned int reserved)
{
	const struct gpumon_model *diff = &page->top->diff;
	size_t left = 0;
	bool first = true;

	if (!strcmp(group, GPUMON_TOP_PROCESSES)) {
		if (page->view->by_cgroup)
			gpumon_top_draw_groups(page, reserved);
		else
			draw_processes(page, reserved);
		return;
	}
	for (size_t i = 0; i < diff->n_statistics; i++)
		left += of_group(&diff->statistics[i], group);
	for (size_t i = 0; i < diff->n_statistics; i++) {
		unsigned int later;

		if (!of_group(&diff->statistics[i], group))
			continue;
		if (!gpumon_page_room(page, TABLE_LINES + !first + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, left, "tables");
			return;
		}
		if (!first)
			gpumon_page_end_line(page);
		first = false;
		left--;
		/* Leave a few lines for each later table, as long as this one keeps its own. */
		later = (unsigned int)left * (TABLE_LINES + 1) + reserved;
		if (!gpumon_page_room(page, TABLE_LINES + later))
			later = left ? 1 + reserved : reserved;
		if (gpumon_is_usage(&diff->statistics[i]))
			gpumon_top_draw_usage(page, later);
		else
			draw_table(page, &diff->statistics[i], later);
	}
}

size_t gpumon_top_pages(const struct gpumon_top *top, const char *names[GPUMON_TOP_PAGES])
{
	const struct gpumon_model *last = &top->last;
	size_t n = 0;

	names[n++] = GPUMON_TOP_RINGS;
	for (size_t i = 0; i < last->n_statistics && n + 1 < GPUMON_TOP_PAGES; i++) {
		const char *group = last->statistics[i].group;
		bool known = false;

		for (size_t k = 0; group && k < n; k++)
			known |= !strcmp(names[k], group);
		if (group && !known && of_group(&last->statistics[i], group))
			names[n++] = group;
	}
	/* If only jobs are counted, the first page already shows them. */
	for (size_t i = 1; i < GPUMON_PROCESS_COUNTS; i++) {
		if (is_counted(last, i)) {
			names[n++] = GPUMON_TOP_PROCESSES;
			break;
		}
	}
	return n;
}

const char *gpumon_top_shown(const struct gpumon_top *top, const char *wanted)
{
	const char *names[GPUMON_TOP_PAGES];
	size_t n = gpumon_top_pages(top, names);

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], wanted))
			return names[i];
	}
	/* A machine without rings starts with another page. */
	return top->n_rings || n == 1 ? names[0] : names[1];
}

void gpumon_top_turn(const struct gpumon_top *top, struct gpumon_top_view *view, int by,
		     unsigned int number)
{
	const char *shown = gpumon_top_shown(top, view->page);
	const char *names[GPUMON_TOP_PAGES];
	size_t n = gpumon_top_pages(top, names), at = 0;

	while (at + 1 < n && strcmp(names[at], shown))
		at++;
	if (number)
		at = number - 1;
	else
		at = by > 0 ? (at + 1) % n : (at + n - 1) % n;
	if (at < n)
		snprintf(view->page, sizeof(view->page), "%s", names[at]);
}
