/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Tables of typed cells, printed for people or as JSON. Columns that do not fit a terminal continue
 * below, and a long name in the last column is shortened. In a pipe every row is one line.
 */
#ifndef GPUMON_LIB_TABLE_H
#define GPUMON_LIB_TABLE_H

#include <json.h>
#include <stdio.h>

#include "format.h"
#include "map.h"

#define GPUMON_COLUMN_RIGHT    (1U << 0) /* numbers */
#define GPUMON_COLUMN_KEY      (1U << 1) /* identifies the row; keys come first */
#define GPUMON_COLUMN_BELOW    (1U << 2) /* below, with the keys repeated, if it does not fit */
#define GPUMON_COLUMN_OPTIONAL (1U << 3) /* left out if no row has a value */
/* The last column, a function's name: it gets the remaining width and is shortened to it. */
#define GPUMON_COLUMN_NAME (1U << 4)
/* The same for other texts: what is in parentheses are not parameters. */
#define GPUMON_COLUMN_PHRASE (1U << 5 | GPUMON_COLUMN_NAME)
/* On a narrow terminal only the end is shown: that of a place in a source tells most. */
#define GPUMON_COLUMN_END (1U << 6)

/* Indentation of a row with a name. */
#define GPUMON_TABLE_INDENT 2

/* Width of a line if it is not known, as in a pipe. */
#define GPUMON_PIPE_COLUMNS 200

/* What is in a cell, or in all cells of a column, with its unit. */
enum gpumon_cell_kind {
	GPUMON_CELL_TEXT,
	GPUMON_CELL_NAME,    /* a text that may be long: the last column */
	GPUMON_CELL_NUMBER,  /* a number that identifies something: 1234 */
	GPUMON_CELL_COUNT,   /* 1,234 */
	GPUMON_CELL_NS,	     /* 1.23us */
	GPUMON_CELL_BYTES,   /* 1.20KiB */
	GPUMON_CELL_SIGNED,  /* a count that may be negative, given as uint64_t */
	GPUMON_CELL_RATIO,   /* 1.25 */
	GPUMON_CELL_PERCENT, /* 12.5% */
	GPUMON_CELL_BAR,     /* its length is the number's part of the column's largest; only on a
			      * terminal
			      */
};

/**
 * struct gpumon_cell - a cell
 * @kind: what it is
 * @known: false: it is printed as "-" or null, never as 0
 * @estimate: it has ~ in front
 * @number: of the other kinds
 * @ratio: of RATIO and PERCENT, where 100 is all
 * @text: of TEXT and NAME, otherwise NULL
 */
struct gpumon_cell {
	enum gpumon_cell_kind kind;
	bool known;
	bool estimate;
	union {
		uint64_t number;
		double ratio;
	};
	const char *text;
};

/**
 * struct gpumon_table_column - a column
 * @title: above it; NULL: it is only in JSON
 * @key: name in JSON, with a unit if there is one; NULL: it is only for people
 * @figure: title in other tables, of a figure of kernels; NULL: it is none
 * @kind: what is in it
 * @flags: GPUMON_COLUMN_*
 */
struct gpumon_table_column {
	const char *title;
	const char *key;
	const char *figure;
	enum gpumon_cell_kind kind;
	unsigned int flags;
};

/**
 * struct gpumon_table_row - what a row has besides its cells
 * @below: a line below it, or NULL
 * @colour: a gpumon_term_*() sequence, or NULL
 */
struct gpumon_table_row {
	const char *below;
	const char *colour;
};

/**
 * struct gpumon_table - a table
 * @key: its name in JSON, or NULL: it is only for people
 * @title: above it, or NULL: it has none, or is only in JSON
 * @limit: people see only this many rows; 0: all
 * @left_out: rows that are not in the table at all: there are too many
 * @columns: all are added before the first row
 * @n_columns: number of @columns
 * @cells: row after row
 * @n_cells: number of @cells
 * @rows: one for each row
 * @n_rows: number of @rows
 * @estimate: the next times, counts and percents are estimates
 * @term: where gpumon_table_print() prints
 * @pool: has all texts: @own, or that of several tables
 * @own: memory for it
 */
struct gpumon_table {
	const char *key;
	const char *title;
	uint32_t limit;
	uint64_t left_out;
	struct gpumon_table_column *columns;
	size_t n_columns;
	struct gpumon_cell *cells;
	size_t n_cells;
	struct gpumon_table_row *rows;
	size_t n_rows;
	bool estimate;
	const struct gpumon_term *term;
	struct gpumon_pool *pool;
	struct gpumon_pool own;
};

