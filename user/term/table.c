// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct gpumon_table {
	struct libscols_table *table;
	struct libscols_line *line;
	size_t cell;
	bool failed;
};

struct gpumon_table *gpumon_table_new(const struct gpumon_term *term)
{
	struct gpumon_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->table = scols_new_table();
	if (!table->table) {
		free(table);
		return NULL;
	}
	scols_table_enable_colors(table->table, term->colour);
	/* In a pipe nothing is cut or padded: awk gets whole words and no blanks at the end. */
	if (term->columns) {
		scols_table_set_termforce(table->table, SCOLS_TERMFORCE_ALWAYS);
		scols_table_set_termwidth(table->table, term->columns);
	} else {
		scols_table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
	}
	return table;
}

void gpumon_table_column(struct gpumon_table *table, const char *name, unsigned int flags)
{
	int scols = 0;

	if (!table)
		return;
	if (flags & GPUMON_COLUMN_RIGHT)
		scols |= SCOLS_FL_RIGHT;
	if (flags & GPUMON_COLUMN_CUT)
		scols |= SCOLS_FL_TRUNC;
	if (flags & GPUMON_COLUMN_WRAP)
		scols |= SCOLS_FL_WRAP;
	/* A width hint of 0.1: the column may shrink to that part of the terminal. */
	if (!scols_table_new_column(table->table, name, scols & ~SCOLS_FL_RIGHT ? 0.1 : 0, scols))
		table->failed = true;
}

void gpumon_table_row(struct gpumon_table *table)
{
	if (!table)
		return;
	table->cell = 0;
	table->line = scols_table_new_line(table->table, NULL);
	if (!table->line)
		table->failed = true;
}

/* @text is safe already. */
static void table_cell(struct gpumon_table *table, const char *text)
{
	if (!table || table->failed)
		return;
	if (!table->line || scols_line_set_data(table->line, table->cell++, text))
		table->failed = true;
}

void gpumon_table_text(struct gpumon_table *table, const char *text)
{
	size_t len = text ? strlen(text) + 1 : 2;
	char *safe = malloc(len);

	if (safe)
		table_cell(table, gpumon_format_name(safe, len, text));
	else if (table)
		table->failed = true;
	free(safe);
}

void gpumon_table_count(struct gpumon_table *table, struct gpumon_value value)
{
	char text[GPUMON_FORMAT_LEN];

	table_cell(table, gpumon_format_count(text, sizeof(text), value));
}

void gpumon_table_ns(struct gpumon_table *table, struct gpumon_value ns)
{
	char text[GPUMON_FORMAT_LEN];

	table_cell(table, gpumon_format_ns(text, sizeof(text), ns));
}

void gpumon_table_rate(struct gpumon_table *table, struct gpumon_value count, uint64_t interval_ns)
{
	char text[GPUMON_FORMAT_LEN];

	table_cell(table, gpumon_format_rate(text, sizeof(text), count, interval_ns));
}

void gpumon_table_colour(struct gpumon_table *table, const char *sequence)
{
	if (!table || !table->line || !*sequence)
		return;
	if (scols_line_set_color(table->line, sequence))
		table->failed = true;
}

int gpumon_table_print(struct gpumon_table *table, FILE *stream)
{
	int ret = -1;

	if (!table)
		return -1;
	if (!table->failed) {
		scols_table_set_stream(table->table, stream);
		ret = scols_print_table(table->table) ? -1 : 0;
	}
	scols_unref_table(table->table);
	free(table);
	return ret;
}
