// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "memory.h"
#include "text.h"
#include "sheet_inner.h"
#include "table.h"

#define SENTENCE_BYTES 1024

#define BAR_COLUMNS 32
#define BAR_BYTES   (BAR_COLUMNS * 3 + 1)
#define EIGHTHS	    8

/* Columns of a terminal from which on texts are not shortened, and to what they are. */
#define WIDE	     100
#define TEXT_COLUMNS 16

struct gpumon_sheet *gpumon_sheet_new(void)
{
	return gpumon_calloc(1, sizeof(struct gpumon_sheet));
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

/* NULL stays NULL. */
static const char *keep_text(struct gpumon_sheet *sheet, const char *text)
{
	return text ? gpumon_pool_text(&sheet->pool, text) : NULL;
}

void gpumon_sheet_set_tool(struct gpumon_sheet *sheet, const char *tool)
{
	sheet->tool = keep_text(sheet, tool);
}

const char *gpumon_sheet_tool(const struct gpumon_sheet *sheet)
{
	return sheet ? sheet->tool : NULL;
}

static struct gpumon_sheet_table *current(const struct gpumon_sheet *sheet)
{
	return sheet->tables_n ? &sheet->tables[sheet->tables_n - 1] : NULL;
}

void gpumon_sheet_table(struct gpumon_sheet *sheet, const char *key, const char *title)
{
	struct gpumon_sheet_table *table =
		GPUMON_ARRAY_ADD(sheet->tables, sheet->tables_n, sheet->tables_room);

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

	if (table)
		*(struct gpumon_sheet_cell *)GPUMON_ARRAY_ADD(table->cells, table->cells_n,
							      table->cells_room) = value;
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
	struct gpumon_sheet_line *line =
		GPUMON_ARRAY_ADD(sheet->lines, sheet->lines_n, sheet->lines_room);
	char text[SENTENCE_BYTES];

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

/* --- for people */

static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* What is more than nothing has a mark. */
static const char *draw_bar(char *buf, uint64_t number, uint64_t largest)
{
	static const char *const parts[EIGHTHS] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	bool utf8 = is_utf8();
	unsigned int eighths;

	buf[0] = '\0';
	if (!number || !largest)
		return buf;
	eighths = (unsigned int)((double)number / (double)largest * BAR_COLUMNS * EIGHTHS);
	if (!eighths)
		eighths = 1;
	for (unsigned int i = 0; i < eighths / EIGHTHS; i++)
		strcat(buf, utf8 ? "█" : "#");
	if (utf8)
		strcat(buf, parts[eighths % EIGHTHS]);
	else if (eighths % EIGHTHS)
		strcat(buf, eighths % EIGHTHS < EIGHTHS / 2 ? "." : "-");
	return buf;
}

static bool is_shown(const struct gpumon_sheet_column *column, const struct gpumon_term *term)
{
	return column->title && (column->kind != GPUMON_SHEET_BAR || term->tty);
}

static unsigned int column_flags(enum gpumon_sheet_kind kind)
{
	switch (kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_BAR:
		return 0;
	case GPUMON_SHEET_NAME:
		return GPUMON_COLUMN_NAME;
	default:
		return GPUMON_COLUMN_RIGHT;
	}
}

static void print_signed(struct gpumon_table *table, uint64_t number)
{
	char digits[GPUMON_TEXT_NUMBER], text[1 + GPUMON_TEXT_NUMBER];
	bool negative = (int64_t)number < 0;

	gpumon_text_count(digits, sizeof(digits), negative ? 0 - number : number);
	snprintf(text, sizeof(text), "%s%s", negative ? "-" : "", digits);
	gpumon_table_text(table, text);
}

void gpumon_sheet_print_cell(struct gpumon_table *table, const struct gpumon_sheet_cell *cell,
			     enum gpumon_sheet_kind kind, uint64_t largest)
{
	struct gpumon_value value = { .v = cell->number, .known = cell->known };
	char text[BAR_BYTES];

	if (!cell->known) {
		gpumon_table_text(table, NULL);
		return;
	}
	switch (kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_NAME:
		gpumon_table_text(table, cell->text);
		return;
	case GPUMON_SHEET_NUMBER:
		gpumon_table_value(table, value);
		return;
	case GPUMON_SHEET_COUNT:
		gpumon_table_count(table, cell->number);
		return;
	case GPUMON_SHEET_NS:
		gpumon_table_ns(table, value);
		return;
	case GPUMON_SHEET_BYTES:
		gpumon_table_text(table, gpumon_format_bytes(text, GPUMON_FORMAT_LEN, value));
		return;
	case GPUMON_SHEET_SIGNED:
		print_signed(table, cell->number);
		return;
	case GPUMON_SHEET_RATIO:
		snprintf(text, sizeof(text), "%.2f", cell->ratio);
		break;
	case GPUMON_SHEET_PERCENT:
		snprintf(text, sizeof(text), "%.1f%%", cell->ratio);
		break;
	case GPUMON_SHEET_BAR:
		draw_bar(text, cell->number, largest);
		break;
	}
	gpumon_table_text(table, text);
}

/* The largest number that has a bar in the rows that are printed. */
static uint64_t find_largest(const struct gpumon_sheet_table *sheet, uint32_t rows)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < rows * sheet->columns_n; i++) {
		if (sheet->columns[i % sheet->columns_n].kind == GPUMON_SHEET_BAR &&
		    sheet->cells[i].number > largest)
			largest = sheet->cells[i].number;
	}
	return largest;
}

