/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Tables, aligned for people. Columns that a terminal has no room for go on below, and a long
 * name in the last column is shortened; in a pipe every row is one line.
 */
#ifndef GPUMON_TERM_TABLE_H
#define GPUMON_TERM_TABLE_H

#include <stdio.h>

#include "format.h"

struct gpumon_table;

#define GPUMON_COLUMN_RIGHT    (1U << 0) /* numbers */
#define GPUMON_COLUMN_KEY      (1U << 1) /* tells the rows apart; these come first */
#define GPUMON_COLUMN_BELOW    (1U << 2) /* goes below, with the keys again, where it does not fit */
#define GPUMON_COLUMN_OPTIONAL (1U << 3) /* left out where no row has a value */
/* Last, a function's name: it has what room is left, and is shortened as such names are. */
#define GPUMON_COLUMN_NAME (1U << 4)

/* In front of a row with a name. */
#define GPUMON_TABLE_INDENT 2

/* Of a line where nothing says how wide it may be, as in a pipe. */
#define GPUMON_PIPE_COLUMNS 200

/* NULL: no memory. Every later call takes NULL and does nothing, the print fails. */
struct gpumon_table *gpumon_table_new(const struct gpumon_term *term);
/* All columns come before the first row. */
void gpumon_table_column(struct gpumon_table *table, const char *title, unsigned int flags);
/* The next cell, from left to right and row after row. Made safe when printed; NULL: "-". */
void gpumon_table_text(struct gpumon_table *table, const char *text);
void gpumon_table_value(struct gpumon_table *table, struct gpumon_value value);
void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns);
void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns);
/* "1,234,567" */
void gpumon_table_count(struct gpumon_table *table, uint64_t count);
void gpumon_table_percent(struct gpumon_table *table, uint64_t part, uint64_t whole);
/* Colour of the row just ended, a gpumon_term_*() sequence. */
void gpumon_table_colour(struct gpumon_table *table, const char *sequence);
/* A line below the row just ended; NULL where there was no memory for it. */
void gpumon_table_below(struct gpumon_table *table, const char *text);
/* What such a line has room for. */
unsigned int gpumon_table_below_columns(const struct gpumon_term *term);
/* Print and free. 0, or -1 if memory failed somewhere on the way. */
int gpumon_table_print(struct gpumon_table *table, FILE *stream);

#endif /* GPUMON_TERM_TABLE_H */
