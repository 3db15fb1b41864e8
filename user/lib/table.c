// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "memory.h"
#include "text.h"
#include "table.h"

/* Indentation of a line below a row. */
#define BELOW_INDENT (GPUMON_TABLE_INDENT + 4)
/* Width of a name on the narrowest terminal. */
#define NAME_LEAST 8

struct column {
	char *title;
	unsigned int flags;
	unsigned int width;
	bool used; /* some row has a value */
};

struct row {
	char *below;
	const char *colour;
};

struct gpumon_table {
	const struct gpumon_term *term;
	struct column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	struct row *rows;
	size_t n_rows;
	bool estimate;
};

struct gpumon_table *gpumon_table_new(const struct gpumon_term *term)
{
	struct gpumon_table *table = gpumon_calloc(1, sizeof(*table));

	table->term = term;
	return table;
}

void gpumon_table_column(struct gpumon_table *table, const char *title, unsigned int flags)
{
	struct column *column = GPUMON_GROW(table->columns, table->n_columns);

	column->title = gpumon_strdup(title);
	column->flags = flags;
	column->width = gpumon_text_columns(title);
}

void gpumon_table_text(struct gpumon_table *table, const char *text)
{
	struct column *column;
	unsigned int width;
	char **cell;

	if (!table->n_columns)
		return;
	if (!text)
		text = "-";
	column = &table->columns[table->n_cells % table->n_columns];
	if (column == table->columns)
		GPUMON_GROW(table->rows, table->n_rows);
	cell = GPUMON_GROW(table->cells, table->n_cells);
	*cell = gpumon_strdup(text);
	width = gpumon_text_columns(text);
	if (width > column->width)
		column->width = width;
	column->used |= strcmp(text, "-") != 0;
}

void gpumon_table_value(struct gpumon_table *table, struct gpumon_value value)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_format_count(text, sizeof(text), value));
}

void gpumon_table_estimate(struct gpumon_table *table, bool estimate)
{
	table->estimate = estimate;
}

/* A text behind a byte for the mark. */
static void put_number(struct gpumon_table *table, char *text)
{
	text[0] = '~';
	gpumon_table_text(table, table->estimate ? text : text + 1);
}

void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns)
{
	char text[1 + GPUMON_FORMAT_LEN];

	gpumon_format_ns(text + 1, GPUMON_FORMAT_LEN, ns);
	put_number(table, text);
}

void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_format_rate(text, sizeof(text), count, interval_ns));
}

void gpumon_table_count(struct gpumon_table *table, uint64_t count)
{
	char text[1 + GPUMON_TEXT_NUMBER];

	gpumon_text_count(text + 1, GPUMON_TEXT_NUMBER, count);
	put_number(table, text);
}

void gpumon_table_percent(struct gpumon_table *table, uint64_t part, uint64_t whole)
{
	char text[1 + GPUMON_TEXT_NUMBER];

	gpumon_text_percent(text + 1, GPUMON_TEXT_NUMBER, part, whole);
	put_number(table, text);
}

void gpumon_table_colour(struct gpumon_table *table, const char *sequence)
{
	if (table->n_rows)
		table->rows[table->n_rows - 1].colour = sequence;
}

unsigned int gpumon_table_below_columns(const struct gpumon_term *term)
{
	return term->columns > BELOW_INDENT + 20 ? term->columns - BELOW_INDENT : 20;
}

void gpumon_table_below(struct gpumon_table *table, const char *text)
{
	struct row *row;

	if (!table->n_rows)
		return;
	row = &table->rows[table->n_rows - 1];
	if (!text)
		gpumon_memory_failed(0);
	free(row->below);
	row->below = gpumon_strdup(text);
}

static void print_blanks(FILE *stream, unsigned int n)
{
	fprintf(stream, "%*s", (int)n, "");
}

static bool has_names(const struct gpumon_table *table)
{
	return table->columns[table->n_columns - 1].flags & GPUMON_COLUMN_NAME;
}

static bool column_shown(const struct column *column)
{
	return column->used || !(column->flags & GPUMON_COLUMN_OPTIONAL);
}

