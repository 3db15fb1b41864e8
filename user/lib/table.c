// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "memory.h"
#include "text.h"
#include "table.h"

/* Indentation of a line below a row. */
#define BELOW_INDENT (GPUMON_TABLE_INDENT + 4)
/* Width of a name on the narrowest terminal. */
#define NAME_LEAST 8

#define BAR_COLUMNS 32
#define BAR_BYTES   (BAR_COLUMNS * 3 + 1)
#define EIGHTHS	    8

/* From so many columns of a terminal on, texts are whole; below, only their ends are shown. */
#define WIDE	    100
#define END_COLUMNS 16

struct gpumon_table *gpumon_table_new(const struct gpumon_term *term)
{
	struct gpumon_table *table = gpumon_calloc(1, sizeof(*table));

	table->term = term;
	table->pool = &table->own;
	return table;
}

void gpumon_table_free(struct gpumon_table *table)
{
	free(table->columns);
	free(table->cells);
	free(table->rows);
	gpumon_pool_clear(&table->own);
	free(table);
}

/* NULL stays NULL. */
static const char *keep_text(struct gpumon_table *table, const char *text)
{
	return text ? gpumon_pool_text(table->pool, text) : NULL;
}

void gpumon_table_name(struct gpumon_table *table, const char *key, const char *title)
{
	table->key = keep_text(table, key);
	table->title = keep_text(table, title);
}

static unsigned int flags_of(enum gpumon_cell_kind kind)
{
	switch (kind) {
	case GPUMON_CELL_TEXT:
		return GPUMON_COLUMN_END;
	case GPUMON_CELL_NAME:
		return GPUMON_COLUMN_NAME;
	case GPUMON_CELL_BAR:
		return 0;
	default:
		return GPUMON_COLUMN_RIGHT;
	}
}

void gpumon_table_typed(struct gpumon_table *table, const char *title, const char *key,
			enum gpumon_cell_kind kind)
{
	struct gpumon_table_column *column = GPUMON_GROW(table->columns, table->n_columns);

	column->title = keep_text(table, title);
	column->key = keep_text(table, key);
	column->kind = kind;
	column->flags = flags_of(kind);
}

void gpumon_table_column(struct gpumon_table *table, const char *title, unsigned int flags)
{
	gpumon_table_typed(table, title, NULL, GPUMON_CELL_TEXT);
	table->columns[table->n_columns - 1].flags = flags;
}

void gpumon_table_figure(struct gpumon_table *table, const char *title)
{
	struct gpumon_table_column *column = &table->columns[table->n_columns - 1];

	column->figure = title ? keep_text(table, title) : column->title;
}

size_t gpumon_table_find(const struct gpumon_table *table, const char *key)
{
	size_t i = 0;

	while (i < table->n_columns &&
	       (!table->columns[i].key || strcmp(table->columns[i].key, key) != 0))
		i++;
	return i;
}

/* --- cells */

static void add_cell(struct gpumon_table *table, struct gpumon_cell cell)
{
	if (!(table->n_cells % table->n_columns))
		GPUMON_GROW(table->rows, table->n_rows);
	*(struct gpumon_cell *)GPUMON_GROW(table->cells, table->n_cells) = cell;
}

static enum gpumon_cell_kind next_kind(const struct gpumon_table *table)
{
	return table->columns[table->n_cells % table->n_columns].kind;
}

void gpumon_table_text(struct gpumon_table *table, const char *text)
{
	add_cell(table, (struct gpumon_cell){ .kind = GPUMON_CELL_TEXT,
					      .known = text,
					      .text = keep_text(table, text) });
}

static void add_number(struct gpumon_table *table, enum gpumon_cell_kind kind,
		       struct gpumon_value value, bool estimate)
{
	add_cell(table, (struct gpumon_cell){ .kind = kind,
					      .known = value.known,
					      .estimate = estimate,
					      .number = value.v });
}

void gpumon_table_value(struct gpumon_table *table, struct gpumon_value value)
{
	enum gpumon_cell_kind kind = next_kind(table);

	add_number(table, kind == GPUMON_CELL_TEXT ? GPUMON_CELL_NUMBER : kind, value, false);
}

