// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Global variables. Those without a known type are words of 8 bytes at an offset. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "generic.h"
#include "generic_inner.h"
#include "sum.h"

#define WORD	    sizeof(uint64_t)
#define OFFSET_SIZE 24

struct data {
	struct gpumon_sheet *sheet;
	struct gpumon_probe_names *names;
	const struct gpumon_probe_map *map;
	bool by_device;
	uint8_t *rest; /* what no variable has, of one context */
};

static void add_row(struct data *data, uint32_t device, const char *name, uint64_t value)
{
	if (data->by_device)
		gpumon_sheet_text(data->sheet, gpumon_probe_device_name(data->names, device));
	gpumon_sheet_text(data->sheet, name);
	gpumon_sheet_number(data->sheet, value);
}

static void add_variables(struct data *data, uint32_t device)
{
	const struct gpumon_probe_fields *fields = &data->map->value_fields;
	uint64_t value;

	for (uint32_t i = 0; i < fields->n; i++) {
		const struct gpumon_probe_field *field = &fields->fields[i];

		value = gpumon_probe_field_value(field, data->rest);
		memset(data->rest + field->offset, 0, field->size);
		if (value)
			add_row(data, device, field->name, value);
	}
}

static void add_rest(struct data *data, uint32_t device, uint64_t size)
{
	char name[OFFSET_SIZE];
	uint64_t word;

	for (uint64_t at = 0; at < size; at += WORD) {
		memcpy(&word, data->rest + at, WORD);
		if (!word)
			continue;
		snprintf(name, sizeof(name), "+%" PRIu64, at);
		add_row(data, device, name, word);
	}
}

static void begin_table(struct data *data, bool people)
{
	const struct gpumon_probe_map *map = data->map;

	gpumon_probe_generic_table(data->sheet, map, people ? map->name : NULL);
	gpumon_sheet_limit(data->sheet, GPUMON_PROBE_SHOWN_ROWS);
	if (data->by_device)
		gpumon_sheet_column(data->sheet, "GPU", "gpu", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(data->sheet, "VARIABLE", "variable", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(data->sheet, "VALUE", "value",
			    gpumon_probe_kind_of_all(&map->value_fields));
}

void gpumon_probe_generic_data(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
			       const struct gpumon_probe_map *map, bool people)
{
	const struct gpumon_probe_result *result = names->result;
	struct data data = {
		.sheet = sheet, .names = names, .map = map, .by_device = result->devices_n > 1
	};
	uint64_t size = gpumon_probe_value_bytes(map);
	const void *image;

	if (map->read_only)
		return;
	begin_table(&data, people);
	data.rest = malloc(size);
	if (!data.rest)
		gpumon_sheet_fail(sheet);
	for (uint32_t device = 0; data.rest && device < result->devices_n; device++) {
		image = gpumon_probe_image_of(result, device, map);
		if (!image)
			continue;
		memcpy(data.rest, image, size);
		add_variables(&data, device);
		add_rest(&data, device, size);
	}
	free(data.rest);
}
