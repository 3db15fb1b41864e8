// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "generic.h"
#include "generic_inner.h"
#include "gpuprog/object/read.h"

#define KEY_BYTES 16 /* "map.kernels" */

/* A map whose rows are being added. */
struct rows {
	struct gpumon_sheet *sheet;
	struct gpumon_probe_names *names;
	const struct gpumon_probe_map *map;
	struct gpumon_probe_words words;
	struct gpumon_probe_columns key;
	struct gpumon_probe_columns value;
	bool people;
	bool by_device;
	uint64_t n;
};

static bool adds_up(const struct gpumon_probe_map *map)
{
	return map->kind == GPUMON_PROBE_MAP_SM_ARRAY || map->kind == GPUMON_PROBE_MAP_HISTOGRAM;
}

void gpumon_probe_generic_table(struct gpumon_sheet *sheet, const struct gpumon_probe_map *map,
				const char *title)
{
	static const char *const taken[] = { "kernels", "lost",	   "modules",
					     "patches", "printed", "ran" };
	const char *key = map->name;
	char other[KEY_BYTES];

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(map->name, taken[i])) {
			snprintf(other, sizeof(other), "map.%s", map->name);
			key = other;
		}
	gpumon_sheet_table(sheet, key, title);
}

static void begin_table(struct rows *rows)
{
	gpumon_probe_generic_table(rows->sheet, rows->map, rows->people ? rows->map->name : NULL);
	gpumon_sheet_limit(rows->sheet, GPUMON_PROBE_SHOWN_ROWS);
	rows->by_device = !adds_up(rows->map) && rows->names->result->devices_n > 1;
	if (rows->by_device)
		gpumon_sheet_column(rows->sheet, "GPU", "gpu", GPUMON_SHEET_TEXT);
	if (rows->key.size)
		gpumon_probe_columns_add(&rows->key, rows->names, rows->sheet);
	gpumon_probe_columns_add(&rows->value, rows->names, rows->sheet);
	if (!rows->by_device && !strcmp(rows->words.index, "kernel"))
		gpumon_sheet_figure(rows->sheet, NULL);
}

static void add_row(struct rows *rows, uint32_t device, const void *key, const void *value,
		    uint32_t size)
{
	if (rows->n++ >= GPUMON_PROBE_JSON_ROWS) {
		gpumon_sheet_left_out(rows->sheet, 1);
		return;
	}
	if (rows->by_device)
		gpumon_sheet_text(rows->sheet, gpumon_probe_device_name(rows->names, device));
	if (rows->key.size)
		gpumon_probe_columns_cells(&rows->key, rows->names, rows->sheet, key,
					   rows->key.size);
	gpumon_probe_columns_cells(&rows->value, rows->names, rows->sheet, value, size);
}

static bool is_zero(const uint8_t *value, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

/* Sum of all contexts in @sum; @value: room for another one. */
static void sum_contexts(const struct gpumon_probe_result *result,
			 const struct gpumon_probe_map *map, uint32_t index, uint8_t *sum,
			 uint8_t *value)
{
	memset(sum, 0, map->value_size);
	for (uint32_t device = 0; device < result->devices_n; device++) {
		gpumon_probe_value_on(result, device, map, index, value);
		gpumon_probe_add_value(map, sum, value);
	}
}

static void add_entries(struct rows *rows, uint8_t *value, uint8_t *other)
{
	const struct gpumon_probe_result *result = rows->names->result;
	const struct gpumon_probe_map *map = rows->map;
	uint32_t device, i;

	for (device = 0; device < (adds_up(map) ? 1 : result->devices_n); device++) {
		if (!adds_up(map) && !gpumon_probe_image_of(result, device, map))
			continue;
		for (i = 0; i < map->max_entries; i++) {
			if (adds_up(map))
				sum_contexts(result, map, i, value, other);
			else
				gpumon_probe_value_on(result, device, map, i, value);
			if (!is_zero(value, map->value_size))
				add_row(rows, device, &i, value, map->value_size);
		}
	}
}

/* Arrays of all kinds. */
static void show_array(struct rows *rows)
{
	const struct gpumon_probe_map *map = rows->map;
	uint8_t *value = calloc(2, map->value_size);
	const char *index = map->kind == GPUMON_PROBE_MAP_THREAD_ARRAY ? "thread" : "index";

	if (!value) {
		gpumon_sheet_fail(rows->sheet);
		return;
	}
	gpumon_probe_columns_index(&rows->key, *rows->words.index ? rows->words.index : index);
	begin_table(rows);
	add_entries(rows, value, value + map->value_size);
	free(value);
}

static void show_hash(struct rows *rows)
{
	const struct gpumon_probe_result *result = rows->names->result;
	const struct gpumon_probe_map *map = rows->map;
	const void *key, *value, *image;
	uint64_t place;

	gpumon_probe_columns_init(&rows->key, &map->key_fields, map->key_size,
				  *rows->words.index ? rows->words.index : "key", true);
	begin_table(rows);
	for (uint32_t device = 0; device < result->devices_n; device++) {
		image = gpumon_probe_image_of(result, device, map);
		place = 0;
		while (image && gpumon_probe_hash_next(map, image, &place, &key, &value))
			add_row(rows, device, key, value, map->value_size);
	}
}

/* The newest records; people see the last of them. */
static void show_ring(struct rows *rows)
{
	const struct gpumon_probe_records *records =
		gpumon_probe_records_of(rows->names->result, rows->map);
	uint64_t kept = gpumon_probe_records_kept(records), i;
	struct gpumon_probe_record record;

	if (records->added && rows->people)
		gpumon_sheet_note(rows->sheet, "%s: %llu records, the newest first%s",
				  rows->map->name, (unsigned long long)records->added,
				  kept < records->added ? "; older ones were not kept" : "");
	begin_table(rows);
	for (i = kept; i-- > 0 && kept - i <= GPUMON_PROBE_JSON_ROWS;) {
		record = gpumon_probe_records_at(records, i);
		add_row(rows, record.device, NULL, record.data, record.size);
	}
	gpumon_sheet_left_out(rows->sheet, records->added - (kept < GPUMON_PROBE_JSON_ROWS ?
								     kept :
								     GPUMON_PROBE_JSON_ROWS));
}

void gpumon_probe_generic_map(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
			      const struct gpumon_probe_map *map, bool people)
{
	struct rows rows = { .sheet = sheet, .names = names, .map = map, .people = people };

	gpumon_probe_words_of(map->name, &rows.words);
	gpumon_probe_columns_init(&rows.value, &map->value_fields, map->value_size,
				  rows.words.value, false);
	switch (map->kind) {
	case GPUMON_PROBE_MAP_HASH:
		show_hash(&rows);
		break;
	case GPUMON_PROBE_MAP_HISTOGRAM:
		gpumon_probe_generic_histogram(sheet, names, map, people);
		break;
	case GPUMON_PROBE_MAP_RING:
		show_ring(&rows);
		break;
	case GPUMON_PROBE_MAP_DATA:
		gpumon_probe_generic_data(sheet, names, map, people);
		break;
	case GPUMON_PROBE_MAP_THREAD_ARRAY:
		gpumon_probe_generic_threads(sheet, names, map);
		show_array(&rows);
		break;
	default:
		show_array(&rows);
	}
}

void gpumon_probe_generic(struct gpumon_sheet *sheet, struct gpumon_probe_names *names)
{
	const struct gpumon_probe_object *object = names->result->object;

	for (uint32_t i = 0; i < object->maps_n; i++)
		gpumon_probe_generic_map(sheet, names, &object->maps[i], true);
}