void gpumon_table_number(struct gpumon_table *table, uint64_t number)
{
	gpumon_table_value(table, gpumon_value_of(number));
}

void gpumon_table_ratio(struct gpumon_table *table, double ratio)
{
	add_cell(table,
		 (struct gpumon_cell){ .kind = next_kind(table), .known = true, .ratio = ratio });
}

void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns)
{
	add_number(table, GPUMON_CELL_NS, ns, table->estimate);
}

void gpumon_table_count(struct gpumon_table *table, uint64_t count)
{
	add_number(table, GPUMON_CELL_COUNT, gpumon_value_of(count), table->estimate);
}

void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_format_rate(text, sizeof(text), count, interval_ns));
}

void gpumon_table_percent(struct gpumon_table *table, uint64_t part, uint64_t whole)
{
	char text[GPUMON_TEXT_NUMBER];

	gpumon_table_text(table, gpumon_text_percent(text, sizeof(text), part, whole));
	table->cells[table->n_cells - 1].estimate = table->estimate;
}

void gpumon_table_cell(struct gpumon_table *table, struct gpumon_cell cell)
{
	cell.text = keep_text(table, cell.text);
	add_cell(table, cell);
}

void gpumon_table_estimate(struct gpumon_table *table, bool estimate)
{
	table->estimate = estimate;
}

void gpumon_table_colour(struct gpumon_table *table, const char *sequence)
{
	if (table->n_rows)
		table->rows[table->n_rows - 1].colour = sequence;
}

unsigned int gpumon_table_below_columns(const struct gpumon_term *term)
{
	return term->columns > BELOW_INDENT + 20 ? term->columns - BELOW_INDENT : 20;
}

void gpumon_table_below(struct gpumon_table *table, const char *text)
{
	struct gpumon_table_row *row;
	char *longer;

	if (!table->n_rows)
		return;
	if (!text)
		gpumon_memory_failed(0);
	row = &table->rows[table->n_rows - 1];
	if (!row->below) {
		row->below = keep_text(table, text);
		return;
	}
	longer = gpumon_asprintf("%s\n%*s%s", row->below, BELOW_INDENT, "", text);
	row->below = keep_text(table, longer);
	free(longer);
}

/* --- cells as texts */

/* What is more than nothing has a mark. */
static void draw_bar(char *buf, uint64_t number, uint64_t largest)
{
	static const char *const parts[EIGHTHS] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	bool utf8 = gpumon_term_utf8();
	unsigned int eighths;

	buf[0] = '\0';
	if (!number || !largest)
		return;
	eighths = (unsigned int)((double)number / (double)largest * BAR_COLUMNS * EIGHTHS);
	if (!eighths)
		eighths = 1;
	for (unsigned int i = 0; i < eighths / EIGHTHS; i++)
		strcat(buf, utf8 ? "█" : "#");
	if (utf8)
		strcat(buf, parts[eighths % EIGHTHS]);
	else if (eighths % EIGHTHS)
		strcat(buf, eighths % EIGHTHS < EIGHTHS / 2 ? "." : "-");
}

static void format_signed(char *buf, size_t len, uint64_t number)
{
	char digits[GPUMON_TEXT_NUMBER];
	bool negative = (int64_t)number < 0;

	gpumon_text_count(digits, sizeof(digits), negative ? 0 - number : number);
	snprintf(buf, len, "%s%s", negative ? "-" : "", digits);
}