/* Shorten names to the room that the other columns leave. */
static void squeeze_names(struct gpumon_table *table)
{
	unsigned int used = GPUMON_TABLE_INDENT, columns = table->term->columns;
	size_t last = table->n_columns - 1;
	char **texts = gpumon_calloc(table->n_rows + 1, sizeof(*texts));
	const char **names = gpumon_calloc(table->n_rows + 1, sizeof(*names));

	for (size_t i = 0; i < last; i++)
		used += table->columns[i].width + 2;
	for (size_t row = 0; row < table->n_rows; row++)
		names[row] = table->cells[row * table->n_columns + last];
	gpumon_text_squeeze_rows(
		names, table->n_rows, columns > used + NAME_LEAST ? columns - used : NAME_LEAST,
		(table->columns[last].flags & GPUMON_COLUMN_PHRASE) == GPUMON_COLUMN_NAME, texts);
	for (size_t row = 0; row < table->n_rows; row++) {
		free(table->cells[row * table->n_columns + last]);
		table->cells[row * table->n_columns + last] = texts[row];
	}
	free(texts);
	free(names);
}

/*
 * Find the columns from @from on that fit beside the keys, at least one. Returns the next column.
 */
static size_t columns_that_fit(const struct gpumon_table *table, size_t keys, size_t from)
{
	unsigned int used = 0;
	size_t i, n = 0;

	for (i = 0; i < keys; i++)
		used += column_shown(&table->columns[i]) ? table->columns[i].width + 1 : 0;
	for (i = from; i < table->n_columns; i++) {
		const struct column *column = &table->columns[i];

		if (!column_shown(column))
			continue;
		used += column->width + 1;
		/* The last column needs no trailing blanks. */
		if (n && (column->flags & GPUMON_COLUMN_BELOW) && table->term->columns &&
		    used - 1 > table->term->columns)
			break;
		n++;
	}
	return i;
}

/* Print titles or cells of the keys and of the columns from @from to @to. */
static void print_cells(const struct gpumon_table *table, char **cells, size_t keys, size_t from,
			size_t to, FILE *stream)
{
	unsigned int blanks = 0;

	for (size_t i = 0; i < to; i++) {
		const struct column *column = &table->columns[i];
		const char *text = cells ? cells[i] : column->title;
		unsigned int pad;

		if ((i >= keys && i < from) || !column_shown(column))
			continue;
		if (!*text) {
			blanks += column->width + (has_names(table) ? 2 : 1);
			continue;
		}
		pad = column->flags & GPUMON_COLUMN_NAME ?
			      0 :
			      column->width - gpumon_text_columns(text);
		print_blanks(stream, blanks + (column->flags & GPUMON_COLUMN_RIGHT ? pad : 0));
		gpumon_text_plain(stream, text);
		/* No trailing blanks at the end of a line. */
		blanks = (column->flags & GPUMON_COLUMN_RIGHT ? 0 : pad) +
			 (has_names(table) ? 2 : 1);
	}
}

static void print_block(const struct gpumon_table *table, size_t keys, size_t from, size_t to,
			FILE *stream)
{
	unsigned int indent = has_names(table) ? GPUMON_TABLE_INDENT : 0;
	const char *dim = has_names(table) ? gpumon_term_dim(table->term) : "";
	const char *reset = gpumon_term_reset(table->term);

	print_blanks(stream, indent);
	fputs(dim, stream);
	print_cells(table, NULL, keys, from, to, stream);
	fprintf(stream, "%s\n", *dim ? reset : "");
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct row *row = &table->rows[i];
		bool coloured = row->colour && *row->colour;

		print_blanks(stream, indent);
		fputs(coloured ? row->colour : "", stream);
		print_cells(table, table->cells + i * table->n_columns, keys, from, to, stream);
		fprintf(stream, "%s\n", coloured ? reset : "");
		if (!row->below)
			continue;
		print_blanks(stream, BELOW_INDENT);
		fprintf(stream, "%s%s%s\n", gpumon_term_dim(table->term), row->below, reset);
	}
}

static void free_table(struct gpumon_table *table)
{
	for (size_t i = 0; i < table->n_columns; i++)
		free(table->columns[i].title);
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	for (size_t i = 0; i < table->n_rows; i++)
		free(table->rows[i].below);
	free(table->columns);
	free(table->cells);
	free(table->rows);
	free(table);
}

int gpumon_table_print(struct gpumon_table *table, FILE *stream)
{
	size_t keys = 0, from, to;

	/* An incomplete last row would be read beyond its end. */
	if (!table->n_columns || table->n_cells % table->n_columns) {
		free_table(table);
		return -1;
	}
	if (has_names(table) && table->term->columns)
		squeeze_names(table);
	while (keys < table->n_columns && (table->columns[keys].flags & GPUMON_COLUMN_KEY))
		keys++;
	from = keys;
	do {
		to = columns_that_fit(table, keys, from);
		print_block(table, keys, from, to, stream);
		from = to;
	} while (from < table->n_columns);
	free_table(table);
	return 0;
}
