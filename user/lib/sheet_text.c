// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A sheet for people. */
#include <inttypes.h>
#include <langinfo.h>
#include <string.h>

#include "sheet_inner.h"
#include "output_text.h"
#include "table.h"

#define BAR_COLUMNS 32
#define BAR_BYTES   (BAR_COLUMNS * 3 + 1)
#define EIGHTHS	    8

/* Columns of a terminal from which on texts are not shortened, and to what they are. */
#define WIDE	     100
#define TEXT_COLUMNS 16

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

static int print_table(const struct gpumon_sheet_table *sheet, const struct gpumon_term *term,
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
	if (!sheet || sheet->failed)
		return -1;
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		if (sheet->tables[i].title && gpumon_sheet_rows(&sheet->tables[i]) &&
		    print_table(&sheet->tables[i], term, out))
			return -1;
	print_lines(sheet, false, term, out);
	print_lines(sheet, true, term, out);
	return 0;
}
