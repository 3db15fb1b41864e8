// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

void sample_init(struct sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample->object.maps = sample->maps;
	sample->run.kernels = sample->kernels;
	sample->run.lines = sample->lines;
	sample->result.object = &sample->object;
	sample->result.run = &sample->run;
	sample->result.devices = sample->devices;
	sample->result.records = sample->records;
}

void sample_clear(struct sample *sample)
{
	for (uint32_t i = 0; i < SAMPLE_MAPS; i++) {
		gpumon_gpuprog_records_clear(&sample->records[i]);
		for (uint32_t device = 0; device < SAMPLE_DEVICES; device++)
			free(sample->images[device][i]);
	}
	free(sample->text);
	json_object_put(sample->document);
	sample->object.maps = NULL;
	gpumon_gpuprog_object_clear(&sample->object);
}

static void init_records(struct sample *sample, uint32_t map)
{
	gpumon_gpuprog_records_init(&sample->records[map], &sample->maps[map],
				    GPUMON_GPUPROG_KEPT_BYTES);
}

uint32_t sample_map(struct sample *sample, const char *name, enum gpumon_gpuprog_map_kind kind,
		    uint32_t key_size, uint32_t value_size, uint32_t entries)
{
	uint32_t map = sample->object.maps_n++;

	assert_true(map < SAMPLE_MAPS);
	sample->maps[map] = (struct gpumon_gpuprog_map){ .name = name,
							 .kind = kind,
							 .key_size = key_size,
							 .value_size = value_size,
							 .max_entries = entries };
	init_records(sample, map);
	return map;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	uint8_t *bytes = malloc(GPUMON_GPUPROG_MAX_OBJECT);
	FILE *file = fopen(path, "rb");

	if (!file)
		fail_msg("%s is missing: make all", path);
	assert_non_null(bytes);
	*size = fread(bytes, 1, GPUMON_GPUPROG_MAX_OBJECT, file);
	fclose(file);
	return bytes;
}

void sample_init_tool(struct sample *sample, const char *tool)
{
	struct gpumon_error err;
	char path[4096];
	uint8_t *bytes;
	size_t size;

	sample_init(sample);
	snprintf(path, sizeof(path), "%s/bpf/gpu/%s.bpf.o", OBJECTS, tool);
	bytes = read_file(path, &size);
	if (gpumon_gpuprog_object_read(bytes, size, tool, &sample->object, &err))
		fail_msg("%s", err.message);
	free(bytes);
	assert_true(sample->object.maps_n <= SAMPLE_MAPS);
	memcpy(sample->maps, sample->object.maps, sample->object.maps_n * sizeof(sample->maps[0]));
	sample->object.maps = sample->maps;
	for (uint32_t i = 0; i < sample->object.maps_n; i++)
		init_records(sample, i);
	sample->result.tool = tool;
}

uint32_t sample_find(const struct sample *sample, const char *name)
{
	for (uint32_t i = 0; i < sample->object.maps_n; i++)
		if (!strcmp(sample->maps[i].name, name))
			return i;
	fail_msg("there is no map %s", name);
	return 0;
}

uint32_t sample_device(struct sample *sample, uint32_t shards)
{
	uint32_t device = sample->result.devices_n++;

	assert_true(device < SAMPLE_DEVICES);
	for (uint32_t i = 0; i < sample->object.maps_n; i++) {
		if (sample->maps[i].kind == GPUMON_GPUPROG_MAP_RING)
			continue;
		sample->images[device][i] =
			calloc(1, gpumon_gpuprog_map_bytes(&sample->maps[i], shards));
		assert_non_null(sample->images[device][i]);
	}
	sample->devices[device].shards = shards;
	sample->devices[device].images = (const void *const *)sample->images[device];
	return device;
}

uint32_t sample_kernel(struct sample *sample, const char *mangled, enum gpumon_gpuprog_way way)
{
	uint32_t kernel = sample->run.kernels_n++;

	assert_true(kernel < SAMPLE_KERNELS);
	sample->kernels[kernel] =
		(struct gpumon_gpuprog_kernel){ .name = mangled, .way = way, .why = "" };
	return kernel;
}

void sample_begin(struct sample *sample, const char *tool)
{
	sample_init_tool(sample, tool);
	sample_device(sample, 4);
	sample_kernel(sample, "_Z9vectorAddPKfS0_Pf", GPUMON_GPUPROG_WAY_PTX);
}

uint64_t sample_line(struct sample *sample, uint32_t kernel, const char *file, uint32_t line)
{
	assert_true(sample->run.lines_n < SAMPLE_LINES);
	sample->lines[sample->run.lines_n] = (struct gpumon_gpuprog_line_of){ kernel, line, file };
	return ++sample->run.lines_n;
}

void *sample_at(struct sample *sample, uint32_t device, uint32_t map, uint32_t shard,
		uint64_t index)
{
	const struct gpumon_gpuprog_map *of = &sample->maps[map];

	assert_true(index < of->max_entries);
	assert_true(shard < sample->devices[device].shards);
	return (uint8_t *)sample->images[device][map] + shard * gpumon_gpuprog_shard_bytes(of) +
	       index * gpumon_gpuprog_value_bytes(of);
}

void sample_add(struct sample *sample, uint32_t device, uint32_t map, uint32_t shard,
		uint64_t index, uint32_t word, uint64_t amount)
{
	uint64_t *value = sample_at(sample, device, map, shard, index);

	value[word] += amount;
}

