// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "capture/symbol.h"
#include "lib/text.h"
#include "lib/format.h"
#include "columns.h"

#define SHORT_BYTES 128 /* of a name in a sentence */
#define NAME_BYTES  512

void gpumon_gpuprog_names_init(struct gpumon_gpuprog_names *names,
			       const struct gpumon_gpuprog_result *result)
{
	memset(names, 0, sizeof(*names));
	names->result = result;
	if (!result->run || !result->run->kernels_n)
		return;
	names->kernels = gpumon_calloc(result->run->kernels_n, sizeof(*names->kernels));
}

void gpumon_gpuprog_names_clear(struct gpumon_gpuprog_names *names)
{
	free(names->kernels);
	gpumon_pool_clear(&names->pool);
	memset(names, 0, sizeof(*names));
}

static const char *keep(struct gpumon_gpuprog_names *names, const char *text)
{
	return gpumon_pool_text(&names->pool, text ? text : "");
}

static const char *print_name(struct gpumon_gpuprog_names *names, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *print_name(struct gpumon_gpuprog_names *names, const char *format, ...)
{
	char text[NAME_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return keep(names, text);
}

const char *gpumon_gpuprog_kernel_mangled(const struct gpumon_gpuprog_names *names, uint64_t kernel)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	return run && kernel < run->kernels_n ? run->kernels[kernel].name : NULL;
}

const char *gpumon_gpuprog_kernel_name(struct gpumon_gpuprog_names *names, uint64_t kernel)
{
	const char *mangled = gpumon_gpuprog_kernel_mangled(names, kernel);
	char *name;

	if (!mangled || !names->kernels)
		return print_name(names, "kernel %" PRIu64, kernel);
	if (!names->kernels[kernel]) {
		name = gpumon_demangle(mangled);
		names->kernels[kernel] = keep(names, name);
		free(name);
	}
	return names->kernels[kernel];
}

const char *gpumon_gpuprog_kernel_short(struct gpumon_gpuprog_names *names, uint64_t kernel)
{
	char text[SHORT_BYTES], whole[NAME_BYTES * 2];

	gpumon_text_function(whole, sizeof(whole), gpumon_gpuprog_kernel_name(names, kernel));
	return keep(names, gpumon_text_fit(text, sizeof(text), whole, SHORT_BYTES / 2));
}

const char *gpumon_gpuprog_only_kernel(struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_run *run = names->result->run;
	uint32_t found = 0, only = 0;

	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		if (!gpumon_gpuprog_way_is_in(run->kernels[i].way))
			continue;
		found++;
		only = i;
	}
	return found == 1 ? gpumon_gpuprog_kernel_short(names, only) : NULL;
}

const char *gpumon_gpuprog_line_name(struct gpumon_gpuprog_names *names, uint64_t line)
{
	const struct gpumon_gpuprog_run *run = names->result->run;
	const struct gpumon_gpuprog_line_of *of;
	const char *slash;

	if (!run || !line || line > run->lines_n)
		return NULL;
	of = &run->lines[line - 1];
	slash = strrchr(of->file, '/');
	return print_name(names, "%s:%" PRIu32, slash ? slash + 1 : of->file, of->line);
}

const char *gpumon_gpuprog_device_name(struct gpumon_gpuprog_names *names, uint32_t device)
{
	const struct gpumon_gpuprog_result *result = names->result;

	if (device < result->devices_n && result->devices[device].name)
		return result->devices[device].name;
	return print_name(names, "GPU %" PRIu32, device);
}

#define BY		"_by_"
#define HEX_BYTES	32 /* of a value that are shown */
#define JSON_NAME_BYTES 128

/* Numbers that have a name for people as well. */
enum meaning {
	NUMBER,
	KERNEL,
	LINE,
};

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);

	return n >= e && !strcmp(name + n - e, end) &&
	       (n == e || name[n - e - 1] == '_' || name[n - e - 1] == '.');
}

enum gpumon_cell_kind gpumon_gpuprog_kind_of(const char *name)
{
	if (ends_with(name, "ns"))
		return GPUMON_CELL_NS;
	return ends_with(name, "bytes") ? GPUMON_CELL_BYTES : GPUMON_CELL_COUNT;
}

void gpumon_gpuprog_words_of(const char *map, struct gpumon_gpuprog_words *words)
{
	const char *by = NULL, *next = map;

	while ((next = strstr(next, BY))) {
		by = next;
		next += strlen(BY);
	}
	snprintf(words->value, sizeof(words->value), "%.*s",
		 (int)(by && by > map ? by - map : (ptrdiff_t)strlen(map)), map);
	snprintf(words->index, sizeof(words->index), "%s", by && by > map ? by + strlen(BY) : "");
}

static enum meaning meaning_of(const char *name, const struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	if (ends_with(name, "kernel") && run && run->kernels_n)
		return KERNEL;
	return ends_with(name, "line") && run && run->lines_n ? LINE : NUMBER;
}

static const char *name_of(const struct gpumon_gpuprog_columns *columns, uint32_t i)
{
	const char *name = columns->fields.fields[i].name;

	return *name ? name : columns->name;
}

