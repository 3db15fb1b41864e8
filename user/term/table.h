/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Tables through libsmartcols: aligned for people, cut to the terminal's width, never cut in
 * a pipe.
 */
#ifndef GPUMON_USER_TABLE_H
#define GPUMON_USER_TABLE_H

#include <stdio.h>

#include "format.h"

struct gpumon_table;

#define GPUMON_COLUMN_RIGHT (1U << 0) /* numbers */
#define GPUMON_COLUMN_CUT   (1U << 1) /* may be cut when the terminal is narrow */
#define GPUMON_COLUMN_WRAP  (1U << 2) /* may be wrapped when the terminal is narrow */

/* NULL: no memory. Every later call takes NULL and does nothing, the print fails. */
struct gpumon_table *gpumon_table_new(const struct gpumon_term *term);
void gpumon_table_column(struct gpumon_table *table, const char *name, unsigned int flags);
/* Begin the next row; cells are then filled from left to right. */
void gpumon_table_row(struct gpumon_table *table);
void gpumon_table_text(struct gpumon_table *table, const char *text); /* made safe, NULL: "-" */
void gpumon_table_count(struct gpumon_table *table, struct gpumon_value value);
void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns);
void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns);
/* Colour of the whole row, a gpumon_term_*() sequence. */
void gpumon_table_colour(struct gpumon_table *table, const char *sequence);
/* Print and free. 0, or -1 if memory failed somewhere on the way. */
int gpumon_table_print(struct gpumon_table *table, FILE *stream);

#endif /* GPUMON_USER_TABLE_H */
