// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Draws the pages of "top" with tables: those of groups, and the full process table. */
#include <stdlib.h>
#include <string.h>

#include "model_fields.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/format.h"
#include "top.h"
#include "top_page.h"

/* Lines that a table needs at least: name, heading, one row, and the count of the other rows. */
#define TABLE_LINES 4
#define CELL_LEN    64

/**
 * struct grid - a table as text
 * @title: heading of each column
 * @right: align to the right
 * @width: width of each column, 0: left out
 * @quiet: the column has only zeroes and dashes
 * @keys: number of leading columns that always stay
 * @cells: n_rows * n_columns texts
 * @idle: rows without activity
 */
struct grid {
	char (*title)[CELL_LEN];
	bool *right;
	unsigned int *width;
	bool *quiet;
	size_t keys;
	size_t n_columns;
	char (*cells)[CELL_LEN];
	bool *idle;
	size_t n_rows;
};

static void grid_free(struct grid *grid)
{
	free(grid->title);
	free(grid->right);
	free(grid->width);
	free(grid->quiet);
	free(grid->cells);
	free(grid->idle);
}

static void grid_init(struct grid *grid, size_t keys, size_t columns, size_t rows)
{
	memset(grid, 0, sizeof(*grid));
	grid->keys = keys;
	grid->n_columns = columns;
	grid->n_rows = rows;
	grid->title = gpumon_calloc(columns, sizeof(*grid->title));
	grid->right = gpumon_calloc(columns, sizeof(*grid->right));
	grid->width = gpumon_calloc(columns, sizeof(*grid->width));
	grid->quiet = gpumon_calloc(columns, sizeof(*grid->quiet));
	grid->cells = gpumon_calloc(rows * columns, sizeof(*grid->cells));
	grid->idle = gpumon_calloc(rows, sizeof(*grid->idle));
}

static char *grid_cell(const struct grid *grid, size_t row, size_t column)
{
	return grid->cells[row * grid->n_columns + column];
}

static bool is_nothing(const char *text)
{
	return !strcmp(text, "-") || !strcmp(text, "0") || !strcmp(text, "0B") ||
	       !strcmp(text, "0ns");
}

/* Compute widths, and which columns are quiet and rows idle. */
static void grid_measure(struct grid *grid)
{
	for (size_t i = 0; i < grid->n_columns; i++) {
		grid->width[i] = gpumon_text_columns(grid->title[i]);
		grid->quiet[i] = true;
	}
	for (size_t k = 0; k < grid->n_rows; k++) {
		grid->idle[k] = true;
		for (size_t i = 0; i < grid->n_columns; i++) {
			unsigned int width = gpumon_text_columns(grid_cell(grid, k, i));

			if (width > grid->width[i])
				grid->width[i] = width;
			if (i < grid->keys || is_nothing(grid_cell(grid, k, i)))
				continue;
			grid->quiet[i] = false;
			/* Text columns identify the row, numbers show its activity. */
			if (grid->right[i])
				grid->idle[k] = false;
		}
	}
}

/* Drop columns until the rest fits, quiet ones first, from the right. Returns their number. */
static size_t grid_fit(struct grid *grid, unsigned int columns)
{
	unsigned int used = 0;
	size_t left_out = 0;

	for (size_t i = 0; i < grid->n_columns; i++)
		used += grid->width[i] + (i ? 2 : 0);
	for (int quiet = 1; quiet >= 0; quiet--) {
		for (size_t i = grid->n_columns; i-- > grid->keys && used > columns;) {
			if (!grid->width[i] || (quiet && !grid->quiet[i]))
				continue;
			used -= grid->width[i] + 2;
			grid->width[i] = 0;
			left_out++;
		}
	}
	return left_out;
}

static void draw_line(struct gpumon_page *page, const struct grid *grid, char (*texts)[CELL_LEN],
		      const char *colour)
{
	bool first = true;

	for (size_t i = 0; i < grid->n_columns; i++) {
		if (!grid->width[i])
			continue;
		gpumon_page_blanks(page, first ? 0 : 2);
		first = false;
		if (grid->right[i])
			gpumon_page_right(page, grid->width[i], colour, texts[i]);
		else if (i + 1 == grid->n_columns)
			gpumon_page_colour(page, colour, texts[i]);
		else
			gpumon_page_left(page, grid->width[i], colour, texts[i]);
	}
	gpumon_page_end_line(page);
}

static void grid_draw(struct gpumon_page *page, struct grid *grid, const char *name,
		      unsigned int reserved)
{
	const struct gpumon_term *term = &page->view->term;
	size_t left_out;
	char text[64];

	grid_measure(grid);
	left_out = grid_fit(grid, page->columns);
	gpumon_page_colour(page, gpumon_term_bold(term), name);
	if (left_out) {
		snprintf(text, sizeof(text), "  %zu column%s more, not wide enough", left_out,
			 left_out == 1 ? "" : "s");
		gpumon_page_colour(page, gpumon_term_dim(term), text);
	}
	gpumon_page_end_line(page);
	draw_line(page, grid, grid->title, gpumon_term_bold(term));
	for (size_t k = 0; k < grid->n_rows; k++) {
		bool last = k + 1 == grid->n_rows;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, grid->n_rows - k, "rows");
			return;
		}
		draw_line(page, grid, &grid->cells[k * grid->n_columns],
			  grid->idle[k] ? gpumon_term_dim(term) : "");
	}
}

