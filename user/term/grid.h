/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Tables whose last column is a long name, which gets what room there is and is
 * shortened as names are, and which may have a line of its own below a row.
 */
#ifndef GPUMON_OUTPUT_GRID_H
#define GPUMON_OUTPUT_GRID_H

#include <stdio.h>

#include "format.h"

#define GPUMON_GRID_COLUMNS 10
#define GPUMON_GRID_INDENT  2

/* Of a line where nothing says how wide it may be, as in a pipe. */
#define GPUMON_PIPE_COLUMNS 200

struct gpumon_grid;

/* NULL: no memory. Every later call takes NULL and does nothing, the print fails. */
struct gpumon_grid *gpumon_grid_new(const struct gpumon_term *term);
/* All before the first row; numbers are on the right, the last column is the name. */
void gpumon_grid_column(struct gpumon_grid *grid, const char *title);
/* The next cell, from left to right and row after row. Made safe when printed. */
void gpumon_grid_cell(struct gpumon_grid *grid, const char *text);
void gpumon_grid_ns(struct gpumon_grid *grid, struct gpumon_value ns);
void gpumon_grid_count(struct gpumon_grid *grid, uint64_t count);
void gpumon_grid_percent(struct gpumon_grid *grid, uint64_t part, uint64_t whole);
/* A line below the row just ended; NULL where there was no memory for it. */
void gpumon_grid_below(struct gpumon_grid *grid, const char *text);
/* What such a line has room for. */
unsigned int gpumon_grid_below_columns(const struct gpumon_term *term);
/* An ANSI sequence for the row just ended. */
void gpumon_grid_colour(struct gpumon_grid *grid, const char *sequence);
/* Print and free. 0, or -1 if memory failed somewhere on the way. */
int gpumon_grid_print(struct gpumon_grid *grid, FILE *out);

#endif /* GPUMON_OUTPUT_GRID_H */
