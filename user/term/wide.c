// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "output_text.h"
#include "table.h"
#include "wide.h"

struct column {
	char *title;
	unsigned int flags;
	unsigned int width;
	bool used; /* some row has a value */
};

struct gpumon_wide {
	const struct gpumon_term *term;
	struct column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	bool failed;
};

struct gpumon_wide *gpumon_wide_new(const struct gpumon_term *term)
{
	struct gpumon_wide *wide = calloc(1, sizeof(*wide));

	if (wide)
		wide->term = term;
	return wide;
}

/* Printable, on the heap. */
static char *safe_copy(const char *text)
{
	size_t len = text ? strlen(text) + 1 : 2;
	char *copy = malloc(len);

	if (copy)
		gpumon_format_name(copy, len, text);
	return copy;
}

void gpumon_wide_column(struct gpumon_wide *wide, const char *title, unsigned int flags)
{
	struct column *column;

	if (!wide || wide->failed)
		return;
	column = GPUMON_GROW(wide->columns, wide->n_columns);
	if (!column) {
		wide->failed = true;
		return;
	}
	column->title = safe_copy(title);
	column->flags = flags;
	if (column->title)
		column->width = gpumon_text_columns(column->title);
	else
		wide->failed = true;
}

void gpumon_wide_cell(struct gpumon_wide *wide, const char *text)
{
	struct column *column;
	unsigned int width;
	char **cell;

	if (!wide || wide->failed || !wide->n_columns)
		return;
	column = &wide->columns[wide->n_cells % wide->n_columns];
	cell = GPUMON_GROW(wide->cells, wide->n_cells);
	if (cell)
		*cell = safe_copy(text);
	if (!cell || !*cell) {
		wide->failed = true;
		return;
	}
	width = gpumon_text_columns(*cell);
	if (width > column->width)
		column->width = width;
	column->used |= strcmp(*cell, "-") != 0;
}

static bool column_shown(const struct column *column)
{
	return column->used || !(column->flags & GPUMON_WIDE_OPTIONAL);
}

/* The keys and the columns from @from on as far as they fit, at least one; returns the next. */
static size_t columns_that_fit(const struct gpumon_wide *wide, size_t keys, size_t from)
{
	unsigned int used = 0;
	size_t i, n = 0;

	for (i = 0; i < keys; i++)
		used += column_shown(&wide->columns[i]) ? wide->columns[i].width + 1 : 0;
	for (i = from; i < wide->n_columns; i++) {
		if (!column_shown(&wide->columns[i]))
			continue;
		used += wide->columns[i].width + 1;
		/* No blank behind the last one. */
		if (n && wide->term->columns && used - 1 > wide->term->columns)
			break;
		n++;
	}
	return i;
}

static int print_block(const struct gpumon_wide *wide, size_t keys, size_t from, size_t to,
		       FILE *stream)
{
	struct gpumon_table *table = gpumon_table_new(wide->term);

	for (size_t i = 0; i < to; i++) {
		const struct column *column = &wide->columns[i];

		if ((i < keys || i >= from) && column_shown(column))
			gpumon_table_column(
				table, column->title,
				column->flags & GPUMON_WIDE_RIGHT ? GPUMON_COLUMN_RIGHT : 0);
	}
	for (size_t cell = 0; cell < wide->n_cells; cell += wide->n_columns) {
		gpumon_table_row(table);
		for (size_t i = 0; i < to; i++) {
			if ((i < keys || i >= from) && column_shown(&wide->columns[i]))
				gpumon_table_text(table, wide->cells[cell + i]);
		}
	}
	return gpumon_table_print(table, stream);
}

static void wide_free(struct gpumon_wide *wide)
{
	for (size_t i = 0; i < wide->n_columns; i++)
		free(wide->columns[i].title);
	for (size_t i = 0; i < wide->n_cells; i++)
		free(wide->cells[i]);
	free(wide->columns);
	free(wide->cells);
	free(wide);
}

int gpumon_wide_print(struct gpumon_wide *wide, FILE *stream)
{
	size_t keys = 0, from, to;
	int ret = 0;

	if (!wide)
		return -1;
	/* A row that was not filled would be read beyond its end. */
	if (wide->failed || !wide->n_columns || wide->n_cells % wide->n_columns) {
		wide_free(wide);
		return -1;
	}
	while (keys < wide->n_columns && (wide->columns[keys].flags & GPUMON_WIDE_KEY))
		keys++;
	from = keys;
	do {
		to = columns_that_fit(wide, keys, from);
		ret = print_block(wide, keys, from, to, stream);
		from = to;
	} while (!ret && from < wide->n_columns);
	wide_free(wide);
	return ret;
}