/* A cell as text, in @buf of BAR_BYTES if it is no text. @largest: number of the longest bar */
static const char *format_cell(char *buf, const struct gpumon_cell *cell, uint64_t largest)
{
	struct gpumon_value value = { .v = cell->number, .known = cell->known };

	if (!cell->known)
		return "-";
	switch (cell->kind) {
	case GPUMON_CELL_TEXT:
	case GPUMON_CELL_NAME:
		return cell->text;
	case GPUMON_CELL_NUMBER:
		return gpumon_format_count(buf, BAR_BYTES, value);
	case GPUMON_CELL_COUNT:
		return gpumon_text_count(buf, BAR_BYTES, cell->number);
	case GPUMON_CELL_NS:
		return gpumon_format_ns(buf, BAR_BYTES, value);
	case GPUMON_CELL_BYTES:
		return gpumon_format_bytes(buf, BAR_BYTES, value);
	case GPUMON_CELL_SIGNED:
		format_signed(buf, BAR_BYTES, cell->number);
		break;
	case GPUMON_CELL_RATIO:
		snprintf(buf, BAR_BYTES, "%.2f", cell->ratio);
		break;
	case GPUMON_CELL_PERCENT:
		snprintf(buf, BAR_BYTES, "%.1f%%", cell->ratio);
		break;
	case GPUMON_CELL_BAR:
		draw_bar(buf, cell->number, largest);
		break;
	}
	return buf;
}

/* The end of a place in a source: "…functions.hpp:294". */
static const char *end_of(const char *text, char *buf, size_t len)
{
	unsigned int columns = gpumon_text_columns(text);

	if (columns <= END_COLUMNS)
		return text;
	while (columns >= END_COLUMNS)
		columns -= gpumon_text_character_columns(gpumon_text_next(&text));
	snprintf(buf, len, "…%s", text);
	return buf;
}

/* The largest number that has a bar in the rows that are printed. */
static uint64_t find_largest(const struct gpumon_table *table, size_t rows)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < rows * table->n_columns; i++) {
		if (table->columns[i % table->n_columns].kind == GPUMON_CELL_BAR &&
		    table->cells[i].number > largest)
			largest = table->cells[i].number;
	}
	return largest;
}

static const char *make_text(struct gpumon_table_layout *layout, size_t column,
			     const struct gpumon_cell *cell, uint64_t largest)
{
	bool narrow = layout->term->columns && layout->term->columns < WIDE;
	char buf[1 + BAR_BYTES];
	const char *text = format_cell(buf + 1, cell, largest);
	unsigned int width;

	if (narrow && layout->columns[column]->flags & GPUMON_COLUMN_END)
		text = end_of(text, buf + 1, BAR_BYTES);
	if (cell->estimate) {
		memmove(buf + 1, text, strlen(text) + 1);
		buf[0] = '~';
		text = buf;
	}
	text = gpumon_pool_text(&layout->pool, text);
	width = gpumon_text_columns(text);
	if (width > layout->widths[column])
		layout->widths[column] = width;
	layout->used[column] |= strcmp(text, "-") != 0;
	return text;
}

void gpumon_table_layout_init(struct gpumon_table_layout *layout, const struct gpumon_table *table,
			      size_t rows, const struct gpumon_term *term)
{
	uint64_t largest = find_largest(table, rows);
	size_t n = table->n_columns;

	*layout = (struct gpumon_table_layout){ .table = table, .term = term, .n_rows = rows };
	layout->columns = gpumon_calloc(n + 1, sizeof(*layout->columns));
	layout->widths = gpumon_calloc(n + 1, sizeof(*layout->widths));
	layout->used = gpumon_calloc(n + 1, sizeof(*layout->used));
	layout->texts = gpumon_calloc(rows * n + 1, sizeof(*layout->texts));
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_table_column *column = &table->columns[i];
		size_t to = layout->n_columns;

		if (!column->title || (column->kind == GPUMON_CELL_BAR && !term->tty))
			continue;
		layout->n_columns++;
		layout->columns[to] = column;
		layout->widths[to] = gpumon_text_columns(column->title);
		for (size_t row = 0; row < rows; row++)
			*gpumon_table_layout_text(layout, row, to) =
				make_text(layout, to, &table->cells[row * n + i], largest);
	}
}

void gpumon_table_layout_clear(struct gpumon_table_layout *layout)
{
	free(layout->columns);
	free(layout->widths);
	free(layout->used);
	free(layout->texts);
	gpumon_pool_clear(&layout->pool);
}

/* --- for people */

