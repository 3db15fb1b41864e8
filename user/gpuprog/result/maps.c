// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "gpuprog/object/map_memory.h"
#include "maps.h"

#define TABLE_KEY_BYTES 16 /* "map.kernels" */
/* A map's table in JSON. Names of tables that each document may have are not taken from them. */
static struct gpumon_table *generic_table(struct gpumon_findings *findings,
					  const struct gpumon_gpuprog_map *map, const char *title)
{
	static const char *const taken[] = { "kernels", "lost",	   "modules",
					     "patches", "printed", "ran" };
	const char *key = map->name;
	char other[TABLE_KEY_BYTES];

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(map->name, taken[i])) {
			snprintf(other, sizeof(other), "map.%s", map->name);
			key = other;
		}
	return gpumon_findings_table(findings, key, title);
}

/* Global variables. Those without a known type are words of 8 bytes at an offset. */

#define WORD	    sizeof(uint64_t)
#define OFFSET_SIZE 24

struct data {
	struct gpumon_table *table;
	struct gpumon_gpuprog_names *names;
	const struct gpumon_gpuprog_map *map;
	bool by_device;
	uint8_t *rest; /* what no variable has, of one context */
};

static void add_variable(struct data *data, uint32_t device, const char *name, uint64_t value)
{
	struct gpumon_table *table = data->table;

	if (data->by_device)
		gpumon_table_text(table, gpumon_gpuprog_device_name(data->names, device));
	gpumon_table_text(table, name);
	gpumon_table_number(table, value);
}

static void add_variables(struct data *data, uint32_t device)
{
	const struct gpumon_gpuprog_fields *fields = &data->map->value_fields;
	uint64_t value;

	for (uint32_t i = 0; i < fields->n; i++) {
		const struct gpumon_gpuprog_field *field = &fields->fields[i];

		value = gpumon_gpuprog_field_value(field, data->rest);
		memset(data->rest + field->offset, 0, field->size);
		if (value)
			add_variable(data, device, field->name, value);
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
		add_variable(data, device, name, word);
	}
}

static void begin_variables(struct data *data)
{
	struct gpumon_table *table = data->table;

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	if (data->by_device)
		gpumon_table_typed(table, "GPU", "gpu", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "VARIABLE", "variable", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "VALUE", "value",
			   gpumon_gpuprog_kind_of_all(&data->map->value_fields));
}

/* Global variables that are not 0. */
static void generic_data(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			 const struct gpumon_gpuprog_map *map, bool people)
{
	const struct gpumon_gpuprog_result *result = names->result;
	struct data data = { .names = names, .map = map, .by_device = result->devices_n > 1 };
	uint64_t size = gpumon_gpuprog_value_bytes(map);
	const void *image;

	if (map->read_only)
		return;
	data.table = generic_table(findings, map, people ? map->name : NULL);
	begin_variables(&data);
	data.rest = gpumon_malloc(size);
	for (uint32_t device = 0; device < result->devices_n; device++) {
		image = gpumon_gpuprog_image_of(result, device, map);
		if (!image)
			continue;
		memcpy(data.rest, image, size);
		add_variables(&data, device);
		add_rest(&data, device, size);
	}
	free(data.rest);
}

/* Histograms by powers of two, of any map. */

#define SHOWN_HISTOGRAMS 6 /* for people; JSON has all */
#define TITLE_BYTES	 256

static void find_range(const struct gpumon_gpuprog_buckets *buckets, uint32_t *first, uint32_t *end)
{
	*first = *end = 0;
	for (uint32_t i = 0; i < GPUMON_GPUPROG_BUCKETS; i++) {
		if (!buckets->counts[i])
			continue;
		if (!*end)
			*first = i;
		*end = i + 1;
	}
}

void gpumon_gpuprog_generic_bars(struct gpumon_findings *findings, const char *title,
				 const char *unit, const struct gpumon_gpuprog_buckets *buckets)
{
	enum gpumon_cell_kind kind = gpumon_gpuprog_kind_of(unit);
	uint64_t total = gpumon_gpuprog_buckets_total(buckets);
	uint32_t first, end;
	struct gpumon_table *table;

	find_range(buckets, &first, &end);
	if (!total)
		return;
	table = gpumon_findings_table(findings, NULL, title);
	gpumon_table_typed(table, "FROM", NULL, kind);
	gpumon_table_typed(table, "TO", NULL, kind);
	gpumon_table_typed(table, "COUNT", NULL, GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "SHARE", NULL, GPUMON_CELL_PERCENT);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	for (uint32_t i = first; i < end; i++) {
		gpumon_table_number(table, gpumon_gpuprog_bucket_from(i));
		gpumon_table_number(table, gpumon_gpuprog_bucket_to(i));
		gpumon_table_number(table, buckets->counts[i]);
		gpumon_table_ratio(table, (double)buckets->counts[i] * 100 / (double)total);
		gpumon_table_number(table, buckets->counts[i]);
	}
}

