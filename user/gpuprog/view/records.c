// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/layout.h"
#include "records.h"

#define HEADER_BYTES 8
#define FIRST_ROOM   1024

void gpumon_probe_records_init(struct gpumon_probe_records *records,
			       const struct gpumon_probe_map *map, uint64_t most_bytes)
{
	memset(records, 0, sizeof(*records));
	records->slot_bytes = HEADER_BYTES + (uint32_t)gpumon_probe_value_bytes(map);
	records->most = most_bytes / records->slot_bytes;
	if (!records->most)
		records->most = 1;
}

void gpumon_probe_records_clear(struct gpumon_probe_records *records)
{
	free(records->slots);
	memset(records, 0, sizeof(*records));
}

/* There is always room for the next one, or what is there is full and is used in a circle. */
static void make_room(struct gpumon_probe_records *records)
{
	uint64_t room = records->room ? records->room * 2 : FIRST_ROOM;
	uint8_t *slots;

	if (records->added < records->room || records->room == records->most || records->failed)
		return;
	if (room > records->most)
		room = records->most;
	slots = realloc(records->slots, room * records->slot_bytes);
	if (!slots) {
		records->failed = true;
		return;
	}
	records->slots = slots;
	records->room = room;
}

void gpumon_probe_records_add(struct gpumon_probe_records *records, uint32_t device,
			      const void *data, uint32_t size)
{
	uint32_t most = records->slot_bytes - HEADER_BYTES;
	uint8_t *slot;

	make_room(records);
	if (records->room) {
		slot = records->slots + records->added % records->room * records->slot_bytes;
		size = size < most ? size : most;
		memcpy(slot, &device, sizeof(device));
		memcpy(slot + sizeof(device), &size, sizeof(size));
		memcpy(slot + HEADER_BYTES, data, size);
		memset(slot + HEADER_BYTES + size, 0, most - size);
	}
	records->added++;
}

uint64_t gpumon_probe_records_kept(const struct gpumon_probe_records *records)
{
	return records->added < records->room ? records->added : records->room;
}

struct gpumon_probe_record gpumon_probe_records_at(const struct gpumon_probe_records *records,
						   uint64_t index)
{
	uint64_t first = records->added - gpumon_probe_records_kept(records);
	const uint8_t *slot =
		records->slots + (first + index) % records->room * records->slot_bytes;
	struct gpumon_probe_record record = { .data = slot + HEADER_BYTES };

	memcpy(&record.device, slot, sizeof(record.device));
	memcpy(&record.size, slot + sizeof(record.device), sizeof(record.size));
	return record;
}