/* A type without fields is one number, or numbers of 64 bits; other types have no columns. */
static void make_fields(struct gpumon_gpuprog_columns *columns)
{
	static const char *const numbers[GPUMON_GPUPROG_OWN_FIELDS] = {
		"u64[0]", "u64[1]", "u64[2]", "u64[3]", "u64[4]", "u64[5]", "u64[6]", "u64[7]"
	};
	uint32_t size = columns->size, n = size / 8;

	if (size == 1 || size == 2 || size == 4 || size == 8) {
		columns->own[0] =
			(struct gpumon_gpuprog_field){ .name = "", .size = (uint8_t)size };
		n = 1;
	} else if (!(size % 8) && n <= GPUMON_GPUPROG_OWN_FIELDS) {
		for (uint32_t i = 0; i < n; i++)
			columns->own[i] = (struct gpumon_gpuprog_field){ .name = numbers[i],
									 .offset = i * 8,
									 .size = 8 };
	} else {
		return;
	}
	columns->fields.fields = columns->own;
	columns->fields.n = n;
}

void gpumon_gpuprog_columns_init(struct gpumon_gpuprog_columns *columns,
				 const struct gpumon_gpuprog_fields *fields, uint32_t size,
				 const char *name, bool is_key)
{
	memset(columns, 0, sizeof(*columns));
	columns->fields = *fields;
	columns->size = size;
	columns->name = name;
	columns->is_key = is_key;
	if (!fields->n)
		make_fields(columns);
}

void gpumon_gpuprog_columns_index(struct gpumon_gpuprog_columns *columns, const char *name)
{
	static const struct gpumon_gpuprog_fields none;

	gpumon_gpuprog_columns_init(columns, &none, sizeof(uint32_t), name, true);
}

enum gpumon_cell_kind gpumon_gpuprog_kind_of_all(const struct gpumon_gpuprog_fields *fields)
{
	for (uint32_t i = 0; i < fields->n; i++)
		if (fields->fields[i].is_signed)
			return GPUMON_CELL_SIGNED;
	return GPUMON_CELL_COUNT;
}

static enum gpumon_cell_kind kind_of_field(const struct gpumon_gpuprog_columns *columns, uint32_t i)
{
	enum gpumon_cell_kind kind = gpumon_gpuprog_kind_of(name_of(columns, i));

	if (kind != GPUMON_CELL_COUNT)
		return kind;
	if (columns->fields.fields[i].is_signed)
		return GPUMON_CELL_SIGNED;
	return columns->is_key ? GPUMON_CELL_NUMBER : GPUMON_CELL_COUNT;
}

void gpumon_gpuprog_columns_add(const struct gpumon_gpuprog_columns *columns,
				const struct gpumon_gpuprog_names *names,
				struct gpumon_table *table)
{
	const char *hex = columns->is_key ? "key_hex" : "value_hex", *before;
	char title[GPUMON_TITLE_LEN], json[JSON_NAME_BYTES], name_key[JSON_NAME_BYTES + 8];

	for (uint32_t i = 0; i < columns->fields.n; i++) {
		const char *name = name_of(columns, i);
		enum meaning meaning = meaning_of(name, names);

		before = gpumon_table_find(table, name) == table->n_columns ? "" :
			 columns->is_key				    ? "key." :
									      "value.";
		snprintf(json, sizeof(json), "%s%s", before, name);
		gpumon_format_title(title, name, "");
		if (meaning == NUMBER) {
			gpumon_table_typed(table, title, json, kind_of_field(columns, i));
			continue;
		}
		snprintf(name_key, sizeof(name_key), "%s_name", json);
		gpumon_table_typed(table, NULL, json, GPUMON_CELL_NUMBER);
		gpumon_table_typed(table, title, name_key, GPUMON_CELL_TEXT);
	}
	if (!columns->fields.n)
		gpumon_table_typed(table, columns->is_key ? "KEY" : "VALUE", hex, GPUMON_CELL_TEXT);
}

uint64_t gpumon_gpuprog_field_value(const struct gpumon_gpuprog_field *field, const void *value)
{
	const uint8_t *at = (const uint8_t *)value + field->offset;
	uint64_t number = 0;

	memcpy(&number, at, field->size);
	if (field->is_signed && field->size < 8 && number >> (field->size * 8 - 1))
		number |= ~0ULL << (field->size * 8);
	return number;
}

static void add_hex(struct gpumon_table *table, const uint8_t *value, uint32_t size)
{
	char text[HEX_BYTES * 2 + 8];
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < size && i < HEX_BYTES; i++)
		snprintf(text + i * 2, sizeof(text) - i * 2, "%02x", value[i]);
	if (i < size)
		strcat(text, "…");
	gpumon_table_text(table, text);
}

static void add_cell(const struct gpumon_gpuprog_columns *columns, uint32_t i,
		     struct gpumon_gpuprog_names *names, struct gpumon_table *table,
		     uint64_t number)
{
	enum meaning meaning = meaning_of(name_of(columns, i), names);

	gpumon_table_number(table, number);
	if (meaning == KERNEL)
		gpumon_table_text(table, gpumon_gpuprog_kernel_short(names, number));
	else if (meaning == LINE)
		gpumon_table_text(table, gpumon_gpuprog_line_name(names, number));
}

void gpumon_gpuprog_columns_cells(const struct gpumon_gpuprog_columns *columns,
				  struct gpumon_gpuprog_names *names, struct gpumon_table *table,
				  const void *value, uint32_t size)
{
	const struct gpumon_gpuprog_field *field;

	for (uint32_t i = 0; i < columns->fields.n; i++) {
		field = &columns->fields.fields[i];
		add_cell(columns, i, names, table,
			 field->offset + field->size <= size ?
				 gpumon_gpuprog_field_value(field, value) :
				 0);
	}
	if (!columns->fields.n)
		add_hex(table, value, size < columns->size ? size : columns->size);
}