/* The end of a place in a source tells most: "…functions.hpp:294". */
static void print_end(struct gpumon_table *table, const char *text)
{
	unsigned int columns = gpumon_text_columns(text);
	char end[TEXT_COLUMNS * 4 + sizeof("…")];

	if (columns <= TEXT_COLUMNS) {
		gpumon_table_text(table, text);
		return;
	}
	while (columns >= TEXT_COLUMNS)
		columns -= gpumon_text_character_columns(gpumon_text_next(&text));
	snprintf(end, sizeof(end), "…%s", text);
	gpumon_table_text(table, end);
}

static int print_rows(const struct gpumon_sheet_table *sheet, uint32_t rows,
		      const struct gpumon_term *term, FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);
	uint64_t largest = find_largest(sheet, rows);
	bool is_narrow = term->columns && term->columns < WIDE;
	const struct gpumon_sheet_column *column;
	const struct gpumon_sheet_cell *cell;
	uint32_t i;

	for (i = 0; i < sheet->columns_n; i++) {
		column = &sheet->columns[i];
		if (is_shown(column, term))
			gpumon_table_column(table, column->title, column_flags(column->kind));
	}
	for (uint32_t row = 0; row < rows; row++) {
		for (i = 0; i < sheet->columns_n; i++) {
			column = &sheet->columns[i];
			if (!is_shown(column, term))
				continue;
			cell = &sheet->cells[row * sheet->columns_n + i];
			if (is_narrow && column->kind == GPUMON_SHEET_TEXT && cell->known)
				print_end(table, cell->text);
			else
				gpumon_sheet_print_cell(table, cell, column->kind, largest);
		}
	}
	return gpumon_table_print(table, out);
}

static int print_table_text(const struct gpumon_sheet_table *sheet, const struct gpumon_term *term,
			    FILE *out)
{
	uint32_t all = gpumon_sheet_rows(sheet), rows = all;
	char text[GPUMON_TEXT_NUMBER];
	uint64_t more;

	if (sheet->limit && rows > sheet->limit)
		rows = sheet->limit;
	if (*sheet->title)
		fprintf(out, "%s%s%s\n", gpumon_term_bold(term), sheet->title,
			gpumon_term_reset(term));
	if (print_rows(sheet, rows, term, out))
		return -1;
	more = all - rows + sheet->left_out;
	if (more)
		fprintf(out, "… and %s more%s\n", gpumon_text_count(text, sizeof(text), more),
			all > rows ? ", see --json" : "");
	fputc('\n', out);
	return 0;
}

