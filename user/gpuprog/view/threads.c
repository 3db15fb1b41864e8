// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The values of an array for each thread, together. */
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "generic_inner.h"
#include "sum.h"
#include "lib/output_text.h"

#define KEY_BYTES 128

/* Of one number of the values that are not 0. */
struct summary {
	uint64_t threads;
	uint64_t sum;
	uint64_t least;
	uint64_t most;
};

static void summarise(struct summary *summary, const struct gpumon_probe_field *field,
		      uint64_t number)
{
	/* With the sign's bit turned round, numbers with a sign have the order of those without. */
	uint64_t sign = field->is_signed ? 1ull << 63 : 0;

	if (!number)
		return;
	if (!summary->threads || (number ^ sign) < (summary->least ^ sign))
		summary->least = number;
	if (!summary->threads || (number ^ sign) > (summary->most ^ sign))
		summary->most = number;
	summary->threads++;
	summary->sum = sign ? summary->sum + number : gpumon_add_saturated(summary->sum, number);
}

static void add_device(const struct gpumon_probe_result *result, uint32_t device,
		       const struct gpumon_probe_map *map,
		       const struct gpumon_probe_columns *columns, struct summary *summaries,
		       void *value)
{
	if (!gpumon_probe_image_of(result, device, map))
		return;
	for (uint64_t i = 0; i < map->max_entries; i++) {
		gpumon_probe_value_on(result, device, map, i, value);
		for (uint32_t n = 0; n < columns->fields.n; n++)
			summarise(&summaries[n], &columns->fields.fields[n],
				  gpumon_probe_field_value(&columns->fields.fields[n], value));
	}
}

static void add_rows(struct gpumon_sheet *sheet, const struct gpumon_probe_columns *columns,
		     const struct summary *summaries)
{
	for (uint32_t i = 0; i < columns->fields.n; i++) {
		const char *name = columns->fields.fields[i].name;

		gpumon_sheet_text(sheet, *name ? name : columns->name);
		gpumon_sheet_number(sheet, summaries[i].threads);
		gpumon_sheet_number(sheet, summaries[i].sum);
		gpumon_sheet_number(sheet, summaries[i].least);
		gpumon_sheet_number(sheet, summaries[i].most);
	}
}

static void add_columns(struct gpumon_sheet *sheet, enum gpumon_sheet_kind kind)
{
	gpumon_sheet_column(sheet, "OF", "of", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, "THREADS", "threads", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, "SUM", "sum", kind);
	gpumon_sheet_column(sheet, "LEAST", "least", kind);
	gpumon_sheet_column(sheet, "MOST", "most", kind);
}

void gpumon_probe_generic_threads(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
				  const struct gpumon_probe_map *map)
{
	const struct gpumon_probe_result *result = names->result;
	struct gpumon_probe_columns columns;
	struct summary *summaries;
	char key[KEY_BYTES];
	void *value;

	gpumon_probe_columns_init(&columns, &map->value_fields, map->value_size, map->name, false);
	snprintf(key, sizeof(key), "%s_summary", map->name);
	gpumon_sheet_table(sheet, key, map->name);
	add_columns(sheet, gpumon_probe_kind_of_all(&columns.fields));
	summaries = calloc(columns.fields.n + 1, sizeof(*summaries));
	value = malloc(map->value_size);
	if (summaries && value) {
		for (uint32_t device = 0; device < result->devices_n; device++)
			add_device(result, device, map, &columns, summaries, value);
		add_rows(sheet, &columns, summaries);
	} else {
		gpumon_sheet_fail(sheet);
	}
	free(summaries);
	free(value);
}