void gpumon_gpuprog_generic_buckets(struct gpumon_table *table, const char *unit)
{
	enum gpumon_cell_kind kind = gpumon_gpuprog_kind_of(unit);
	const char *ending = kind == GPUMON_CELL_NS    ? "_ns" :
			     kind == GPUMON_CELL_BYTES ? "_bytes" :
							 "";
	char from[16], to[16];

	snprintf(from, sizeof(from), "from%s", ending);
	snprintf(to, sizeof(to), "to%s", ending);
	gpumon_table_typed(table, NULL, from, kind);
	gpumon_table_typed(table, NULL, to, kind);
	gpumon_table_typed(table, NULL, "count", GPUMON_CELL_COUNT);
}

void gpumon_gpuprog_generic_bucket(struct gpumon_table *table, uint32_t bucket, uint64_t count)
{
	gpumon_table_number(table, gpumon_gpuprog_bucket_from(bucket));
	gpumon_table_number(table, gpumon_gpuprog_bucket_to(bucket));
	gpumon_table_number(table, count);
}

/* "wait_ns of reduce", "wait_ns, lane 3", "wait_ns[3]" */
static void make_title(char *title, struct gpumon_gpuprog_names *names, const char *map,
		       const struct gpumon_gpuprog_words *words, uint32_t index, uint32_t indexes)
{
	if (!strcmp(words->index, "kernel"))
		snprintf(title, TITLE_BYTES, "%s of %s", words->value,
			 gpumon_gpuprog_kernel_short(names, index));
	else if (*words->index)
		snprintf(title, TITLE_BYTES, "%s, %s %" PRIu32, words->value, words->index, index);
	else if (indexes > 1)
		snprintf(title, TITLE_BYTES, "%s[%" PRIu32 "]", map, index);
	else
		snprintf(title, TITLE_BYTES, "%s", map);
}

static void add_histogram_rows(struct gpumon_table *table, struct gpumon_gpuprog_names *names,
			       const struct gpumon_gpuprog_columns *key, uint32_t index,
			       const struct gpumon_gpuprog_buckets *buckets)
{
	for (uint32_t i = 0; i < GPUMON_GPUPROG_BUCKETS; i++) {
		if (!buckets->counts[i])
			continue;
		gpumon_gpuprog_columns_cells(key, names, table, &index, sizeof(index));
		gpumon_gpuprog_generic_bucket(table, i, buckets->counts[i]);
	}
}

/* JSON gets one table for all indexes, people one for each index that has counts. */
static void generic_histogram(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			      const struct gpumon_gpuprog_map *map, bool people)
{
	struct gpumon_gpuprog_buckets buckets;
	struct gpumon_gpuprog_columns key;
	struct gpumon_gpuprog_words words;
	struct gpumon_table *table;
	char title[TITLE_BYTES];
	uint32_t shown = 0;

	gpumon_gpuprog_words_of(map->name, &words);
	gpumon_gpuprog_columns_index(&key, *words.index ? words.index : "index");
	table = generic_table(findings, map, NULL);
	gpumon_gpuprog_columns_add(&key, names, table);
	gpumon_gpuprog_generic_buckets(table, words.value);
	for (uint32_t i = 0; i < map->max_entries; i++) {
		buckets = gpumon_gpuprog_histogram(names->result, map, i);
		add_histogram_rows(table, names, &key, i, &buckets);
	}
	for (uint32_t i = 0; people && i < map->max_entries && shown < SHOWN_HISTOGRAMS; i++) {
		buckets = gpumon_gpuprog_histogram(names->result, map, i);
		if (!gpumon_gpuprog_buckets_total(&buckets))
			continue;
		make_title(title, names, map->name, &words, i, map->max_entries);
		gpumon_gpuprog_generic_bars(findings, title, words.value, &buckets);
		shown++;
	}
}

/* The values of an array for each thread, together. */

#define KEY_BYTES 128

/* Spread of one number, over the values that are not 0. */
struct summary {
	uint64_t threads;
	uint64_t sum;
	uint64_t least;
	uint64_t most;
};

