/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How a sheet is kept. */
#ifndef GPUMON_LIB_SHEET_INNER_H
#define GPUMON_LIB_SHEET_INNER_H

#include "map.h"
#include "sheet.h"

/* @figure: title elsewhere, of a figure of kernels; NULL: it is none */
struct gpumon_sheet_column {
	const char *title;
	const char *figure;
	const char *key;
	enum gpumon_sheet_kind kind;
};

struct gpumon_sheet_cell {
	bool known;
	uint64_t number;
	double ratio;
	const char *text;
};

struct gpumon_sheet_table {
	const char *key;
	const char *title;
	uint64_t left_out;
	uint32_t limit; /* 0: none */
	struct gpumon_sheet_column *columns;
	uint32_t columns_n;
	uint32_t columns_room;
	struct gpumon_sheet_cell *cells;
	uint32_t cells_n;
	uint32_t cells_room;
};

struct gpumon_sheet_line {
	bool note;
	const char *text;
};

struct gpumon_sheet {
	struct gpumon_pool pool;
	const char *tool;
	struct gpumon_sheet_table *tables;
	uint32_t tables_n;
	uint32_t tables_room;
	struct gpumon_sheet_line *lines;
	uint32_t lines_n;
	uint32_t lines_room;
};

struct gpumon_table;

/* @largest: number of the longest bar */
void gpumon_sheet_print_cell(struct gpumon_table *table, const struct gpumon_sheet_cell *cell,
			     enum gpumon_sheet_kind kind, uint64_t largest);

/* Add it to an object under its column's key. */
void gpumon_sheet_cell_json(struct json_object *object, const struct gpumon_sheet_column *column,
			    const struct gpumon_sheet_cell *cell);

static inline uint32_t gpumon_sheet_rows(const struct gpumon_sheet_table *table)
{
	return table->columns_n ? table->cells_n / table->columns_n : 0;
}

#endif /* GPUMON_LIB_SHEET_INNER_H */
