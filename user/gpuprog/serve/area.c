// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "area.h"
#include "fold.h"
#include "shared.h"

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
	areas->sum = -1;
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

static void clear_area(const struct gpumon_probe_areas *areas, struct gpumon_probe_area *area)
{
	for (uint32_t j = 0; area->drains && j <= areas->object->maps_n; j++)
		gpumon_probe_drain_clear(&area->drains[j]);
	free(area->drains);
	free(area->images);
	munmap(area->memory, areas->plan->settings.bytes);
	area->drains = NULL;
	area->images = NULL;
	area->memory = NULL;
}

void gpumon_probe_areas_clear(struct gpumon_probe_areas *areas)
{
	uint32_t maps_n = areas->object->maps_n;

	for (uint32_t i = 0; i < areas->areas_n; i++)
		if (areas->areas[i].memory)
			clear_area(areas, &areas->areas[i]);
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
		const struct gpumon_probe_map *map = i < object->maps_n ? &object->maps[i] :
									  &gpumon_probe_print_map;

		if (is_ring(map) &&
		    gpumon_probe_drain_init(&area->drains[i], map, areas->plan->shards))
			return -1;
	}
	return 0;
}

/* Return: the descriptor of its memory, or -1. */
static int make_area(struct gpumon_probe_areas *areas, const char *name)
{
	const struct gpumon_wire_settings *settings = &areas->plan->settings;
	uint32_t maps_n = areas->object->maps_n;
	struct gpumon_probe_area *area;
	void *memory;
	int fd;

	if (areas->areas_n == GPUMON_PROBE_MAX_AREAS)
		return -1;
	fd = gpumon_probe_shared_make("gpumon-context", settings->bytes, &memory);
	if (fd < 0)
		return -1;
	area = &areas->areas[areas->areas_n];
	area->memory = memory;
	area->name = gpumon_pool_text(&areas->pool, name);
	area->drains = calloc(maps_n + 1, sizeof(*area->drains));
	area->images = calloc(maps_n + 1, sizeof(*area->images));
	if (!area->drains || !area->images || make_drains(areas, area)) {
		clear_area(areas, area);
		close(fd);
		return -1;
	}
	for (uint32_t i = 0; i < maps_n; i++)
		area->images[i] = area->memory + settings->places[1 + i];
	areas->areas_n++;
	return fd;
}

/* The area of contexts that have ended; NULL without memory. */
static struct gpumon_probe_area *sum_area(struct gpumon_probe_areas *areas)
{
	const struct gpumon_probe_object *object = areas->object;
	struct gpumon_probe_area *area;
	int fd;

	if (areas->sum >= 0)
		return &areas->areas[areas->sum];
	fd = make_area(areas, "contexts that have ended");
	if (fd < 0)
		return NULL;
	close(fd);
	areas->sum = (int32_t)areas->areas_n - 1;
	area = &areas->areas[areas->sum];
	area->settled = true;
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (object->maps[i].data && !(areas->plan->settings.shared >> i & 1))
			memcpy(area->memory + areas->plan->settings.places[1 + i],
			       object->maps[i].data, gpumon_probe_content_bytes(&object->maps[i]));
	return area;
}

/* Add the oldest of those that have ended to the others. */
static void fold_oldest(struct gpumon_probe_areas *areas)
{
	struct gpumon_probe_area *oldest = NULL, *sum;
	uint32_t ended = 0;

	for (uint32_t i = areas->areas_n; i-- > 0;) {
		if (!areas->areas[i].ended || !areas->areas[i].memory)
			continue;
		ended++;
		oldest = &areas->areas[i];
	}
	sum = ended > GPUMON_PROBE_ENDED_AREAS ? sum_area(areas) : NULL;
	if (!sum)
		return;
	gpumon_probe_fold(areas->object, areas->plan, sum->memory, oldest->memory);
	clear_area(areas, oldest);
}

void gpumon_probe_areas_ended(struct gpumon_probe_areas *areas, uint32_t number)
{
	if (number >= areas->areas_n || areas->areas[number].ended)
		return;
	areas->areas[number].ended = true;
	fold_oldest(areas);
}

/* Processes end without a word. */
static void find_ended(struct gpumon_probe_areas *areas)
{
	for (uint32_t i = 0; i < areas->areas_n; i++) {
		const struct gpumon_probe_area *area = &areas->areas[i];

		if (area->pid > 0 && !area->ended && kill(area->pid, 0) && errno == ESRCH)
			gpumon_probe_areas_ended(areas, i);
	}
}

int gpumon_probe_areas_add(struct gpumon_probe_areas *areas, const char *name, pid_t pid, int *fd)
{
	find_ended(areas);
	*fd = make_area(areas, name);
	if (*fd < 0)
		return -1;
	areas->areas[areas->areas_n - 1].pid = pid;
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

	if (reader->clear)
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

	if (number >= areas->areas_n || error_ns > INT64_MAX / 4 || offset_ns > INT64_MAX / 4 ||
	    offset_ns < INT64_MIN / 4)
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

void gpumon_probe_areas_share(struct gpumon_probe_areas *areas, uint32_t map, const void *memory)
{
	for (uint32_t i = 0; i < areas->areas_n; i++) {
		if (!areas->areas[i].images)
			continue;
		areas->areas[i].images[map] = memory;
		return;
	}
}

struct gpumon_probe_device *gpumon_probe_areas_devices(const struct gpumon_probe_areas *areas)
{
	struct gpumon_probe_device *devices = calloc(areas->areas_n + 1, sizeof(*devices));

	for (uint32_t i = 0; devices && i < areas->areas_n; i++) {
		devices[i].name = areas->areas[i].name;
		devices[i].shards = areas->plan->shards;
		devices[i].images = areas->areas[i].images;
		devices[i].clock = areas->areas[i].clock;
		if (!areas->areas[i].memory)
			continue;
		memcpy(&devices[i].control,
		       areas->areas[i].memory + areas->plan->settings.places[0],
		       sizeof(devices[i].control));
	}
	return devices;
}