static void summarise(struct summary *summary, const struct gpumon_gpuprog_field *field,
		      uint64_t number)
{
	/* If the bit of the sign is inverted, signed numbers have the order of unsigned ones. */
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

static void add_device(const struct gpumon_gpuprog_result *result, uint32_t device,
		       const struct gpumon_gpuprog_map *map,
		       const struct gpumon_gpuprog_columns *columns, struct summary *summaries,
		       void *value)
{
	if (!gpumon_gpuprog_image_of(result, device, map))
		return;
	for (uint64_t i = 0; i < map->max_entries; i++) {
		gpumon_gpuprog_value_on(result, device, map, i, value);
		for (uint32_t n = 0; n < columns->fields.n; n++)
			summarise(&summaries[n], &columns->fields.fields[n],
				  gpumon_gpuprog_field_value(&columns->fields.fields[n], value));
	}
}

static void add_summary_rows(struct gpumon_table *table,
			     const struct gpumon_gpuprog_columns *columns,
			     const struct summary *summaries)
{
	for (uint32_t i = 0; i < columns->fields.n; i++) {
		const char *name = columns->fields.fields[i].name;

		gpumon_table_text(table, *name ? name : columns->name);
		gpumon_table_number(table, summaries[i].threads);
		gpumon_table_number(table, summaries[i].sum);
		gpumon_table_number(table, summaries[i].least);
		gpumon_table_number(table, summaries[i].most);
	}
}

static void add_columns(struct gpumon_table *table, enum gpumon_cell_kind kind)
{
	gpumon_table_typed(table, "OF", "of", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "THREADS", "threads", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "SUM", "sum", kind);
	gpumon_table_typed(table, "LEAST", "least", kind);
	gpumon_table_typed(table, "MOST", "most", kind);
}

/* Sums over the values of all threads, for each number. */
static void generic_threads(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			    const struct gpumon_gpuprog_map *map)
{
	const struct gpumon_gpuprog_result *result = names->result;
	struct gpumon_gpuprog_columns columns;
	struct summary *summaries;
	struct gpumon_table *table;
	char key[KEY_BYTES];
	void *value;

	gpumon_gpuprog_columns_init(&columns, &map->value_fields, map->value_size, map->name,
				    false);
	snprintf(key, sizeof(key), "%s_summary", map->name);
	table = gpumon_findings_table(findings, key, map->name);
	add_columns(table, gpumon_gpuprog_kind_of_all(&columns.fields));
	summaries = gpumon_calloc(columns.fields.n + 1, sizeof(*summaries));
	value = gpumon_malloc(map->value_size);
	for (uint32_t device = 0; device < result->devices_n; device++)
		add_device(result, device, map, &columns, summaries, value);
	add_summary_rows(table, &columns, summaries);
	free(summaries);
	free(value);
}

/* A map whose rows are being added. */
struct rows {
	struct gpumon_findings *findings;
	struct gpumon_table *table;
	struct gpumon_gpuprog_names *names;
	const struct gpumon_gpuprog_map *map;
	struct gpumon_gpuprog_words words;
	struct gpumon_gpuprog_columns key;
	struct gpumon_gpuprog_columns value;
	bool people;
	bool by_device;
	uint64_t n;
};

static bool adds_up(const struct gpumon_gpuprog_map *map)
{
	return map->kind == GPUMON_GPUPROG_MAP_SM_ARRAY ||
	       map->kind == GPUMON_GPUPROG_MAP_HISTOGRAM;
}

static void begin_table(struct rows *rows)
{
	struct gpumon_table *table =
		generic_table(rows->findings, rows->map, rows->people ? rows->map->name : NULL);

	rows->table = table;
	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	rows->by_device = !adds_up(rows->map) && rows->names->result->devices_n > 1;
	if (rows->by_device)
		gpumon_table_typed(table, "GPU", "gpu", GPUMON_CELL_TEXT);
	if (rows->key.size)
		gpumon_gpuprog_columns_add(&rows->key, rows->names, table);
	gpumon_gpuprog_columns_add(&rows->value, rows->names, table);
	if (!rows->by_device && !strcmp(rows->words.index, "kernel"))
		gpumon_table_figure(table, NULL);
}

static void add_row(struct rows *rows, uint32_t device, const void *key, const void *value,
		    uint32_t size)
{
	if (rows->n++ >= GPUMON_GPUPROG_JSON_ROWS) {
		rows->table->left_out++;
		return;
	}
	if (rows->by_device)
		gpumon_table_text(rows->table, gpumon_gpuprog_device_name(rows->names, device));
	if (rows->key.size)
		gpumon_gpuprog_columns_cells(&rows->key, rows->names, rows->table, key,
					     rows->key.size);
	gpumon_gpuprog_columns_cells(&rows->value, rows->names, rows->table, value, size);
}

static bool is_zero(const uint8_t *value, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

/* Sum of all contexts in @sum; @value: room for another one. */
static void sum_contexts(const struct gpumon_gpuprog_result *result,
			 const struct gpumon_gpuprog_map *map, uint32_t index, uint8_t *sum,
			 uint8_t *value)
{
	memset(sum, 0, map->value_size);
	for (uint32_t device = 0; device < result->devices_n; device++) {
		gpumon_gpuprog_value_on(result, device, map, index, value);
		gpumon_gpuprog_add_value(map, sum, value);
	}
}

static void add_entries(struct rows *rows, uint8_t *value, uint8_t *other)
{
	const struct gpumon_gpuprog_result *result = rows->names->result;
	const struct gpumon_gpuprog_map *map = rows->map;
	uint32_t device, i;

	for (device = 0; device < (adds_up(map) ? 1 : result->devices_n); device++) {
		if (!adds_up(map) && !gpumon_gpuprog_image_of(result, device, map))
			continue;
		for (i = 0; i < map->max_entries; i++) {
			if (adds_up(map))
				sum_contexts(result, map, i, value, other);
			else
				gpumon_gpuprog_value_on(result, device, map, i, value);
			if (!is_zero(value, map->value_size))
				add_row(rows, device, &i, value, map->value_size);
		}
	}
}

/* Arrays of all kinds. */
static void show_array(struct rows *rows)
{
	const struct gpumon_gpuprog_map *map = rows->map;
	uint8_t *value = gpumon_calloc(2, map->value_size);
	const char *index = map->kind == GPUMON_GPUPROG_MAP_THREAD_ARRAY ? "thread" : "index";

	gpumon_gpuprog_columns_index(&rows->key, *rows->words.index ? rows->words.index : index);
	begin_table(rows);
	add_entries(rows, value, value + map->value_size);
	free(value);
}

static void show_hash(struct rows *rows)
{
	const struct gpumon_gpuprog_result *result = rows->names->result;
	const struct gpumon_gpuprog_map *map = rows->map;
	const void *key, *value, *image;
	uint64_t place;

	gpumon_gpuprog_columns_init(&rows->key, &map->key_fields, map->key_size,
				    *rows->words.index ? rows->words.index : "key", true);
	begin_table(rows);
	for (uint32_t device = 0; device < result->devices_n; device++) {
		image = gpumon_gpuprog_image_of(result, device, map);
		place = 0;
		while (image && gpumon_gpuprog_hash_next(map, image, &place, &key, &value))
			add_row(rows, device, key, value, map->value_size);
	}
}

/* The newest records; people see the last of them. */
static void show_ring(struct rows *rows)
{
	const struct gpumon_gpuprog_records *records =
		gpumon_gpuprog_records_of(rows->names->result, rows->map);
	uint64_t kept = gpumon_gpuprog_records_kept(records), i;
	struct gpumon_gpuprog_record record;

	if (records->added && rows->people)
		gpumon_findings_note(rows->findings, "%s: %llu records, the newest first%s",
				     rows->map->name, (unsigned long long)records->added,
				     kept < records->added ? "; older ones were not kept" : "");
	begin_table(rows);
	for (i = kept; i-- > 0 && kept - i <= GPUMON_GPUPROG_JSON_ROWS;) {
		record = gpumon_gpuprog_records_at(records, i);
		add_row(rows, record.device, NULL, record.data, record.size);
	}
	rows->table->left_out +=
		records->added -
		(kept < GPUMON_GPUPROG_JSON_ROWS ? kept : GPUMON_GPUPROG_JSON_ROWS);
}

void gpumon_gpuprog_generic_map(struct gpumon_findings *findings,
				struct gpumon_gpuprog_names *names,
				const struct gpumon_gpuprog_map *map, bool people)
{
	struct rows rows = { .findings = findings, .names = names, .map = map, .people = people };

	gpumon_gpuprog_words_of(map->name, &rows.words);
	gpumon_gpuprog_columns_init(&rows.value, &map->value_fields, map->value_size,
				    rows.words.value, false);
	switch (map->kind) {
	case GPUMON_GPUPROG_MAP_HASH:
		show_hash(&rows);
		break;
	case GPUMON_GPUPROG_MAP_HISTOGRAM:
		generic_histogram(findings, names, map, people);
		break;
	case GPUMON_GPUPROG_MAP_RING:
		show_ring(&rows);
		break;
	case GPUMON_GPUPROG_MAP_DATA:
		generic_data(findings, names, map, people);
		break;
	case GPUMON_GPUPROG_MAP_THREAD_ARRAY:
		generic_threads(findings, names, map);
		show_array(&rows);
		break;
	default:
		show_array(&rows);
	}
}

void gpumon_gpuprog_generic(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_object *object = names->result->object;

	for (uint32_t i = 0; i < object->maps_n; i++)
		gpumon_gpuprog_generic_map(findings, names, &object->maps[i], true);
}
