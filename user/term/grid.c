// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "grid.h"
#include "output_text.h"
#include "squeeze.h"

/* Of a line below a row. */
#define GPUMON_GRID_BELOW (GPUMON_GRID_INDENT + 4)

struct row {
	char *cells[GPUMON_GRID_COLUMNS];
	char *below;
	const char *colour;
};

struct gpumon_grid {
	const struct gpumon_term *term;
	const char *titles[GPUMON_GRID_COLUMNS];
	unsigned int columns;
	struct row *rows;
	size_t n;
	unsigned int cell; /* of the last row, filled so far */
	bool failed;
};

struct gpumon_grid *gpumon_grid_new(const struct gpumon_term *term)
{
	struct gpumon_grid *grid = calloc(1, sizeof(*grid));

	if (grid)
		grid->term = term;
	return grid;
}

void gpumon_grid_column(struct gpumon_grid *grid, const char *title)
{
	if (grid && grid->columns < GPUMON_GRID_COLUMNS)
		grid->titles[grid->columns++] = title;
}

void gpumon_grid_cell(struct gpumon_grid *grid, const char *text)
{
	struct row *row;

	if (!grid || grid->failed)
		return;
	if (!grid->n || grid->cell == grid->columns) {
		if (!GPUMON_GROW(grid->rows, grid->n)) {
			grid->failed = true;
			return;
		}
		grid->cell = 0;
	}
	row = &grid->rows[grid->n - 1];
	row->cells[grid->cell] = strdup(text);
	if (!row->cells[grid->cell++])
		grid->failed = true;
}

void gpumon_grid_ns(struct gpumon_grid *grid, struct gpumon_value ns)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_grid_cell(grid, gpumon_format_ns(text, sizeof(text), ns));
}

void gpumon_grid_count(struct gpumon_grid *grid, uint64_t count)
{
	char text[GPUMON_TEXT_NUMBER];

	gpumon_grid_cell(grid, gpumon_text_count(text, sizeof(text), count));
}

void gpumon_grid_percent(struct gpumon_grid *grid, uint64_t part, uint64_t whole)
{
	char text[GPUMON_TEXT_NUMBER];

	gpumon_grid_cell(grid, gpumon_text_percent(text, sizeof(text), part, whole));
}

unsigned int gpumon_grid_below_columns(const struct gpumon_term *term)
{
	return term->columns > GPUMON_GRID_BELOW + 20 ? term->columns - GPUMON_GRID_BELOW : 20;
}

void gpumon_grid_below(struct gpumon_grid *grid, const char *text)
{
	if (!grid || grid->failed || !grid->n)
		return;
	grid->rows[grid->n - 1].below = text ? strdup(text) : NULL;
	if (!grid->rows[grid->n - 1].below)
		grid->failed = true;
}

void gpumon_grid_colour(struct gpumon_grid *grid, const char *sequence)
{
	if (grid && !grid->failed && grid->n)
		grid->rows[grid->n - 1].colour = sequence;
}

static void free_grid(struct gpumon_grid *grid)
{
	for (size_t i = 0; i < grid->n; i++) {
		for (unsigned int column = 0; column < grid->columns; column++)
			free(grid->rows[i].cells[column]);
		free(grid->rows[i].below);
	}
	free(grid->rows);
	free(grid);
}

static void print_blanks(FILE *out, unsigned int columns)
{
	fprintf(out, "%*s", (int)columns, "");
}

/* The last column of all rows in so many columns; a row that was begun and not ended has none. */
static int squeeze_names(struct gpumon_grid *grid, unsigned int room)
{
	unsigned int last = grid->columns - 1;
	char **texts = calloc(grid->n + 1, sizeof(*texts));
	const char **names = calloc(grid->n + 1, sizeof(*names));
	int ret = -1;

	for (size_t row = 0; names && row < grid->n; row++)
		names[row] = grid->rows[row].cells[last] ? grid->rows[row].cells[last] : "";
	if (texts && names)
		ret = gpumon_text_squeeze_rows(names, grid->n, room, texts);
	for (size_t row = 0; !ret && row < grid->n; row++) {
		free(grid->rows[row].cells[last]);
		grid->rows[row].cells[last] = texts[row];
	}
	free(texts);
	free(names);
	return ret;
}

int gpumon_grid_print(struct gpumon_grid *grid, FILE *out)
{
	unsigned int widths[GPUMON_GRID_COLUMNS] = { 0 }, used = GPUMON_GRID_INDENT, room = 0;
	unsigned int last;
	int ret;

	if (!grid)
		return -1;
	ret = grid->failed || !grid->columns ? -1 : 0;
	last = grid->columns - 1;
	for (unsigned int i = 0; !ret && i < last; i++) {
		widths[i] = gpumon_text_columns(grid->titles[i]);
		for (size_t row = 0; row < grid->n; row++) {
			unsigned int width = gpumon_text_columns(grid->rows[row].cells[i]);

			if (width > widths[i])
				widths[i] = width;
		}
		used += widths[i] + 2;
	}
	if (grid->term->columns)
		room = grid->term->columns > used + 8 ? grid->term->columns - used : 8;
	if (!ret && room)
		ret = squeeze_names(grid, room);
	if (!ret) {
		print_blanks(out, GPUMON_GRID_INDENT);
		fputs(gpumon_term_dim(grid->term), out);
		for (unsigned int i = 0; i < last; i++)
			fprintf(out, "%*s  ", (int)widths[i], grid->titles[i]);
		fprintf(out, "%s%s\n", grid->titles[last], gpumon_term_reset(grid->term));
	}
	for (size_t row = 0; !ret && row < grid->n; row++) {
		const struct row *cells = &grid->rows[row];

		print_blanks(out, GPUMON_GRID_INDENT);
		if (cells->colour)
			fputs(cells->colour, out);
		for (unsigned int i = 0; i < last; i++) {
			print_blanks(out, widths[i] - gpumon_text_columns(cells->cells[i]));
			gpumon_text_plain(out, cells->cells[i]);
			fputs("  ", out);
		}
		if (cells->cells[last])
			gpumon_text_plain(out, cells->cells[last]);
		fprintf(out, "%s\n", cells->colour ? gpumon_term_reset(grid->term) : "");
		if (cells->below) {
			print_blanks(out, GPUMON_GRID_BELOW);
			fprintf(out, "%s%s%s\n", gpumon_term_dim(grid->term), cells->below,
				gpumon_term_reset(grid->term));
		}
	}
	free_grid(grid);
	return ret;
}
