// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "json.h"
#include "figure.h"
#include "sheet_inner.h"

/* The number of the column with this key, or that of the columns. */
static uint32_t find_column(const struct gpumon_sheet_table *table, const char *key)
{
	uint32_t i = 0;

	while (i < table->columns_n &&
	       (!table->columns[i].key || strcmp(table->columns[i].key, key) != 0))
		i++;
	return i;
}

unsigned int gpumon_sheet_figures(const struct gpumon_sheet *sheet,
				  struct gpumon_sheet_figure figures[GPUMON_SHEET_FIGURES])
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < sheet->tables_n; i++) {
		const struct gpumon_sheet_table *table = &sheet->tables[i];
		uint32_t kernel = find_column(table, "kernel");

		for (uint32_t column = 0; column < table->columns_n; column++)
			if (table->columns[column].figure && kernel < table->columns_n &&
			    n < GPUMON_SHEET_FIGURES)
				figures[n++] = (struct gpumon_sheet_figure){ sheet, table, column,
									     kernel };
	}
	return n;
}

static const struct gpumon_sheet_cell *cell_of(const struct gpumon_sheet_table *table, uint32_t row,
					       uint32_t column)
{
	return &table->cells[row * table->columns_n + column];
}

static const struct gpumon_sheet_table *find_table(const struct gpumon_sheet *sheet,
						   const char *key)
{
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		if (sheet->tables[i].key && !strcmp(sheet->tables[i].key, key))
			return &sheet->tables[i];
	return NULL;
}

/* The table of all kernels says which number has this name. */
static bool find_number(const struct gpumon_sheet *sheet, const char *name, uint64_t *number)
{
	const struct gpumon_sheet_table *table = find_table(sheet, "kernels");
	uint32_t kernel = table ? find_column(table, "kernel") : 0;
	uint32_t text = table ? find_column(table, "kernel_name") : 0;

	if (!table || kernel == table->columns_n || text == table->columns_n)
		return false;
	for (uint32_t row = 0; row < gpumon_sheet_rows(table); row++) {
		const char *of = cell_of(table, row, text)->text;

		*number = cell_of(table, row, kernel)->number;
		if (of && !strcmp(of, name))
			return true;
	}
	return false;
}

/* NULL: there is none, or several, as of several GPUs. */
static const struct gpumon_sheet_cell *find_cell(const struct gpumon_sheet_figure *figure,
						 const char *kernel)
{
	const struct gpumon_sheet_cell *found = NULL;
	uint64_t number;

	if (!find_number(figure->sheet, kernel, &number))
		return NULL;
	for (uint32_t row = 0; row < gpumon_sheet_rows(figure->table); row++) {
		if (cell_of(figure->table, row, figure->kernel)->number != number)
			continue;
		if (found)
			return NULL;
		found = cell_of(figure->table, row, figure->column);
	}
	return found;
}

void gpumon_sheet_figure_column(const struct gpumon_sheet_figure *figure,
				struct gpumon_table *table)
{
	gpumon_table_column(table, figure->table->columns[figure->column].figure,
			    GPUMON_COLUMN_RIGHT);
}

void gpumon_sheet_figure_cell(const struct gpumon_sheet_figure *figure, const char *kernel,
			      struct gpumon_table *table)
{
	static const struct gpumon_sheet_cell unknown;
	const struct gpumon_sheet_cell *cell = find_cell(figure, kernel);

	gpumon_sheet_print_cell(table, cell ? cell : &unknown,
				figure->table->columns[figure->column].kind, 0);
}

int gpumon_sheet_figure_json(const struct gpumon_sheet_figure *figure, const char *kernel,
			     struct json_object *object)
{
	static const struct gpumon_sheet_cell unknown;
	const struct gpumon_sheet_cell *cell = find_cell(figure, kernel);
	const struct gpumon_sheet_column *column = &figure->table->columns[figure->column];

	if (column->key)
		gpumon_sheet_cell_json(object, column, cell ? cell : &unknown);
	return 0;
}
