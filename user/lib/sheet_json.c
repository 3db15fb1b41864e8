// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A sheet for programs. */
#include "json.h"
#include "sheet_inner.h"

int gpumon_sheet_cell_json(struct json_object *object, const struct gpumon_sheet_column *column,
			   const struct gpumon_sheet_cell *cell)
{
	if (!cell->known)
		return gpumon_json_add_null(object, column->key);
	switch (column->kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_NAME:
		return gpumon_json_add_string(object, column->key, cell->text);
	case GPUMON_SHEET_SIGNED:
		return gpumon_json_add_i64(object, column->key, (int64_t)cell->number);
	case GPUMON_SHEET_RATIO:
	case GPUMON_SHEET_PERCENT:
		return gpumon_json_add(object, column->key, json_object_new_double(cell->ratio));
	default:
		return gpumon_json_add_u64(object, column->key, cell->number);
	}
}

static struct json_object *row_json(const struct gpumon_sheet_table *table, uint32_t row)
{
	struct json_object *object = json_object_new_object();
	bool bad = !object;

	for (uint32_t i = 0; i < table->columns_n; i++)
		if (table->columns[i].key)
			bad |= gpumon_sheet_cell_json(object, &table->columns[i],
						      &table->cells[row * table->columns_n + i]);
	return gpumon_json_finish(object, bad);
}

static struct json_object *table_json(const struct gpumon_sheet_table *table)
{
	struct json_object *object = json_object_new_object(), *rows = json_object_new_array();
	bool bad = !object || !rows;

	for (uint32_t i = 0; !bad && i < gpumon_sheet_rows(table); i++)
		bad |= gpumon_json_append(rows, row_json(table, i));
	bad |= gpumon_json_add(object, "rows", rows);
	bad |= gpumon_json_add_u64(object, "rows_left_out", table->left_out);
	return gpumon_json_finish(object, bad);
}

static struct json_object *lines_json(const struct gpumon_sheet *sheet, bool notes)
{
	struct json_object *array = json_object_new_array();
	bool bad = !array;

	for (uint32_t i = 0; !bad && i < sheet->lines_n; i++)
		if (sheet->lines[i].note == notes)
			bad |= gpumon_json_append(array, gpumon_json_string(sheet->lines[i].text));
	return gpumon_json_finish(array, bad);
}

struct json_object *gpumon_sheet_json(const struct gpumon_sheet *sheet)
{
	struct json_object *object, *tables;
	bool bad;

	if (!sheet || sheet->failed)
		return NULL;
	object = json_object_new_object();
	tables = json_object_new_object();
	bad = !object || !tables;
	bad |= gpumon_json_add(object, "found", lines_json(sheet, false));
	bad |= gpumon_json_add(object, "notes", lines_json(sheet, true));
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		if (sheet->tables[i].key)
			bad |= gpumon_json_add(tables, sheet->tables[i].key,
					       table_json(&sheet->tables[i]));
	bad |= gpumon_json_add(object, "tables", tables);
	bad |= gpumon_json_add_string(object, "tool", sheet->tool);
	return gpumon_json_finish(object, bad);
}
