// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "memory.h"
#include "files.h"
#include "sheet_file.h"
#include "sheet_inner.h"
#include "text.h"

#define FORMAT	  "gpumon-probe"
#define VERSION	  1
#define SIZE_MOST (256 << 20)

static const char *const kind_words[] = {
	[GPUMON_SHEET_TEXT] = "text",	    [GPUMON_SHEET_NAME] = "name",
	[GPUMON_SHEET_NUMBER] = "number",   [GPUMON_SHEET_COUNT] = "count",
	[GPUMON_SHEET_NS] = "ns",	    [GPUMON_SHEET_BYTES] = "bytes",
	[GPUMON_SHEET_SIGNED] = "signed",   [GPUMON_SHEET_RATIO] = "ratio",
	[GPUMON_SHEET_PERCENT] = "percent", [GPUMON_SHEET_BAR] = "bar",
};

#define KINDS (sizeof(kind_words) / sizeof(kind_words[0]))

static struct json_object *column_json(const struct gpumon_sheet_column *column)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "key", column->key);
	gpumon_json_add_string(object, "title", column->title);
	gpumon_json_add_string(object, "kind", kind_words[column->kind]);
	gpumon_json_add_string(object, "figure", column->figure);
	return object;
}

static struct json_object *cell_json(const struct gpumon_sheet_cell *cell,
				     enum gpumon_sheet_kind kind)
{
	switch (kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_NAME:
		return gpumon_json_string(cell->text);
	case GPUMON_SHEET_SIGNED:
		return json_object_new_int64((int64_t)cell->number);
	case GPUMON_SHEET_RATIO:
	case GPUMON_SHEET_PERCENT:
		return json_object_new_double(cell->ratio);
	default:
		return json_object_new_uint64(cell->number);
	}
}

/* All cells, row after row; null for what is not known. */
static struct json_object *cells_json(const struct gpumon_sheet_table *table)
{
	uint32_t n = gpumon_sheet_rows(table) * table->columns_n;
	struct json_object *array = gpumon_json_array();

	for (uint32_t i = 0; i < n; i++) {
		if (table->cells[i].known)
			gpumon_json_append(array,
					   cell_json(&table->cells[i],
						     table->columns[i % table->columns_n].kind));
		else if (json_object_array_add(array, NULL))
			gpumon_memory_failed(0);
	}
	return array;
}

static struct json_object *table_json(const struct gpumon_sheet_table *table)
{
	struct json_object *object = gpumon_json_object(), *columns = gpumon_json_array();

	gpumon_json_add_string(object, "key", table->key);
	gpumon_json_add_string(object, "title", table->title);
	gpumon_json_add_u64(object, "rows_shown", table->limit);
	gpumon_json_add_u64(object, "rows_left_out", table->left_out);
	for (uint32_t i = 0; i < table->columns_n; i++)
		gpumon_json_append(columns, column_json(&table->columns[i]));
	gpumon_json_add(object, "columns", columns);
	gpumon_json_add(object, "cells", cells_json(table));
	return object;
}

static struct json_object *sheet_json(const struct gpumon_sheet *sheet)
{
	struct json_object *object = gpumon_json_object(), *tables = gpumon_json_array();
	struct json_object *found = gpumon_json_array(), *notes = gpumon_json_array();

	gpumon_json_add_string(object, "format", FORMAT);
	gpumon_json_add_u64(object, "version", VERSION);
	gpumon_json_add_string(object, "tool", sheet->tool);
	for (uint32_t i = 0; i < sheet->lines_n; i++)
		gpumon_json_append(sheet->lines[i].note ? notes : found,
				   gpumon_json_string(sheet->lines[i].text));
	for (uint32_t i = 0; i < sheet->tables_n; i++)
		gpumon_json_append(tables, table_json(&sheet->tables[i]));
	gpumon_json_add(object, "found", found);
	gpumon_json_add(object, "notes", notes);
	gpumon_json_add(object, "tables", tables);
	return object;
}

static int cannot_write(int error, struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
				"cannot write " GPUMON_SHEET_FILE " into the capture: %s",
				strerror(error));
}

int gpumon_sheet_write(const struct gpumon_sheet *sheet, int directory, struct gpumon_error *err)
{
	struct json_object *object = sheet_json(sheet);
	FILE *out = NULL;
	int fd, ret;

	fd = openat(directory, GPUMON_SHEET_FILE,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		out = fdopen(fd, "we");
	if (!out) {
		ret = cannot_write(errno, err);
		json_object_put(object);
		if (fd >= 0)
			close(fd);
		return ret;
	}
	errno = 0;
	ret = gpumon_json_print(object, true, out);
	if (fclose(out) || ret) {
		ret = cannot_write(errno ? errno : EIO, err);
		unlinkat(directory, GPUMON_SHEET_FILE, 0);
	}
	return ret;
}

static struct json_object *get_array(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_is_type(value, json_type_array) ? value : NULL;
}

/* False: it is neither a text for people nor null, or missing. */
static bool get_text(struct json_object *object, const char *key, const char **text)
{
	struct json_object *value;
	const char *at, *before;
	uint32_t code;

	*text = NULL;
	if (!json_object_object_get_ex(object, key, &value))
		return false;
	if (!value)
		return true;
	if (!json_object_is_type(value, json_type_string))
		return false;
	*text = at = json_object_get_string(value);
	do {
		before = at;
		code = gpumon_text_next(&at);
	} while (code && (code != '?' || *before == '?'));
	return !code;
}

static bool get_number(struct json_object *object, const char *key, uint64_t most, uint64_t *number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	*number = json_object_get_uint64(value);
	return *number <= most;
}

static bool read_column(struct gpumon_sheet *sheet, struct json_object *object)
{
	const char *key, *title, *figure, *word;

	if (!get_text(object, "key", &key) || !get_text(object, "title", &title) ||
	    !get_text(object, "figure", &figure) || !get_text(object, "kind", &word) || !word)
		return false;
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (strcmp(word, kind_words[kind]) != 0)
			continue;
		gpumon_sheet_column(sheet, title, key, (enum gpumon_sheet_kind)kind);
		if (figure)
			gpumon_sheet_figure(sheet, figure);
		return true;
	}
	return false;
}