static void put_column(const struct gpumon_page *page, const struct gpumon_column *like,
		       const struct gpumon_column *column, char *text)
{
	static const struct gpumon_column unknown;

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

static void fill_table(const struct gpumon_page *page, struct grid *grid,
		       const struct gpumon_row **rows, const struct gpumon_row *first)
{
	for (size_t i = 0; i < first->n_labels; i++) {
		gpumon_format_title(grid->title[i], first->labels[i].name, "");
		grid->right[i] = first->labels[i].number;
	}
	for (size_t i = 0; i < first->n_columns; i++) {
		gpumon_format_title(grid->title[first->n_labels + i], first->columns[i].name,
				    title_ending(&first->columns[i]));
		grid->right[first->n_labels + i] = true;
	}
	for (size_t k = 0; k < grid->n_rows; k++) {
		for (size_t i = 0; i < first->n_labels; i++)
			gpumon_format_name(grid_cell(grid, k, i), CELL_LEN,
					   gpumon_row_label(rows[k], first->labels[i].name));
		for (size_t i = 0; i < first->n_columns; i++)
			put_column(page, &first->columns[i],
				   gpumon_row_column(rows[k], first->columns[i].name),
				   grid_cell(grid, k, first->n_labels + i));
	}
}

static void draw_table(struct gpumon_page *page, const struct gpumon_statistics *statistics,
		       unsigned int reserved)
{
	const struct gpumon_row *first = &statistics->rows[0];
	const struct gpumon_row **rows = gpumon_calloc(statistics->n_rows, sizeof(*rows));
	struct grid grid;
	char name[2 * GPUMON_TITLE_LEN], safe[2 * GPUMON_TITLE_LEN];

	for (size_t i = 0; i < statistics->n_rows; i++)
		rows[i] = &statistics->rows[i];
	qsort(rows, statistics->n_rows, sizeof(*rows), compare_rows);
	grid_init(&grid, first->n_labels, first->n_labels + first->n_columns, statistics->n_rows);
	fill_table(page, &grid, rows, first);
	snprintf(name, sizeof(name), "%s.%s", statistics->group, statistics->table);
	grid_draw(page, &grid, gpumon_format_name(safe, sizeof(safe), name), reserved);
	grid_free(&grid);
	free(rows);
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

/* Compare by one counter after the other, since a sum of different units means little. */
static int compare_processes(const void *a, const void *b)
{
	const struct gpumon_process *x = *(const struct gpumon_process *const *)a;
	const struct gpumon_process *y = *(const struct gpumon_process *const *)b;

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

static void fill_processes(const struct gpumon_page *page, struct grid *grid,
			   const struct gpumon_process **processes)
{
	size_t column = 0;

	strcpy(grid->title[column], "PID");
	grid->right[column++] = true;
	strcpy(grid->title[column++], "PROCESS");
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		if (!is_counted(&page->top->diff, i))
			continue;
		snprintf(grid->title[column], CELL_LEN, "%s/S", gpumon_process_counts[i].title);
		grid->right[column++] = true;
	}
	strcpy(grid->title[column], "OPEN-NOW");
	grid->right[column++] = true;
	strcpy(grid->title[column], "CONTAINER");

	for (size_t k = 0; k < grid->n_rows; k++) {
		const struct gpumon_process *process = processes[k];
		const char *place = process->container ? process->container : process->cgroup;

		column = 0;
		gpumon_format_count(grid_cell(grid, k, column++), CELL_LEN, process->pid);
		gpumon_format_name(grid_cell(grid, k, column++), CELL_LEN, process->comm);
		for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
			if (is_counted(&page->top->diff, i))
				gpumon_format_rate_by_name(grid_cell(grid, k, column++),
							   gpumon_process_counts[i].name,
							   gpumon_process_count_of(process, i),
							   page->top->diff.interval_ns);
		}
		gpumon_format_count(grid_cell(grid, k, column++), CELL_LEN, process->open_handles);
		/* The end of a long path is more useful. */
		if (place && strlen(place) > 24)
			place += strlen(place) - 24;
		gpumon_format_name(grid_cell(grid, k, column), CELL_LEN, place);
	}
}

static void draw_processes(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_model *diff = &page->top->diff;
	const struct gpumon_process **processes =
		gpumon_calloc(diff->n_processes, sizeof(*processes));
	size_t columns = 4;
	struct grid grid;

	for (size_t i = 0; i < diff->n_processes; i++)
		processes[i] = &diff->processes[i];
	qsort(processes, diff->n_processes, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++)
		columns += is_counted(diff, i);
	grid_init(&grid, 2, columns, diff->n_processes);
	fill_processes(page, &grid, processes);
	grid_draw(page, &grid, GPUMON_TOP_PROCESSES, reserved);
	grid_free(&grid);
	free(processes);
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
