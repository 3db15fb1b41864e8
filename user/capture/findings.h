/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What GPU programs gathered: tables, and sentences about them. They are printed for people or as JSON,
 * so both always say the same, and a capture keeps them with all that printing needs:
 * Documentation/reference/capture-format.md, probe.json.
 */
#ifndef GPUMON_CAPTURE_FINDINGS_H
#define GPUMON_CAPTURE_FINDINGS_H

#include "lib/error.h"
#include "lib/table.h"

/* In the directory of a capture. */
#define GPUMON_FINDINGS_FILE "probe.json"

/**
 * struct gpumon_findings - what GPU programs gathered
 * @tool: the tool that they are of; NULL: of none that has a name
 * @tables: those without a title are only in JSON
 * @n_tables: number of @tables
 * @found: sentences of what the tables say, without a full stop
 * @n_found: number of @found
 * @notes: sentences of what limits the tables
 * @n_notes: number of @notes
 * @pool: has all texts, those of the tables too
 */
struct gpumon_findings {
	const char *tool;
	struct gpumon_table **tables;
	size_t n_tables;
	const char **found;
	size_t n_found;
	const char **notes;
	size_t n_notes;
	struct gpumon_pool pool;
};

struct gpumon_findings *gpumon_findings_new(void) __attribute__((returns_nonnull));
void gpumon_findings_free(struct gpumon_findings *findings);
/* @tool may be NULL, as at first. */
void gpumon_findings_set_tool(struct gpumon_findings *findings, const char *tool);

/* Add a table. @key and @title: those of struct gpumon_table */
struct gpumon_table *gpumon_findings_table(struct gpumon_findings *findings, const char *key,
					   const char *title) __attribute__((returns_nonnull));
/* Add a sentence of what the tables say. */
void gpumon_findings_say(struct gpumon_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a sentence of what limits the tables. */
void gpumon_findings_note(struct gpumon_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Tables, then what was found, then notes. 0, or -1 if the last row of a table is not complete. */
int gpumon_findings_print(const struct gpumon_findings *findings, const struct gpumon_term *term,
			  FILE *out);
/*
 * {"found":[TEXT],"notes":[TEXT],"tables":{KEY:{"rows":[{…}],"rows_left_out":N}},"tool":TEXT}
 */
struct json_object *gpumon_findings_json(const struct gpumon_findings *findings)
	__attribute__((returns_nonnull));

/**
 * gpumon_findings_write - write GPUMON_FINDINGS_FILE
 * @findings: findings
 * @directory: descriptor
 * @err: no memory; the file is there, cannot be made or written: none is left then
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_findings_write(const struct gpumon_findings *findings, int directory,
			  struct gpumon_error *err);

/**
 * gpumon_findings_read - read GPUMON_FINDINGS_FILE
 * @directory: path
 * @findings: out, to be freed; NULL: there is no such file. Of a file that cannot be read, or is not
 *            what gpumon_findings_write() writes, findings with a note that says so
 *
 * Return: 0, or 1 if it cannot be read.
 */
int gpumon_findings_read(const char *directory, struct gpumon_findings **findings);

/* Figures of kernels, to be shown beside other figures of the same kernels. */

/* So many are shown at most. */
#define GPUMON_FIGURES 3

/**
 * struct gpumon_figure - a column that gpumon_table_figure() was called for
 * @findings: with it
 * @table: likewise
 * @column: number of it
 * @kernel: number of the column with the kernels' numbers
 */
struct gpumon_figure {
	const struct gpumon_findings *findings;
	const struct gpumon_table *table;
	size_t column;
	size_t kernel;
};

/* The first figures. Return: how many. */
unsigned int gpumon_findings_figures(const struct gpumon_findings *findings,
				     struct gpumon_figure figures[GPUMON_FIGURES]);

/* Add a column for it to a table. */
void gpumon_figure_column(const struct gpumon_figure *figure, struct gpumon_table *table);
/* Add its cell of a kernel with this demangled name: "-" if it has none, or several. */
void gpumon_figure_cell(const struct gpumon_figure *figure, const char *kernel,
			struct gpumon_table *table);
/* Add it to an object under its key; null likewise. */
void gpumon_figure_json(const struct gpumon_figure *figure, const char *kernel,
			struct json_object *object);

#endif /* GPUMON_CAPTURE_FINDINGS_H */
