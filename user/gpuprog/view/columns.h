/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Keys, values and records as columns of a table, a number each. The name of a number says what it
 * is: "kernel" and "line" are numbers that gpumon knows a name for, what ends with "ns" is time, with
 * "bytes" bytes.
 */
#ifndef GPUMON_GPUPROG_VIEW_COLUMNS_H
#define GPUMON_GPUPROG_VIEW_COLUMNS_H

#include "names.h"
#include "lib/sheet.h"

#define GPUMON_PROBE_OWN_FIELDS 8
#define GPUMON_PROBE_WORD_BYTES 64

/**
 * struct gpumon_probe_columns - columns of a kind of value
 * @fields: numbers in it; none: it is shown in hexadecimal
 * @size: bytes of a value
 * @name: what a number without a name is called
 * @is_key: it identifies a row
 * @own: memory for @fields if the object says nothing about the type
 */
struct gpumon_probe_columns {
	struct gpumon_probe_fields fields;
	uint32_t size;
	const char *name;
	bool is_key;
	struct gpumon_probe_field own[GPUMON_PROBE_OWN_FIELDS];
};

/**
 * struct gpumon_probe_words - what the name of a map says: "wait_ns_by_kernel"
 * @value: "wait_ns", or the whole name
 * @index: "kernel", or ""
 */
struct gpumon_probe_words {
	char value[GPUMON_PROBE_WORD_BYTES];
	char index[GPUMON_PROBE_WORD_BYTES];
};

void gpumon_probe_words_of(const char *map, struct gpumon_probe_words *words);
/* NS, BYTES, or COUNT. */
enum gpumon_sheet_kind gpumon_probe_kind_of(const char *name);
/* Of a column with all of these numbers: SIGNED or COUNT. */
enum gpumon_sheet_kind gpumon_probe_kind_of_all(const struct gpumon_probe_fields *fields);

/* @columns must not be copied afterwards. */
void gpumon_probe_columns_init(struct gpumon_probe_columns *columns,
			       const struct gpumon_probe_fields *fields, uint32_t size,
			       const char *name, bool is_key);
/* Columns of an index: a number of 4 bytes. */
void gpumon_probe_columns_index(struct gpumon_probe_columns *columns, const char *name);
/* A name that the table already has in JSON gets "key." or "value." before it. */
void gpumon_probe_columns_add(const struct gpumon_probe_columns *columns,
			      const struct gpumon_probe_names *names, struct gpumon_sheet *sheet);
/* Add the cells of a value; bytes beyond @size are taken as zero. */
void gpumon_probe_columns_cells(const struct gpumon_probe_columns *columns,
				struct gpumon_probe_names *names, struct gpumon_sheet *sheet,
				const void *value, uint32_t size);

/* The number at a field. */
uint64_t gpumon_probe_field_value(const struct gpumon_probe_field *field, const void *value);

#endif /* GPUMON_GPUPROG_VIEW_COLUMNS_H */