static void print_blanks(FILE *stream, unsigned int n)
{
	fprintf(stream, "%*s", (int)n, "");
}

static bool has_names(const struct gpumon_table_layout *layout)
{
	return layout->columns[layout->n_columns - 1]->flags & GPUMON_COLUMN_NAME;
}

static bool column_shown(const struct gpumon_table_layout *layout, size_t i)
{
	return layout->used[i] || !(layout->columns[i]->flags & GPUMON_COLUMN_OPTIONAL);
}

/* Shorten names to the room that the other columns leave. */
static void squeeze_names(struct gpumon_table_layout *layout)
{
	unsigned int used = GPUMON_TABLE_INDENT, columns = layout->term->columns;
	size_t last = layout->n_columns - 1, n = layout->n_rows;
	char **texts = gpumon_calloc(n + 1, sizeof(*texts));
	const char **names = gpumon_calloc(n + 1, sizeof(*names));

	for (size_t i = 0; i < last; i++)
		used += layout->widths[i] + 2;
	for (size_t row = 0; row < n; row++)
		names[row] = *gpumon_table_layout_text(layout, row, last);
	gpumon_text_squeeze_rows(
		names, n, columns > used + NAME_LEAST ? columns - used : NAME_LEAST,
		(layout->columns[last]->flags & GPUMON_COLUMN_PHRASE) == GPUMON_COLUMN_NAME, texts);
	for (size_t row = 0; row < n; row++) {
		*gpumon_table_layout_text(layout, row, last) =
			gpumon_pool_text(&layout->pool, texts[row]);
		free(texts[row]);
	}
	free(texts);
	free(names);
}

/*
 * Find the columns from @from on that fit beside the keys, at least one. Returns the next column.
 */
static size_t columns_that_fit(const struct gpumon_table_layout *layout, size_t keys, size_t from)
{
	unsigned int used = 0, columns = layout->term->columns;
	size_t i, n = 0;

	for (i = 0; i < keys; i++)
		used += column_shown(layout, i) ? layout->widths[i] + 1 : 0;
	for (i = from; i < layout->n_columns; i++) {
		if (!column_shown(layout, i))
			continue;
		used += layout->widths[i] + 1;
		/* The last column needs no trailing blanks. */
		if (n && (layout->columns[i]->flags & GPUMON_COLUMN_BELOW) && columns &&
		    used - 1 > columns)
			break;
		n++;
	}
	return i;
}

/* Print titles or the texts of a row, of the keys and of the columns from @from to @to. */
static void print_cells(const struct gpumon_table_layout *layout, const char *const *texts,
			size_t keys, size_t from, size_t to, FILE *stream)
{
	unsigned int blanks = 0, between = has_names(layout) ? 2 : 1;

	for (size_t i = 0; i < to; i++) {
		const struct gpumon_table_column *column = layout->columns[i];
		const char *text = texts ? texts[i] : column->title;
		unsigned int pad;

		if ((i >= keys && i < from) || !column_shown(layout, i))
			continue;
		if (!*text) {
			blanks += layout->widths[i] + between;
			continue;
		}
		pad = column->flags & GPUMON_COLUMN_NAME ?
			      0 :
			      layout->widths[i] - gpumon_text_columns(text);
		print_blanks(stream, blanks + (column->flags & GPUMON_COLUMN_RIGHT ? pad : 0));
		gpumon_text_plain(stream, text);
		/* No trailing blanks at the end of a line. */
		blanks = (column->flags & GPUMON_COLUMN_RIGHT ? 0 : pad) + between;
	}
}

