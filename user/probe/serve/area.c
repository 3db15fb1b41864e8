// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "area.h"

static bool is_ring(const struct gpumon_probe_map *map)
{
	return map->kind == GPUMON_PROBE_MAP_RING;
}

int gpumon_probe_areas_init(struct gpumon_probe_areas *areas,
			    const struct gpumon_probe_object *object,
			    const struct gpumon_probe_plan *plan)
{
	memset(areas, 0, sizeof(*areas));
	areas->object = object;
	areas->plan = plan;
	areas->records = calloc(object->maps_n + 1, sizeof(*areas->records));
	if (!areas->records)
		return -1;
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (is_ring(&object->maps[i]))
			gpumon_probe_records_init(&areas->records[i], &object->maps[i],
						  GPUMON_PROBE_KEPT_BYTES);
	gpumon_probe_records_init(&areas->prints, &gpumon_probe_print_map, GPUMON_PROBE_KEPT_BYTES);
	return 0;
}

void gpumon_probe_areas_clear(struct gpumon_probe_areas *areas)
{
	uint32_t maps_n = areas->object->maps_n;

	for (uint32_t i = 0; i < areas->areas_n; i++) {
		struct gpumon_probe_area *area = &areas->areas[i];

		for (uint32_t j = 0; area->drains && j <= maps_n; j++)
			gpumon_probe_drain_clear(&area->drains[j]);
		free(area->drains);
		free(area->images);
		munmap(area->memory, areas->plan->settings.bytes);
	}
	for (uint32_t i = 0; areas->records && i < maps_n; i++)
		gpumon_probe_records_clear(&areas->records[i]);
	free(areas->records);
	gpumon_probe_records_clear(&areas->prints);
	gpumon_pool_clear(&areas->pool);
}

static int make_drains(const struct gpumon_probe_areas *areas, struct gpumon_probe_area *area)
{
	const struct gpumon_probe_object *object = areas->object;

	for (uint32_t i = 0; i <= object->maps_n; i++) {
		const struct gpumon_probe_map *map =
			i < object->maps_n ? &object->maps[i] : &gpumon_probe_print_map;

		if (is_ring(map) &&
		    gpumon_probe_drain_init(&area->drains[i], map, areas->plan->shards))
			return -1;
	}
	return 0;
}

static int make_memory(struct gpumon_probe_areas *areas, struct gpumon_probe_area *area, int *fd)
{
	const struct gpumon_wire_settings *settings = &areas->plan->settings;

	*fd = memfd_create("gpumon-context", MFD_CLOEXEC);
	if (*fd < 0)
		return -1;
	if (!ftruncate(*fd, (off_t)settings->bytes)) {
		area->memory = mmap(NULL, settings->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd,
				    0);
		if (area->memory != MAP_FAILED)
			return 0;
	}
	close(*fd);
	return -1;
}

int gpumon_probe_areas_add(struct gpumon_probe_areas *areas, const char *name, int *fd)
{
	const struct gpumon_wire_settings *settings = &areas->plan->settings;
	uint32_t maps_n = areas->object->maps_n;
	struct gpumon_probe_area *area;

	if (areas->areas_n == GPUMON_PROBE_MAX_AREAS)
		return -1;
	area = &areas->areas[areas->areas_n];
	if (make_memory(areas, area, fd))
		return -1;
	areas->areas_n++;
	area->name = gpumon_pool_text(&areas->pool, name);
	area->drains = calloc(maps_n + 1, sizeof(*area->drains));
	area->images = calloc(maps_n + 1, sizeof(*area->images));
	if (!area->drains || !area->images || make_drains(areas, area)) {
		close(*fd);
		return -1;
	}
	for (uint32_t i = 0; i < maps_n; i++)
		area->images[i] = area->memory + settings->places[1 + i];
	return (int)areas->areas_n - 1;
}

/**
 * struct reader - reads one ring of one context
 * @records: where its records go
 * @device: number of the context
 * @place: of the ring in the memory
 */
struct reader {
	struct gpumon_probe_records *records;
	uint32_t device;
	uint64_t place;
	void (*clear)(void *argument, uint64_t offset, uint64_t size);
	void *argument;
};

static void take_record(void *argument, const void *data, uint32_t size)
{
	const struct reader *reader = argument;

	gpumon_probe_records_add(reader->records, reader->device, data, size);
}

static void take_clear(void *argument, uint64_t offset, uint64_t size)
{
	const struct reader *reader = argument;

	reader->clear(reader->argument, reader->place + offset, size);
}

static void read_ring(const struct gpumon_probe_areas *areas, struct gpumon_probe_area *area,
		      uint32_t index, const struct gpumon_probe_map *map, struct reader *reader,
		      bool quiet)
{
	struct gpumon_probe_drain *drain = &area->drains[index];

	drain->record = take_record;
	drain->clear = take_clear;
	drain->arg = reader;
	gpumon_probe_ring_drain(drain, map, areas->plan->shards, area->memory + reader->place,
				quiet);
}

void gpumon_probe_areas_copied(struct gpumon_probe_areas *areas, uint32_t number, bool quiet,
			       void (*clear)(void *argument, uint64_t offset, uint64_t size),
			       void *argument)
{
	const struct gpumon_wire_settings *settings = &areas->plan->settings;
	const struct gpumon_probe_object *object = areas->object;
	struct reader reader = { .device = number, .clear = clear, .argument = argument };
	struct gpumon_probe_area *area;

	if (number >= areas->areas_n || !areas->areas[number].drains)
		return;
	area = &areas->areas[number];
	area->settled = quiet;
	for (uint32_t i = 0; i < object->maps_n; i++) {
		if (!is_ring(&object->maps[i]))
			continue;
		reader.records = &areas->records[i];
		reader.place = settings->places[1 + i];
		read_ring(areas, area, i, &object->maps[i], &reader, quiet);
	}
	if (!settings->print)
		return;
	reader.records = &areas->prints;
	reader.place = settings->print;
	read_ring(areas, area, object->maps_n, &gpumon_probe_print_map, &reader, quiet);
}

void gpumon_probe_areas_clock(struct gpumon_probe_areas *areas, uint32_t number, int64_t offset_ns,
			      uint64_t error_ns)
{
	struct gpumon_probe_clock *clock;
	int64_t low = offset_ns - (int64_t)error_ns, high = offset_ns + (int64_t)error_ns;

	if (number >= areas->areas_n || error_ns > INT64_MAX / 4)
		return;
	clock = &areas->areas[number].clock;
	if (clock->known) {
		int64_t before = (int64_t)clock->error_ns;

		low = clock->offset_ns - before < low ? clock->offset_ns - before : low;
		high = clock->offset_ns + before > high ? clock->offset_ns + before : high;
	}
	clock->known = true;
	clock->error_ns = ((uint64_t)high - (uint64_t)low + 1) / 2;
	clock->offset_ns = low + (int64_t)clock->error_ns;
}

struct gpumon_probe_device *gpumon_probe_areas_devices(const struct gpumon_probe_areas *areas)
{
	struct gpumon_probe_device *devices = calloc(areas->areas_n + 1, sizeof(*devices));

	for (uint32_t i = 0; devices && i < areas->areas_n; i++) {
		devices[i].name = areas->areas[i].name;
		devices[i].shards = areas->plan->shards;
		devices[i].images = areas->areas[i].images;
		devices[i].clock = areas->areas[i].clock;
		memcpy(&devices[i].control,
		       areas->areas[i].memory + areas->plan->settings.places[0],
		       sizeof(devices[i].control));
	}
	return devices;
}
