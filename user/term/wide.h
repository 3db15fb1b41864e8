/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A table with more columns than a terminal may have room for: what does not fit goes on below,
 * with the columns that tell the rows apart once more. In a pipe it is one table.
 */
#ifndef GPUMON_USER_WIDE_H
#define GPUMON_USER_WIDE_H

#include <stdio.h>

#include "format.h"

struct gpumon_wide;

#define GPUMON_WIDE_RIGHT    (1U << 0) /* numbers */
#define GPUMON_WIDE_KEY	     (1U << 1) /* tells the rows apart; these come first */
#define GPUMON_WIDE_OPTIONAL (1U << 2) /* left out where no row has a value */

/* NULL: no memory. Every later call takes NULL and does nothing, the print fails. */
struct gpumon_wide *gpumon_wide_new(const struct gpumon_term *term);
/* All columns come before the first row. */
void gpumon_wide_column(struct gpumon_wide *wide, const char *title, unsigned int flags);
/* The next cell, from left to right and row after row; made safe, NULL: "-". */
void gpumon_wide_cell(struct gpumon_wide *wide, const char *text);
/* Print and free. 0, or -1 if memory failed somewhere on the way. */
int gpumon_wide_print(struct gpumon_wide *wide, FILE *stream);

#endif /* GPUMON_USER_WIDE_H */
