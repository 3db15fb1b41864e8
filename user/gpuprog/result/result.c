// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "result.h"

#define HEADER_BYTES 8
#define FIRST_ROOM   1024

void gpumon_gpuprog_records_init(struct gpumon_gpuprog_records *records,
				 const struct gpumon_gpuprog_map *map, uint64_t most_bytes)
{
	memset(records, 0, sizeof(*records));
	records->slot_bytes = HEADER_BYTES + (uint32_t)gpumon_gpuprog_value_bytes(map);
	records->most = most_bytes / records->slot_bytes;
	if (!records->most)
		records->most = 1;
}

void gpumon_gpuprog_records_clear(struct gpumon_gpuprog_records *records)
{
	free(records->slots);
	memset(records, 0, sizeof(*records));
}

/* There is room for the next text; if the memory is full, it is used in a circle. */
static void make_room(struct gpumon_gpuprog_records *records)
{
	uint64_t room = records->room ? records->room * 2 : FIRST_ROOM;

	if (records->added < records->room || records->room == records->most)
		return;
	if (room > records->most)
		room = records->most;
	records->slots = gpumon_realloc(records->slots, room * records->slot_bytes);
	records->room = room;
}

void gpumon_gpuprog_records_add(struct gpumon_gpuprog_records *records, uint32_t device,
				const void *data, uint32_t size)
{
	uint32_t most = records->slot_bytes - HEADER_BYTES;
	uint8_t *slot;

	make_room(records);
	slot = records->slots + records->added % records->room * records->slot_bytes;
	size = size < most ? size : most;
	memcpy(slot, &device, sizeof(device));
	memcpy(slot + sizeof(device), &size, sizeof(size));
	memcpy(slot + HEADER_BYTES, data, size);
	memset(slot + HEADER_BYTES + size, 0, most - size);
	records->added++;
}

uint64_t gpumon_gpuprog_records_kept(const struct gpumon_gpuprog_records *records)
{
	return records->added < records->room ? records->added : records->room;
}

struct gpumon_gpuprog_record gpumon_gpuprog_records_at(const struct gpumon_gpuprog_records *records,
						       uint64_t index)
{
	uint64_t first = records->added - gpumon_gpuprog_records_kept(records);
	const uint8_t *slot =
		records->slots + (first + index) % records->room * records->slot_bytes;
	struct gpumon_gpuprog_record record = { .data = slot + HEADER_BYTES };

	memcpy(&record.device, slot, sizeof(record.device));
	memcpy(&record.size, slot + sizeof(record.device), sizeof(record.size));
	return record;
}

const struct gpumon_gpuprog_map *
gpumon_gpuprog_result_map(const struct gpumon_gpuprog_result *result, const char *name)
{
	return gpumon_gpuprog_object_map(result->object, name, strlen(name));
}

static uint32_t map_number(const struct gpumon_gpuprog_result *result,
			   const struct gpumon_gpuprog_map *map)
{
	return (uint32_t)(map - result->object->maps);
}

const void *gpumon_gpuprog_image_of(const struct gpumon_gpuprog_result *result, uint32_t device,
				    const struct gpumon_gpuprog_map *map)
{
	const void *const *images = result->devices[device].images;

	return images ? images[map_number(result, map)] : NULL;
}

const struct gpumon_gpuprog_records *
gpumon_gpuprog_records_of(const struct gpumon_gpuprog_result *result,
			  const struct gpumon_gpuprog_map *map)
{
	static const struct gpumon_gpuprog_records none;

	return result->records ? &result->records[map_number(result, map)] : &none;
}

void gpumon_gpuprog_value_on(const struct gpumon_gpuprog_result *result, uint32_t device,
			     const struct gpumon_gpuprog_map *map, uint64_t index, void *value)
{
	const void *image = gpumon_gpuprog_image_of(result, device, map);

	if (image)
		gpumon_gpuprog_read_value(map, result->devices[device].shards, image, index, value);
	else
		memset(value, 0, gpumon_gpuprog_read_bytes(map));
}

/* The first @n numbers of a value. @number: room for one whole value. */
static void add_numbers(const struct gpumon_gpuprog_result *result,
			const struct gpumon_gpuprog_map *map, uint64_t index, uint64_t *sums,
			uint32_t n)
{
	uint64_t value[GPUMON_GPUPROG_BUCKETS];

	memset(sums, 0, n * sizeof(*sums));
	for (uint32_t device = 0; device < result->devices_n; device++) {
		gpumon_gpuprog_value_on(result, device, map, index, value);
		for (uint32_t i = 0; i < n; i++)
			sums[i] += value[i];
	}
}

uint64_t gpumon_gpuprog_number(const struct gpumon_gpuprog_result *result,
			       const struct gpumon_gpuprog_map *map, uint64_t index)
{
	uint64_t sum;

	add_numbers(result, map, index, &sum, 1);
	return sum;
}

void gpumon_gpuprog_numbers(const struct gpumon_gpuprog_result *result,
			    const struct gpumon_gpuprog_map *map, uint64_t index, uint64_t *numbers)
{
	add_numbers(result, map, index, numbers, map->value_size / sizeof(*numbers));
}

struct gpumon_gpuprog_buckets gpumon_gpuprog_histogram(const struct gpumon_gpuprog_result *result,
						       const struct gpumon_gpuprog_map *map,
						       uint64_t index)
{
	struct gpumon_gpuprog_buckets buckets;

	add_numbers(result, map, index, buckets.counts, GPUMON_GPUPROG_BUCKETS);
	return buckets;
}

void gpumon_gpuprog_buckets_add(struct gpumon_gpuprog_buckets *buckets, uint64_t value)
{
	buckets->counts[63 - __builtin_clzll(value | 1)]++;
}

uint64_t gpumon_gpuprog_buckets_total(const struct gpumon_gpuprog_buckets *buckets)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < GPUMON_GPUPROG_BUCKETS; i++)
		total = gpumon_add_saturated(total, buckets->counts[i]);
	return total;
}

uint64_t gpumon_gpuprog_bucket_from(uint32_t bucket)
{
	return bucket ? 1ULL << bucket : 0;
}

uint64_t gpumon_gpuprog_bucket_to(uint32_t bucket)
{
	return (2ULL << bucket) - 1;
}

uint64_t gpumon_gpuprog_buckets_reached(const struct gpumon_gpuprog_buckets *buckets,
					uint32_t percent, uint64_t *reached)
{
	uint64_t total = gpumon_gpuprog_buckets_total(buckets), above = 0;

	for (uint32_t i = GPUMON_GPUPROG_BUCKETS; i-- > 0;) {
		above = gpumon_add_saturated(above, buckets->counts[i]);
		if (!above || (double)above * 100 < (double)total * percent)
			continue;
		*reached = above;
		return gpumon_gpuprog_bucket_from(i);
	}
	*reached = 0;
	return 0;
}

void gpumon_gpuprog_losses(const struct gpumon_gpuprog_result *result,
			   uint64_t lost[GPUMON_GPUPROG_LOSS_CAUSES])
{
	memset(lost, 0, GPUMON_GPUPROG_LOSS_CAUSES * sizeof(*lost));
	for (uint32_t i = 0; i < result->devices_n; i++)
		for (uint32_t cause = 0; cause < GPUMON_GPUPROG_LOSS_CAUSES; cause++)
			lost[cause] = gpumon_add_saturated(lost[cause],
							   result->devices[i].control.lost[cause]);
}
