/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Tables, and sentences about them, which are then printed for people or as JSON: so both always say
 * the same. Without memory the program ends: memory.h.
 */
#ifndef GPUMON_LIB_SHEET_H
#define GPUMON_LIB_SHEET_H

#include <json.h>
#include <stdbool.h>
#include <stdio.h>

#include "value.h"
#include "format.h"

struct gpumon_sheet;

/* What is in a column. */
enum gpumon_sheet_kind {
	GPUMON_SHEET_TEXT,
	GPUMON_SHEET_NAME,    /* a text that may be long: the last column */
	GPUMON_SHEET_NUMBER,  /* a number that identifies something: 1234 */
	GPUMON_SHEET_COUNT,   /* 1,234 */
	GPUMON_SHEET_NS,      /* 1.23us */
	GPUMON_SHEET_BYTES,   /* 1.20KiB */
	GPUMON_SHEET_SIGNED,  /* a count that may be negative, given as uint64_t */
	GPUMON_SHEET_RATIO,   /* 1.25 */
	GPUMON_SHEET_PERCENT, /* 12.5% */
	GPUMON_SHEET_BAR,     /* its length is the number's part of the column's largest; only on a
			       * terminal
			       */
};

struct gpumon_sheet *gpumon_sheet_new(void) __attribute__((returns_nonnull));
void gpumon_sheet_free(struct gpumon_sheet *sheet);

/* What has gathered the data: the name of a tool; NULL, as at first: nothing that has a name. */
void gpumon_sheet_set_tool(struct gpumon_sheet *sheet, const char *tool);
const char *gpumon_sheet_tool(const struct gpumon_sheet *sheet);

/*
 * Begin a table. @key: its name in JSON, or NULL: it is only for people; @title: above it, or NULL: it is
 * only in JSON.
 */
void gpumon_sheet_table(struct gpumon_sheet *sheet, const char *key, const char *title);
/* People see only this many rows of the table, and how many more there are. */
void gpumon_sheet_limit(struct gpumon_sheet *sheet, uint32_t rows);
/* Rows of the table that are not in the sheet at all: there are too many. */
void gpumon_sheet_left_out(struct gpumon_sheet *sheet, uint64_t rows);
/*
 * Add a column to the table, before its first row. @title NULL: it is only in JSON. @key: name in JSON,
 * with a unit if there is one; NULL: it is only for people.
 */
void gpumon_sheet_column(struct gpumon_sheet *sheet, const char *title, const char *key,
			 enum gpumon_sheet_kind kind);
/* Whether the table has a column of this name in JSON. */
bool gpumon_sheet_has_column(const struct gpumon_sheet *sheet, const char *key);
/*
 * The column added last is a figure of kernels, whose numbers are in the column "kernel": it also stands
 * beside other figures of the same kernels. @title: there; NULL: that of the column.
 */
void gpumon_sheet_figure(struct gpumon_sheet *sheet, const char *title);

/* Add the next cell of the table, row after row, as its column's kind wants it. */
void gpumon_sheet_text(struct gpumon_sheet *sheet, const char *text); /* NULL: unknown */
void gpumon_sheet_number(struct gpumon_sheet *sheet, uint64_t number);
void gpumon_sheet_value(struct gpumon_sheet *sheet, struct gpumon_value value);
void gpumon_sheet_ratio(struct gpumon_sheet *sheet, double ratio); /* of PERCENT: 100 is all */

/* Say what the data say, in a sentence without a full stop. */
void gpumon_sheet_found(struct gpumon_sheet *sheet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Say what limits them. */
void gpumon_sheet_note(struct gpumon_sheet *sheet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Tables, then what was found, then notes. 0, or -1 if the last row of a table is not complete. */
int gpumon_sheet_print(const struct gpumon_sheet *sheet, const struct gpumon_term *term, FILE *out);
/*
 * {"found":[TEXT],"notes":[TEXT],"tables":{KEY:{"rows":[{…}],"rows_left_out":N}},"tool":TEXT}
 */
struct json_object *gpumon_sheet_json(const struct gpumon_sheet *sheet)
	__attribute__((returns_nonnull));

#endif /* GPUMON_LIB_SHEET_H */
