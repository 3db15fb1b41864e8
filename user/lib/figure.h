/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Figures of kernels in a sheet, to be shown beside other figures of the same kernels. */
#ifndef GPUMON_LIB_FIGURE_H
#define GPUMON_LIB_FIGURE_H

#include "sheet.h"
#include "table.h"

/* So many are shown elsewhere at most. */
#define GPUMON_SHEET_FIGURES 3

/**
 * struct gpumon_sheet_figure - a column that gpumon_sheet_figure() was called for
 * @sheet: with it
 * @table: likewise
 * @column: number of it
 * @kernel: number of the column with the kernels' numbers
 */
struct gpumon_sheet_figure {
	const struct gpumon_sheet *sheet;
	const struct gpumon_sheet_table *table;
	uint32_t column;
	uint32_t kernel;
};

/* The first of a sheet. Return: how many. */
unsigned int gpumon_sheet_figures(const struct gpumon_sheet *sheet,
				  struct gpumon_sheet_figure figures[GPUMON_SHEET_FIGURES]);

/* Add a column for it to a table. */
void gpumon_sheet_figure_column(const struct gpumon_sheet_figure *figure,
				struct gpumon_table *table);
/* Add its cell of a kernel with this demangled name: "-" if it has none, or several. */
void gpumon_sheet_figure_cell(const struct gpumon_sheet_figure *figure, const char *kernel,
			      struct gpumon_table *table);
/* Add it to an object under its key; null likewise. 0, or -1 without memory. */
int gpumon_sheet_figure_json(const struct gpumon_sheet_figure *figure, const char *kernel,
			     struct json_object *object);

#endif /* GPUMON_LIB_FIGURE_H */