/* The slot of a key, or the first empty one on the way to it. */
static uint8_t *find_slot(struct sample *sample, uint32_t device, uint32_t map, const void *key)
{
	const struct gpumon_gpuprog_map *of = &sample->maps[map];
	struct gpumon_gpuprog_hash hash = gpumon_gpuprog_hash_layout(of);
	uint64_t at = gpumon_gpuprog_key_hash(key, of->key_size) >> 32;
	uint8_t *slot;

	for (uint32_t i = 0; i < hash.probes; i++) {
		at = (at + i) % hash.slots;
		slot = (uint8_t *)sample->images[device][map] + at * hash.slot_bytes;
		if (!*(uint64_t *)slot || !memcmp(slot + hash.key, key, of->key_size))
			return slot;
	}
	fail_msg("no room in hash %s", of->name);
	return NULL;
}

static void set_state(uint8_t *slot, const struct gpumon_gpuprog_map *map, const void *key,
		      enum gpumon_gpuprog_slot_state state)
{
	*(uint64_t *)slot = (gpumon_gpuprog_key_hash(key, map->key_size) & ~3ULL) | state;
}

void *sample_put(struct sample *sample, uint32_t device, uint32_t map, const void *key)
{
	const struct gpumon_gpuprog_map *of = &sample->maps[map];
	struct gpumon_gpuprog_hash hash = gpumon_gpuprog_hash_layout(of);
	uint8_t *slot = find_slot(sample, device, map, key);

	memcpy(slot + hash.key, key, of->key_size);
	set_state(slot, of, key, GPUMON_GPUPROG_SLOT_READY);
	return slot + hash.value;
}

void sample_delete(struct sample *sample, uint32_t device, uint32_t map, const void *key)
{
	set_state(find_slot(sample, device, map, key), &sample->maps[map], key,
		  GPUMON_GPUPROG_SLOT_DELETED);
}

void sample_record(struct sample *sample, uint32_t device, uint32_t map, const void *record,
		   uint32_t size)
{
	gpumon_gpuprog_records_add(&sample->records[map], device, record, size);
}

void sample_launch(struct sample *sample, uint32_t device, uint32_t kernel, uint64_t ns)
{
	assert_true(sample->result.launches_n < SAMPLE_LAUNCHES);
	sample->launches[sample->result.launches_n++] =
		(struct gpumon_gpuprog_launch){ kernel, device, ns };
	sample->result.launches = sample->launches;
}

const char *sample_print(struct sample *sample, bool tty)
{
	struct gpumon_term term = { .tty = tty, .columns = tty ? 100 : 0 };
	struct gpumon_findings *findings = gpumon_gpuprog_findings(&sample->result);
	size_t size;
	FILE *out;

	free(sample->text);
	out = open_memstream(&sample->text, &size);
	assert_non_null(out);
	assert_int_equal(gpumon_findings_print(findings, &term, out), 0);
	gpumon_findings_free(findings);
	fclose(out);
	return sample->text;
}

struct json_object *sample_json(struct sample *sample)
{
	struct gpumon_findings *findings = gpumon_gpuprog_findings(&sample->result);
	struct json_object *document = gpumon_findings_json(findings);

	gpumon_findings_free(findings);
	assert_non_null(document);
	json_object_put(sample->document);
	sample->document = json_tokener_parse(json_object_to_json_string(document));
	assert_non_null(sample->document);
	json_object_put(document);
	return sample->document;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no \"%s\" in %s", key, json_object_to_json_string(object));
	return value;
}

struct json_object *sample_rows(struct json_object *document, const char *table)
{
	return member(member(member(document, "tables"), table), "rows");
}

static struct json_object *cell(struct json_object *rows, size_t row, const char *key)
{
	if (row >= json_object_array_length(rows))
		fail_msg("no row %zu in %s", row, json_object_to_json_string(rows));
	return member(json_object_array_get_idx(rows, row), key);
}

uint64_t row_number(struct json_object *rows, size_t row, const char *key)
{
	return json_object_get_uint64(cell(rows, row, key));
}

const char *row_text(struct json_object *rows, size_t row, const char *key)
{
	return json_object_get_string(cell(rows, row, key));
}

/* Whether one of the sentences ("found", "notes") is this one. */
static bool is_said(struct json_object *document, const char *list, const char *sentence)
{
	struct json_object *lines = member(document, list);

	for (size_t i = 0; i < json_object_array_length(lines); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(lines, i)), sentence))
			return true;
	return false;
}

void assert_in(const char *output, const char *text)
{
	if (!strstr(output, text))
		fail_msg("no \"%s\" in:\n%s", text, output);
}

void assert_not_in(const char *output, const char *text)
{
	if (strstr(output, text))
		fail_msg("\"%s\" is in:\n%s", text, output);
}

static void assert_line(struct sample *sample, const char *list, const char *sentence)
{
	struct json_object *document = sample_json(sample);

	if (!is_said(document, list, sentence))
		fail_msg("\"%s\" is not in %s: %s", sentence, list,
			 json_object_to_json_string(member(document, list)));
}

void assert_found(struct sample *sample, const char *sentence)
{
	assert_line(sample, "found", sentence);
}

void assert_noted(struct sample *sample, const char *sentence)
{
	assert_line(sample, "notes", sentence);
}
