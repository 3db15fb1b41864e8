/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Aligned tables. Columns that do not fit a terminal continue below, and a long name in the last
 * column is shortened. In a pipe every row is one line.
 */
#ifndef GPUMON_LIB_TABLE_H
#define GPUMON_LIB_TABLE_H

#include <stdio.h>

#include "format.h"

struct gpumon_table;

#define GPUMON_COLUMN_RIGHT    (1U << 0) /* numbers */
#define GPUMON_COLUMN_KEY      (1U << 1) /* identifies the row; keys come first */
#define GPUMON_COLUMN_BELOW    (1U << 2) /* below, with the keys repeated, if it does not fit */
#define GPUMON_COLUMN_OPTIONAL (1U << 3) /* left out if no row has a value */
/* The last column, a function's name: it gets the remaining width and is shortened to it. */
#define GPUMON_COLUMN_NAME (1U << 4)
/* The same for other texts: what is in parentheses are not parameters. */
#define GPUMON_COLUMN_PHRASE (1U << 5 | GPUMON_COLUMN_NAME)

/* Indentation of a row with a name. */
#define GPUMON_TABLE_INDENT 2

/* Width of a line if it is not known, as in a pipe. */
#define GPUMON_PIPE_COLUMNS 200

struct gpumon_table *gpumon_table_new(const struct gpumon_term *term)
	__attribute__((returns_nonnull));
/* Add all columns before the first row. */
void gpumon_table_column(struct gpumon_table *table, const char *title, unsigned int flags);
/* Add the next cell, row after row. The text is made safe when printed; NULL: "-". */
void gpumon_table_text(struct gpumon_table *table, const char *text);
void gpumon_table_value(struct gpumon_table *table, struct gpumon_value value);
void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns);
void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns);
/* "1,234,567" */
void gpumon_table_count(struct gpumon_table *table, uint64_t count);
void gpumon_table_percent(struct gpumon_table *table, uint64_t part, uint64_t whole);
/* The next times, counts and percents are estimates, or no longer: they have ~ in front. */
void gpumon_table_estimate(struct gpumon_table *table, bool estimate);
/* Colour the row just completed, with a gpumon_term_*() sequence. */
void gpumon_table_colour(struct gpumon_table *table, const char *sequence);
/* Add a line below the row just completed. NULL: there was no memory for it. */
void gpumon_table_below(struct gpumon_table *table, const char *text);
/* Width of such a line. */
unsigned int gpumon_table_below_columns(const struct gpumon_term *term);
/* Print and free. 0, or -1 if the last row is not complete. */
int gpumon_table_print(struct gpumon_table *table, FILE *stream);

#endif /* GPUMON_LIB_TABLE_H */