static bool read_cell(struct gpumon_sheet *sheet, enum gpumon_sheet_kind kind,
		      struct json_object *cell)
{
	enum json_type type = json_object_get_type(cell);

	switch (kind) {
	case GPUMON_SHEET_TEXT:
	case GPUMON_SHEET_NAME:
		if (cell && type != json_type_string)
			return false;
		gpumon_sheet_text(sheet, cell ? json_object_get_string(cell) : NULL);
		return true;
	case GPUMON_SHEET_RATIO:
	case GPUMON_SHEET_PERCENT:
		if (type != json_type_double && type != json_type_int)
			return false;
		gpumon_sheet_ratio(sheet, json_object_get_double(cell));
		return true;
	default:
		if (cell && type != json_type_int)
			return false;
		gpumon_sheet_value(
			sheet,
			(struct gpumon_value){ .known = cell,
					       .v = kind == GPUMON_SHEET_SIGNED ?
							    (uint64_t)json_object_get_int64(cell) :
							    json_object_get_uint64(cell) });
		return true;
	}
}

/* A table with a title has something to print, also where there are no bars. */
static bool is_printable(const struct gpumon_sheet_table *table)
{
	bool is = !table->title;

	for (uint32_t i = 0; i < table->columns_n; i++)
		is |= table->columns[i].title && table->columns[i].kind != GPUMON_SHEET_BAR;
	return is && table->columns_n;
}

static bool read_table(struct gpumon_sheet *sheet, struct json_object *object)
{
	struct json_object *columns = get_array(object, "columns"),
			   *cells = get_array(object, "cells");
	const struct gpumon_sheet_table *table;
	const char *key, *title;
	uint64_t shown, left_out;

	if (!columns || !cells || !get_text(object, "key", &key) ||
	    !get_text(object, "title", &title) ||
	    !get_number(object, "rows_shown", UINT32_MAX, &shown) ||
	    !get_number(object, "rows_left_out", UINT64_MAX, &left_out))
		return false;
	gpumon_sheet_table(sheet, key, title);
	gpumon_sheet_limit(sheet, (uint32_t)shown);
	gpumon_sheet_left_out(sheet, left_out);
	for (size_t i = 0; i < json_object_array_length(columns); i++)
		if (!read_column(sheet, json_object_array_get_idx(columns, i)))
			return false;
	table = &sheet->tables[sheet->tables_n - 1];
	if (!is_printable(table) || json_object_array_length(cells) % table->columns_n)
		return false;
	for (size_t i = 0; i < json_object_array_length(cells); i++)
		if (!read_cell(sheet, table->columns[i % table->columns_n].kind,
			       json_object_array_get_idx(cells, i)))
			return false;
	return true;
}

static bool read_lines(struct gpumon_sheet *sheet, struct json_object *lines, bool notes)
{
	struct json_object *line;

	for (size_t i = 0; lines && i < json_object_array_length(lines); i++) {
		line = json_object_array_get_idx(lines, i);
		if (!json_object_is_type(line, json_type_string))
			return false;
		if (notes)
			gpumon_sheet_note(sheet, "%s", json_object_get_string(line));
		else
			gpumon_sheet_found(sheet, "%s", json_object_get_string(line));
	}
	return lines;
}

static bool read_sheet(struct gpumon_sheet *sheet, struct json_object *root)
{
	struct json_object *tables = get_array(root, "tables");
	const char *format, *tool;
	uint64_t version;

	if (!tables || !get_text(root, "format", &format) || !format ||
	    strcmp(format, FORMAT) != 0 || !get_number(root, "version", VERSION, &version) ||
	    !get_text(root, "tool", &tool))
		return false;
	gpumon_sheet_set_tool(sheet, tool);
	for (size_t i = 0; i < json_object_array_length(tables); i++)
		if (!read_table(sheet, json_object_array_get_idx(tables, i)))
			return false;
	return read_lines(sheet, get_array(root, "found"), false) &&
	       read_lines(sheet, get_array(root, "notes"), true);
}

int gpumon_sheet_read(const char *directory, struct gpumon_sheet **sheet)
{
	char path[PATH_MAX], *text;
	struct json_object *root;
	int ret = 0;

	*sheet = NULL;
	snprintf(path, sizeof(path), "%s/" GPUMON_SHEET_FILE, directory);
	text = gpumon_read_file(AT_FDCWD, path, SIZE_MOST);
	if (!text && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	root = text ? json_tokener_parse(text) : NULL;
	free(text);
	*sheet = gpumon_sheet_new();
	if (!json_object_is_type(root, json_type_object) || !read_sheet(*sheet, root)) {
		gpumon_sheet_free(*sheet);
		*sheet = gpumon_sheet_new();
		gpumon_sheet_note(*sheet, GPUMON_SHEET_FILE
				  " cannot be read: what programs in kernels gathered is missing");
		ret = 1;
	}
	json_object_put(root);
	return ret;
}