static void print_block(const struct gpumon_table_layout *layout, size_t keys, size_t from,
			size_t to, FILE *stream)
{
	unsigned int indent = has_names(layout) ? GPUMON_TABLE_INDENT : 0;
	const char *dim = has_names(layout) ? gpumon_term_dim(layout->term) : "";
	const char *reset = gpumon_term_reset(layout->term);

	print_blanks(stream, indent);
	fputs(dim, stream);
	print_cells(layout, NULL, keys, from, to, stream);
	fprintf(stream, "%s\n", *dim ? reset : "");
	for (size_t i = 0; i < layout->n_rows; i++) {
		const struct gpumon_table_row *row = &layout->table->rows[i];
		bool coloured = row->colour && *row->colour;

		print_blanks(stream, indent);
		fputs(coloured ? row->colour : "", stream);
		print_cells(layout, gpumon_table_layout_text(layout, i, 0), keys, from, to, stream);
		fprintf(stream, "%s\n", coloured ? reset : "");
		if (!row->below)
			continue;
		print_blanks(stream, BELOW_INDENT);
		fprintf(stream, "%s%s%s\n", gpumon_term_dim(layout->term), row->below, reset);
	}
}

static int print_rows(const struct gpumon_table *table, size_t rows, const struct gpumon_term *term,
		      FILE *stream)
{
	size_t keys = 0, from, to;
	struct gpumon_table_layout layout;

	/* An incomplete last row would be read beyond its end. */
	if (!table->n_columns || table->n_cells % table->n_columns)
		return -1;
	gpumon_table_layout_init(&layout, table, rows, term);
	if (has_names(&layout) && term->columns)
		squeeze_names(&layout);
	while (keys < layout.n_columns && (layout.columns[keys]->flags & GPUMON_COLUMN_KEY))
		keys++;
	from = keys;
	do {
		to = columns_that_fit(&layout, keys, from);
		print_block(&layout, keys, from, to, stream);
		from = to;
	} while (from < layout.n_columns);
	gpumon_table_layout_clear(&layout);
	return 0;
}

int gpumon_table_print(struct gpumon_table *table, FILE *stream)
{
	int ret = print_rows(table, table->n_rows, table->term, stream);

	gpumon_table_free(table);
	return ret;
}

int gpumon_table_show(const struct gpumon_table *table, const struct gpumon_term *term,
		      FILE *stream)
{
	size_t rows = table->n_rows;
	char text[GPUMON_TEXT_NUMBER];
	uint64_t more;

	if (table->limit && rows > table->limit)
		rows = table->limit;
	if (table->title && *table->title)
		fprintf(stream, "%s%s%s\n", gpumon_term_bold(term), table->title,
			gpumon_term_reset(term));
	if (print_rows(table, rows, term, stream))
		return -1;
	more = table->n_rows - rows + table->left_out;
	if (more)
		fprintf(stream, "… and %s more%s\n", gpumon_text_count(text, sizeof(text), more),
			table->n_rows > rows ? ", see --json" : "");
	fputc('\n', stream);
	return 0;
}

/* --- for programs */

struct json_object *gpumon_cell_json(const struct gpumon_cell *cell)
{
	switch (cell->kind) {
	case GPUMON_CELL_TEXT:
	case GPUMON_CELL_NAME:
		return gpumon_json_string(cell->text);
	case GPUMON_CELL_SIGNED:
		return json_object_new_int64((int64_t)cell->number);
	case GPUMON_CELL_RATIO:
	case GPUMON_CELL_PERCENT:
		return json_object_new_double(cell->ratio);
	default:
		return json_object_new_uint64(cell->number);
	}
}

void gpumon_cell_json_add(struct json_object *object, const char *key,
			  const struct gpumon_cell *cell)
{
	if (cell->known)
		gpumon_json_add(object, key, gpumon_cell_json(cell));
	else
		gpumon_json_add_null(object, key);
}

struct json_object *gpumon_table_json(const struct gpumon_table *table)
{
	struct json_object *object = gpumon_json_object(), *rows = gpumon_json_array();
	struct json_object *row = NULL;

	for (size_t i = 0; i < table->n_cells; i++) {
		const struct gpumon_table_column *column = &table->columns[i % table->n_columns];

		if (column == table->columns) {
			row = gpumon_json_object();
			gpumon_json_append(rows, row);
		}
		if (column->key)
			gpumon_cell_json_add(row, column->key, &table->cells[i]);
	}
	gpumon_json_add(object, "rows", rows);
	gpumon_json_add_u64(object, "rows_left_out", table->left_out);
	return object;
}