/* A line goes on below, two columns in. A word that is longer than a line stays whole. */
static void print_sentence(const char *text, unsigned int columns, FILE *out)
{
	unsigned int at = 0;

	while (*text) {
		const char *end = text;
		unsigned int wide = 0;
		char code[4];

		while (*end && *end != ' ')
			wide += gpumon_text_character_columns(gpumon_text_next(&end));
		/* Behind the last word there is a point. */
		if (columns && at && at + 1 + wide + !*end > columns) {
			fputs("\n  ", out);
			at = 2;
		} else if (at) {
			fputc(' ', out);
			at++;
		}
		while (text < end)
			fwrite(code, 1, gpumon_text_encode(code, gpumon_text_next(&text)), out);
		at += wide;
		text += *text == ' ';
	}
	fputc('.', out);
}

static void print_lines(const struct gpumon_sheet *sheet, bool notes,
			const struct gpumon_term *term, FILE *out)
{
	for (uint32_t i = 0; i < sheet->lines_n; i++) {
		if (sheet->lines[i].note != notes)
			continue;
		fputs(notes ? "" : gpumon_term_bold(term), out);
		print_sentence(sheet->lines[i].text, term->columns, out);
		fprintf(out, "%s\n", notes ? "" : gpumon_term_reset(term));
	}
}

int gpumon_sheet_print(const struct gpumon_sheet *sheet, const struct gpumon_term *term, FILE *out)
{
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		if (sheet->tables[i].title && gpumon_sheet_rows(&sheet->tables[i]) &&
		    print_table_text(&sheet->tables[i], term, out))
			return -1;
	print_lines(sheet, false, term, out);
	print_lines(sheet, true, term, out);
	return 0;
}

/* --- for programs */

void gpumon_sheet_cell_json(struct json_object *object, const struct gpumon_sheet_column *column,
			    const struct gpumon_sheet_cell *cell)
{
	if (!cell->known) {
		gpumon_json_add_null(object, column->key);
		return;
	}
	switch (column->kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_NAME:
		gpumon_json_add_string(object, column->key, cell->text);
		break;
	case GPUMON_SHEET_SIGNED:
		gpumon_json_add_i64(object, column->key, (int64_t)cell->number);
		break;
	case GPUMON_SHEET_RATIO:
	case GPUMON_SHEET_PERCENT:
		gpumon_json_add(object, column->key, json_object_new_double(cell->ratio));
		break;
	default:
		gpumon_json_add_u64(object, column->key, cell->number);
	}
}

static struct json_object *row_json(const struct gpumon_sheet_table *table, uint32_t row)
{
	struct json_object *object = gpumon_json_object();

	for (uint32_t i = 0; i < table->columns_n; i++)
		if (table->columns[i].key)
			gpumon_sheet_cell_json(object, &table->columns[i],
					       &table->cells[row * table->columns_n + i]);
	return object;
}

static struct json_object *table_json(const struct gpumon_sheet_table *table)
{
	struct json_object *object = gpumon_json_object(), *rows = gpumon_json_array();

	for (uint32_t i = 0; i < gpumon_sheet_rows(table); i++)
		gpumon_json_append(rows, row_json(table, i));
	gpumon_json_add(object, "rows", rows);
	gpumon_json_add_u64(object, "rows_left_out", table->left_out);
	return object;
}

static struct json_object *lines_json(const struct gpumon_sheet *sheet, bool notes)
{
	struct json_object *array = gpumon_json_array();

	for (uint32_t i = 0; i < sheet->lines_n; i++)
		if (sheet->lines[i].note == notes)
			gpumon_json_append(array, gpumon_json_string(sheet->lines[i].text));
	return array;
}

struct json_object *gpumon_sheet_json(const struct gpumon_sheet *sheet)
{
	struct json_object *object = gpumon_json_object(), *tables = gpumon_json_object();

	gpumon_json_add(object, "found", lines_json(sheet, false));
	gpumon_json_add(object, "notes", lines_json(sheet, true));
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		if (sheet->tables[i].key)
			gpumon_json_add(tables, sheet->tables[i].key,
					table_json(&sheet->tables[i]));
	gpumon_json_add(object, "tables", tables);
	gpumon_json_add_string(object, "tool", sheet->tool);
	return object;
}
