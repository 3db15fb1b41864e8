// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "lib/array.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/text.h"

#define SENTENCE_BYTES 1024

struct gpumon_findings *gpumon_findings_new(void)
{
	return gpumon_calloc(1, sizeof(struct gpumon_findings));
}

void gpumon_findings_free(struct gpumon_findings *findings)
{
	if (!findings)
		return;
	for (size_t i = 0; i < findings->n_tables; i++)
		gpumon_table_free(findings->tables[i]);
	free(findings->tables);
	free(findings->found);
	free(findings->notes);
	gpumon_pool_clear(&findings->pool);
	free(findings);
}

void gpumon_findings_set_tool(struct gpumon_findings *findings, const char *tool)
{
	findings->tool = tool ? gpumon_pool_text(&findings->pool, tool) : NULL;
}

struct gpumon_table *gpumon_findings_table(struct gpumon_findings *findings, const char *key,
					   const char *title)
{
	struct gpumon_table *table = gpumon_table_new(NULL);

	*(struct gpumon_table **)GPUMON_GROW(findings->tables, findings->n_tables) = table;
	table->pool = &findings->pool;
	gpumon_table_name(table, key, title);
	return table;
}

static const char *sentence(struct gpumon_findings *findings, const char *format, va_list args)
{
	char text[SENTENCE_BYTES];

	vsnprintf(text, sizeof(text), format, args);
	return gpumon_pool_text(&findings->pool, text);
}

void gpumon_findings_say(struct gpumon_findings *findings, const char *format, ...)
{
	const char **to = GPUMON_GROW(findings->found, findings->n_found);
	va_list args;

	va_start(args, format);
	*to = sentence(findings, format, args);
	va_end(args);
}

void gpumon_findings_note(struct gpumon_findings *findings, const char *format, ...)
{
	const char **to = GPUMON_GROW(findings->notes, findings->n_notes);
	va_list args;

	va_start(args, format);
	*to = sentence(findings, format, args);
	va_end(args);
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

int gpumon_findings_print(const struct gpumon_findings *findings, const struct gpumon_term *term,
			  FILE *out)
{
	for (size_t i = 0; i < findings->n_tables; i++)
		if (findings->tables[i]->title && findings->tables[i]->n_rows &&
		    gpumon_table_show(findings->tables[i], term, out))
			return -1;
	for (size_t i = 0; i < findings->n_found; i++) {
		fputs(gpumon_term_bold(term), out);
		print_sentence(findings->found[i], term->columns, out);
		fprintf(out, "%s\n", gpumon_term_reset(term));
	}
	for (size_t i = 0; i < findings->n_notes; i++) {
		print_sentence(findings->notes[i], term->columns, out);
		fputc('\n', out);
	}
	return 0;
}

struct json_object *gpumon_findings_json(const struct gpumon_findings *findings)
{
	struct json_object *object = gpumon_json_object(), *tables = gpumon_json_object();

	gpumon_json_add(object, "found", gpumon_json_strings(findings->found, findings->n_found));
	gpumon_json_add(object, "notes", gpumon_json_strings(findings->notes, findings->n_notes));
	for (size_t i = 0; i < findings->n_tables; i++)
		if (findings->tables[i]->key)
			gpumon_json_add(tables, findings->tables[i]->key,
					gpumon_table_json(findings->tables[i]));
	gpumon_json_add(object, "tables", tables);
	gpumon_json_add_string(object, "tool", findings->tool);
	return object;
}

/* --- figures of kernels */

unsigned int gpumon_findings_figures(const struct gpumon_findings *findings,
				     struct gpumon_figure figures[GPUMON_FIGURES])
{
	unsigned int n = 0;

	for (size_t i = 0; i < findings->n_tables; i++) {
		const struct gpumon_table *table = findings->tables[i];
		size_t kernel = gpumon_table_find(table, "kernel");

		for (size_t column = 0; column < table->n_columns; column++)
			if (table->columns[column].figure && kernel < table->n_columns &&
			    n < GPUMON_FIGURES)
				figures[n++] =
					(struct gpumon_figure){ findings, table, column, kernel };
	}
	return n;
}

static const struct gpumon_cell *cell_of(const struct gpumon_table *table, size_t row,
					 size_t column)
{
	return &table->cells[row * table->n_columns + column];
}

static const struct gpumon_table *find_table(const struct gpumon_findings *findings,
					     const char *key)
{
	for (size_t i = 0; i < findings->n_tables; i++)
		if (findings->tables[i]->key && !strcmp(findings->tables[i]->key, key))
			return findings->tables[i];
	return NULL;
}

/* The table of all kernels says which number has this name. */
static bool find_number(const struct gpumon_findings *findings, const char *name, uint64_t *number)
{
	const struct gpumon_table *table = find_table(findings, "kernels");
	size_t kernel = table ? gpumon_table_find(table, "kernel") : 0;
	size_t text = table ? gpumon_table_find(table, "kernel_name") : 0;

	if (!table || kernel == table->n_columns || text == table->n_columns)
		return false;
	for (size_t row = 0; row < table->n_rows; row++) {
		const char *of = cell_of(table, row, text)->text;

		*number = cell_of(table, row, kernel)->number;
		if (of && !strcmp(of, name))
			return true;
	}
	return false;
}

/* Without a value if there is none, or several, as of several GPUs. */
static struct gpumon_cell find_cell(const struct gpumon_figure *figure, const char *kernel)
{
	static const struct gpumon_cell unknown;
	const struct gpumon_cell *found = NULL;
	uint64_t number;

	if (!find_number(figure->findings, kernel, &number))
		return unknown;
	for (size_t row = 0; row < figure->table->n_rows; row++) {
		if (cell_of(figure->table, row, figure->kernel)->number != number)
			continue;
		if (found)
			return unknown;
		found = cell_of(figure->table, row, figure->column);
	}
	return found ? *found : unknown;
}

void gpumon_figure_column(const struct gpumon_figure *figure, struct gpumon_table *table)
{
	gpumon_table_column(table, figure->table->columns[figure->column].figure,
			    GPUMON_COLUMN_RIGHT);
}

void gpumon_figure_cell(const struct gpumon_figure *figure, const char *kernel,
			struct gpumon_table *table)
{
	gpumon_table_cell(table, find_cell(figure, kernel));
}

void gpumon_figure_json(const struct gpumon_figure *figure, const char *kernel,
			struct json_object *object)
{
	const char *key = figure->table->columns[figure->column].key;
	struct gpumon_cell cell = find_cell(figure, kernel);

	if (key)
		gpumon_cell_json_add(object, key, &cell);
}