struct gpumon_table *gpumon_table_new(const struct gpumon_term *term)
	__attribute__((returns_nonnull));
void gpumon_table_free(struct gpumon_table *table);
/* Set key and title, which may be NULL. */
void gpumon_table_name(struct gpumon_table *table, const char *key, const char *title);

/* Add a column of cells of any kind, for people. */
void gpumon_table_column(struct gpumon_table *table, const char *title, unsigned int flags);
/* Add a column of this kind, which says the flags. */
void gpumon_table_typed(struct gpumon_table *table, const char *title, const char *key,
			enum gpumon_cell_kind kind);
/*
 * The column added last is a figure of kernels, whose numbers are in the column "kernel": it also
 * stands beside other figures of the same kernels. @title: there; NULL: that of the column.
 */
void gpumon_table_figure(struct gpumon_table *table, const char *title);
/* The number of the column of this name in JSON, or that of the columns. */
size_t gpumon_table_find(const struct gpumon_table *table, const char *key);

/* Add the next cell, row after row. The text is made safe when printed; NULL: unknown. */
void gpumon_table_text(struct gpumon_table *table, const char *text);
/* A number of the column's kind; all digits in a column of cells of any kind. */
void gpumon_table_value(struct gpumon_table *table, struct gpumon_value value);
void gpumon_table_number(struct gpumon_table *table, uint64_t number);
void gpumon_table_ratio(struct gpumon_table *table, double ratio); /* of PERCENT: 100 is all */
void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns);
void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns);
/* "1,234,567" */
void gpumon_table_count(struct gpumon_table *table, uint64_t count);
void gpumon_table_percent(struct gpumon_table *table, uint64_t part, uint64_t whole);
/* A copy of a cell of another table. */
void gpumon_table_cell(struct gpumon_table *table, struct gpumon_cell cell);
/* The next times, counts and percents are estimates, or no longer: they have ~ in front. */
void gpumon_table_estimate(struct gpumon_table *table, bool estimate);
/* Colour the row just completed, with a gpumon_term_*() sequence. */
void gpumon_table_colour(struct gpumon_table *table, const char *sequence);
/* Add a line below the row just completed, and below those it has already. NULL: there was no memory for it. */
void gpumon_table_below(struct gpumon_table *table, const char *text);
/* Width of such a line. */
unsigned int gpumon_table_below_columns(const struct gpumon_term *term);

/* Print the rows and free the table. 0, or -1 if the last row is not complete. */
int gpumon_table_print(struct gpumon_table *table, FILE *stream);
/* Print the title and at most the limit of rows. 0, or -1 likewise. */
int gpumon_table_show(const struct gpumon_table *table, const struct gpumon_term *term,
		      FILE *stream);
/**
 * struct gpumon_table_layout - what is printed of a table, as texts
 * @table: table
 * @term: where it is printed
 * @columns: columns that have a title, and a place on @term
 * @widths: of each of @columns
 * @used: whether some row has a value
 * @n_columns: number of @columns
 * @texts: row after row, with as much room as for all columns of @table
 * @n_rows: number of rows
 * @pool: has all texts
 */
struct gpumon_table_layout {
	const struct gpumon_table *table;
	const struct gpumon_term *term;
	const struct gpumon_table_column **columns;
	unsigned int *widths;
	bool *used;
	size_t n_columns;
	const char **texts;
	size_t n_rows;
	struct gpumon_pool pool;
};

/* Lay out the first @rows rows, for what prints them in another way than this file. */
void gpumon_table_layout_init(struct gpumon_table_layout *layout, const struct gpumon_table *table,
			      size_t rows, const struct gpumon_term *term);
void gpumon_table_layout_clear(struct gpumon_table_layout *layout);

/* Place of the first text of a row, or of another one. */
static inline const char **gpumon_table_layout_text(const struct gpumon_table_layout *layout,
						    size_t row, size_t column)
{
	return &layout->texts[row * layout->table->n_columns + column];
}

/* {"rows":[{KEY:CELL}],"rows_left_out":N} */
struct json_object *gpumon_table_json(const struct gpumon_table *table)
	__attribute__((returns_nonnull));
/* Add a cell to an object; null if it is unknown. */
void gpumon_cell_json_add(struct json_object *object, const char *key,
			  const struct gpumon_cell *cell);
/* A cell that is known. */
struct json_object *gpumon_cell_json(const struct gpumon_cell *cell);

#endif /* GPUMON_LIB_TABLE_H */
