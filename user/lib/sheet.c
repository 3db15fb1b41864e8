// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sheet_inner.h"

#define SENTENCE_BYTES 1024

struct gpumon_sheet *gpumon_sheet_new(void)
{
	return calloc(1, sizeof(struct gpumon_sheet));
}

void gpumon_sheet_free(struct gpumon_sheet *sheet)
{
	if (!sheet)
		return;
	for (uint32_t i = 0; i < sheet->tables_n; i++) {
		free(sheet->tables[i].columns);
		free(sheet->tables[i].cells);
	}
	free(sheet->tables);
	free(sheet->lines);
	gpumon_pool_clear(&sheet->pool);
	free(sheet);
}

void gpumon_sheet_fail(struct gpumon_sheet *sheet)
{
	if (sheet)
		sheet->failed = true;
}

/* NULL stays NULL. */
static const char *keep_text(struct gpumon_sheet *sheet, const char *text)
{
	const char *kept = text ? gpumon_pool_text(&sheet->pool, text) : NULL;

	sheet->failed |= text && !kept;
	return kept;
}

void gpumon_sheet_set_tool(struct gpumon_sheet *sheet, const char *tool)
{
	if (sheet)
		sheet->tool = keep_text(sheet, tool);
}

const char *gpumon_sheet_tool(const struct gpumon_sheet *sheet)
{
	return sheet ? sheet->tool : NULL;
}

static struct gpumon_sheet_table *current(const struct gpumon_sheet *sheet)
{
	return sheet && !sheet->failed && sheet->tables_n ? &sheet->tables[sheet->tables_n - 1] :
							    NULL;
}

void gpumon_sheet_table(struct gpumon_sheet *sheet, const char *key, const char *title)
{
	struct gpumon_sheet_table *table;

	if (!sheet || sheet->failed)
		return;
	table = GPUMON_ARRAY_ADD(sheet->tables, sheet->tables_n, sheet->tables_room);
	if (!table) {
		sheet->failed = true;
		return;
	}
	table->key = keep_text(sheet, key);
	table->title = keep_text(sheet, title);
}

void gpumon_sheet_limit(struct gpumon_sheet *sheet, uint32_t rows)
{
	struct gpumon_sheet_table *table = current(sheet);

	if (table)
		table->limit = rows;
}

void gpumon_sheet_left_out(struct gpumon_sheet *sheet, uint64_t rows)
{
	struct gpumon_sheet_table *table = current(sheet);

	if (table)
		table->left_out += rows;
}

void gpumon_sheet_column(struct gpumon_sheet *sheet, const char *title, const char *key,
			 enum gpumon_sheet_kind kind)
{
	struct gpumon_sheet_table *table = current(sheet);
	struct gpumon_sheet_column *column;

	if (!table)
		return;
	column = GPUMON_ARRAY_ADD(table->columns, table->columns_n, table->columns_room);
	if (!column) {
		sheet->failed = true;
		return;
	}
	column->title = keep_text(sheet, title);
	column->key = keep_text(sheet, key);
	column->kind = kind;
}

bool gpumon_sheet_has_column(const struct gpumon_sheet *sheet, const char *key)
{
	const struct gpumon_sheet_table *table = current(sheet);

	for (uint32_t i = 0; table && i < table->columns_n; i++)
		if (table->columns[i].key && !strcmp(table->columns[i].key, key))
			return true;
	return false;
}

void gpumon_sheet_figure(struct gpumon_sheet *sheet, const char *title)
{
	struct gpumon_sheet_table *table = current(sheet);
	struct gpumon_sheet_column *column =
		table && table->columns_n ? &table->columns[table->columns_n - 1] : NULL;

	if (column)
		column->figure = title ? keep_text(sheet, title) : column->title;
}

static void add_cell(struct gpumon_sheet *sheet, struct gpumon_sheet_cell value)
{
	struct gpumon_sheet_table *table = current(sheet);
	struct gpumon_sheet_cell *cell;

	if (!table)
		return;
	cell = GPUMON_ARRAY_ADD(table->cells, table->cells_n, table->cells_room);
	if (cell)
		*cell = value;
	else
		sheet->failed = true;
}

void gpumon_sheet_text(struct gpumon_sheet *sheet, const char *text)
{
	if (current(sheet))
		add_cell(sheet, (struct gpumon_sheet_cell){ .known = text,
							    .text = keep_text(sheet, text) });
}

void gpumon_sheet_number(struct gpumon_sheet *sheet, uint64_t number)
{
	add_cell(sheet, (struct gpumon_sheet_cell){ .known = true, .number = number });
}

void gpumon_sheet_value(struct gpumon_sheet *sheet, struct gpumon_value value)
{
	add_cell(sheet, (struct gpumon_sheet_cell){ .known = value.known, .number = value.v });
}

void gpumon_sheet_ratio(struct gpumon_sheet *sheet, double ratio)
{
	add_cell(sheet, (struct gpumon_sheet_cell){ .known = true, .ratio = ratio });
}

static void add_line(struct gpumon_sheet *sheet, bool note, const char *format, va_list args)
{
	struct gpumon_sheet_line *line;
	char text[SENTENCE_BYTES];

	if (!sheet || sheet->failed)
		return;
	line = GPUMON_ARRAY_ADD(sheet->lines, sheet->lines_n, sheet->lines_room);
	if (!line) {
		sheet->failed = true;
		return;
	}
	vsnprintf(text, sizeof(text), format, args);
	line->note = note;
	line->text = keep_text(sheet, text);
}

void gpumon_sheet_found(struct gpumon_sheet *sheet, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(sheet, false, format, args);
	va_end(args);
}

void gpumon_sheet_note(struct gpumon_sheet *sheet, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(sheet, true, format, args);
	va_end(args);
}
