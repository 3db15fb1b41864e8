/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Keys, values and records as columns of a table, a number each. The name of a number says what it
 * is: "kernel" and "line" are numbers that gpumon knows a name for, what ends with "ns" is time, with
 * "bytes" bytes.
 */
#ifndef GPUMON_GPUPROG_RESULT_COLUMNS_H
#define GPUMON_GPUPROG_RESULT_COLUMNS_H

#include "lib/map.h"
#include "lib/table.h"
#include "result.h"

/**
 * struct gpumon_gpuprog_names - names of a run, made when they are wanted
 * @result: what has the numbers
 * @kernels: demangled, by number; NULL: not yet made
 * @pool: owns all names
 */
struct gpumon_gpuprog_names {
	const struct gpumon_gpuprog_result *result;
	const char **kernels;
	struct gpumon_pool pool;
};

/* Names stay until they are cleared. */
void gpumon_gpuprog_names_init(struct gpumon_gpuprog_names *names,
			       const struct gpumon_gpuprog_result *result);
void gpumon_gpuprog_names_clear(struct gpumon_gpuprog_names *names);

/* Name of a kernel as it is in the PTX, NULL if there is no kernel with this number. */
const char *gpumon_gpuprog_kernel_mangled(const struct gpumon_gpuprog_names *names,
					  uint64_t kernel);
/* "void scale<float>(float*, int)", or "kernel 7" if there is none with this number. */
const char *gpumon_gpuprog_kernel_name(struct gpumon_gpuprog_names *names, uint64_t kernel);
/* The name of a kernel without result and parameters, for sentences: "scale<float>". */
const char *gpumon_gpuprog_kernel_short(struct gpumon_gpuprog_names *names, uint64_t kernel);
/* The name of the only kernel that has programs, as in sentences; NULL: there are none or more. */
const char *gpumon_gpuprog_only_kernel(struct gpumon_gpuprog_names *names);
/* "scale.cu:42" of a line number of struct gpumon_context; NULL: it has none. */
const char *gpumon_gpuprog_line_name(struct gpumon_gpuprog_names *names, uint64_t line);
/* "GPU 0" */
const char *gpumon_gpuprog_device_name(struct gpumon_gpuprog_names *names, uint32_t device);

#define GPUMON_GPUPROG_OWN_FIELDS 8
#define GPUMON_GPUPROG_WORD_BYTES 64

/**
 * struct gpumon_gpuprog_columns - columns of a kind of value
 * @fields: numbers in it; none: it is shown in hexadecimal
 * @size: bytes of a value
 * @name: what a number without a name is called
 * @is_key: it identifies a row
 * @own: memory for @fields if the object says nothing about the type
 */
struct gpumon_gpuprog_columns {
	struct gpumon_gpuprog_fields fields;
	uint32_t size;
	const char *name;
	bool is_key;
	struct gpumon_gpuprog_field own[GPUMON_GPUPROG_OWN_FIELDS];
};

/**
 * struct gpumon_gpuprog_words - what the name of a map says: "wait_ns_by_kernel"
 * @value: "wait_ns", or the whole name
 * @index: "kernel", or ""
 */
struct gpumon_gpuprog_words {
	char value[GPUMON_GPUPROG_WORD_BYTES];
	char index[GPUMON_GPUPROG_WORD_BYTES];
};

void gpumon_gpuprog_words_of(const char *map, struct gpumon_gpuprog_words *words);
/* NS, BYTES, or COUNT. */
enum gpumon_cell_kind gpumon_gpuprog_kind_of(const char *name);
/* The kind of a column with all of these numbers: SIGNED or COUNT. */
enum gpumon_cell_kind gpumon_gpuprog_kind_of_all(const struct gpumon_gpuprog_fields *fields);

/* @columns must not be copied afterwards. */
void gpumon_gpuprog_columns_init(struct gpumon_gpuprog_columns *columns,
				 const struct gpumon_gpuprog_fields *fields, uint32_t size,
				 const char *name, bool is_key);
/* Columns of an index: a number of 4 bytes. */
void gpumon_gpuprog_columns_index(struct gpumon_gpuprog_columns *columns, const char *name);
/* A name that the table already has in JSON gets "key." or "value." before it. */
void gpumon_gpuprog_columns_add(const struct gpumon_gpuprog_columns *columns,
				const struct gpumon_gpuprog_names *names,
				struct gpumon_table *table);
/* Add the cells of a value; bytes beyond @size are taken as zero. */
void gpumon_gpuprog_columns_cells(const struct gpumon_gpuprog_columns *columns,
				  struct gpumon_gpuprog_names *names, struct gpumon_table *table,
				  const void *value, uint32_t size);

/* The number at a field. */
uint64_t gpumon_gpuprog_field_value(const struct gpumon_gpuprog_field *field, const void *value);

#endif /* GPUMON_GPUPROG_RESULT_COLUMNS_H */
