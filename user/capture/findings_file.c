// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "findings.h"
#include "lib/files.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/text.h"

#define FORMAT	  "gpumon-probe"
#define VERSION	  1
#define SIZE_MOST (256 << 20)

static const char *const kind_words[] = {
	[GPUMON_CELL_TEXT] = "text",	   [GPUMON_CELL_NAME] = "name",
	[GPUMON_CELL_NUMBER] = "number",   [GPUMON_CELL_COUNT] = "count",
	[GPUMON_CELL_NS] = "ns",	   [GPUMON_CELL_BYTES] = "bytes",
	[GPUMON_CELL_SIGNED] = "signed",   [GPUMON_CELL_RATIO] = "ratio",
	[GPUMON_CELL_PERCENT] = "percent", [GPUMON_CELL_BAR] = "bar",
};

#define KINDS (sizeof(kind_words) / sizeof(kind_words[0]))

static struct json_object *column_json(const struct gpumon_table_column *column)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "key", column->key);
	gpumon_json_add_string(object, "title", column->title);
	gpumon_json_add_string(object, "kind", kind_words[column->kind]);
	gpumon_json_add_string(object, "figure", column->figure);
	return object;
}

/* All cells, row after row; null for what is not known. */
static struct json_object *cells_json(const struct gpumon_table *table)
{
	struct json_object *array = gpumon_json_array();

	for (size_t i = 0; i < table->n_cells; i++) {
		if (table->cells[i].known)
			gpumon_json_append(array, gpumon_cell_json(&table->cells[i]));
		else if (json_object_array_add(array, NULL))
			gpumon_memory_failed(0);
	}
	return array;
}

static struct json_object *table_json(const struct gpumon_table *table)
{
	struct json_object *object = gpumon_json_object(), *columns = gpumon_json_array();

	gpumon_json_add_string(object, "key", table->key);
	gpumon_json_add_string(object, "title", table->title);
	gpumon_json_add_u64(object, "rows_shown", table->limit);
	gpumon_json_add_u64(object, "rows_left_out", table->left_out);
	for (size_t i = 0; i < table->n_columns; i++)
		gpumon_json_append(columns, column_json(&table->columns[i]));
	gpumon_json_add(object, "columns", columns);
	gpumon_json_add(object, "cells", cells_json(table));
	return object;
}

static struct json_object *findings_json(const struct gpumon_findings *findings)
{
	struct json_object *object = gpumon_json_object(), *tables = gpumon_json_array();

	for (size_t i = 0; i < findings->n_tables; i++)
		gpumon_json_append(tables, table_json(findings->tables[i]));
	gpumon_json_add_string(object, "format", FORMAT);
	gpumon_json_add_u64(object, "version", VERSION);
	gpumon_json_add_string(object, "tool", findings->tool);
	gpumon_json_add(object, "found", gpumon_json_strings(findings->found, findings->n_found));
	gpumon_json_add(object, "notes", gpumon_json_strings(findings->notes, findings->n_notes));
	gpumon_json_add(object, "tables", tables);
	return object;
}

static int cannot_write(int error, struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
				"cannot write " GPUMON_FINDINGS_FILE " into the capture: %s",
				strerror(error));
}

int gpumon_findings_write(const struct gpumon_findings *findings, int directory,
			  struct gpumon_error *err)
{
	struct json_object *object = findings_json(findings);
	FILE *out = NULL;
	int fd, ret;

	fd = openat(directory, GPUMON_FINDINGS_FILE,
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
		unlinkat(directory, GPUMON_FINDINGS_FILE, 0);
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

static bool read_column(struct gpumon_table *table, struct json_object *object)
{
	const char *key, *title, *figure, *word;

	if (!get_text(object, "key", &key) || !get_text(object, "title", &title) ||
	    !get_text(object, "figure", &figure) || !get_text(object, "kind", &word) || !word)
		return false;
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (strcmp(word, kind_words[kind]) != 0)
			continue;
		gpumon_table_typed(table, title, key, (enum gpumon_cell_kind)kind);
		if (figure)
			gpumon_table_figure(table, figure);
		return true;
	}
	return false;
}

static bool read_cell(struct gpumon_table *table, enum gpumon_cell_kind kind,
		      struct json_object *cell)
{
	enum json_type type = json_object_get_type(cell);

	switch (kind) {
	case GPUMON_CELL_TEXT:
	case GPUMON_CELL_NAME:
		if (cell && type != json_type_string)
			return false;
		gpumon_table_text(table, cell ? json_object_get_string(cell) : NULL);
		return true;
	case GPUMON_CELL_RATIO:
	case GPUMON_CELL_PERCENT:
		if (type != json_type_double && type != json_type_int)
			return false;
		gpumon_table_ratio(table, json_object_get_double(cell));
		return true;
	default:
		if (cell && type != json_type_int)
			return false;
		gpumon_table_value(
			table,
			(struct gpumon_value){ .known = cell,
					       .v = kind == GPUMON_CELL_SIGNED ?
							    (uint64_t)json_object_get_int64(cell) :
							    json_object_get_uint64(cell) });
		return true;
	}
}

/* A table with a title has something to print, also where there are no bars. */
static bool is_printable(const struct gpumon_table *table)
{
	bool is = !table->title;

	for (size_t i = 0; i < table->n_columns; i++)
		is |= table->columns[i].title && table->columns[i].kind != GPUMON_CELL_BAR;
	return is && table->n_columns;
}

static bool read_table(struct gpumon_findings *findings, struct json_object *object)
{
	struct json_object *columns = get_array(object, "columns"),
			   *cells = get_array(object, "cells");
	uint64_t limit, left_out;
	const char *key, *title;
	struct gpumon_table *table;

	if (!columns || !cells || !get_text(object, "key", &key) ||
	    !get_text(object, "title", &title) ||
	    !get_number(object, "rows_shown", UINT32_MAX, &limit) ||
	    !get_number(object, "rows_left_out", UINT64_MAX, &left_out))
		return false;
	table = gpumon_findings_table(findings, key, title);
	table->limit = (uint32_t)limit;
	table->left_out = left_out;
	for (size_t i = 0; i < json_object_array_length(columns); i++)
		if (!read_column(table, json_object_array_get_idx(columns, i)))
			return false;
	if (!is_printable(table) || json_object_array_length(cells) % table->n_columns)
		return false;
	for (size_t i = 0; i < json_object_array_length(cells); i++)
		if (!read_cell(table, table->columns[i % table->n_columns].kind,
			       json_object_array_get_idx(cells, i)))
			return false;
	return true;
}

static bool read_sentences(struct gpumon_findings *findings, struct json_object *sentences,
			   void (*add)(struct gpumon_findings *findings, const char *format, ...))
{
	struct json_object *sentence;

	for (size_t i = 0; sentences && i < json_object_array_length(sentences); i++) {
		sentence = json_object_array_get_idx(sentences, i);
		if (!json_object_is_type(sentence, json_type_string))
			return false;
		add(findings, "%s", json_object_get_string(sentence));
	}
	return sentences;
}

static bool read_findings(struct gpumon_findings *findings, struct json_object *root)
{
	struct json_object *tables = get_array(root, "tables");
	const char *format, *tool;
	uint64_t version;

	if (!tables || !get_text(root, "format", &format) || !format ||
	    strcmp(format, FORMAT) != 0 || !get_number(root, "version", VERSION, &version) ||
	    !get_text(root, "tool", &tool))
		return false;
	gpumon_findings_set_tool(findings, tool);
	for (size_t i = 0; i < json_object_array_length(tables); i++)
		if (!read_table(findings, json_object_array_get_idx(tables, i)))
			return false;
	return read_sentences(findings, get_array(root, "found"), gpumon_findings_say) &&
	       read_sentences(findings, get_array(root, "notes"), gpumon_findings_note);
}

int gpumon_findings_read(const char *directory, struct gpumon_findings **findings)
{
	char path[PATH_MAX], *text;
	struct json_object *root;
	int ret = 0;

	*findings = NULL;
	snprintf(path, sizeof(path), "%s/" GPUMON_FINDINGS_FILE, directory);
	text = gpumon_read_file(AT_FDCWD, path, SIZE_MOST);
	if (!text && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	root = text ? json_tokener_parse(text) : NULL;
	free(text);
	*findings = gpumon_findings_new();
	if (!json_object_is_type(root, json_type_object) || !read_findings(*findings, root)) {
		gpumon_findings_free(*findings);
		*findings = gpumon_findings_new();
		gpumon_findings_note(
			*findings, GPUMON_FINDINGS_FILE
			" cannot be read: what programs in kernels gathered is missing");
		ret = 1;
	}
	json_object_put(root);
	return ret;
}
