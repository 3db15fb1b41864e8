// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "internal.h"

static int grow_interned(struct gpumon_uprobe_interned *set)
{
	uint32_t room = set->room ? 2 * set->room : 256;
	struct gpumon_uprobe_item *items = calloc(room, sizeof(*items));

	if (!items)
		return -1;
	for (uint32_t i = 0; i < set->room; i++) {
		uint32_t at;

		if (!set->items[i].id)
			continue;
		at = (uint32_t)set->items[i].hash & (room - 1);
		while (items[at].id)
			at = (at + 1) & (room - 1);
		items[at] = set->items[i];
	}
	free(set->items);
	set->items = items;
	set->room = room;
	return 0;
}

uint32_t gpumon_uprobe_intern(struct gpumon_uprobe_interned *set, const void *bytes, uint32_t size,
			      bool *is_new)
{
	uint64_t hash = gpumon_hash_bytes(bytes, size);
	struct gpumon_uprobe_item *item;
	uint32_t at;

	*is_new = false;
	if (4 * (uint64_t)set->count >= 3 * (uint64_t)set->room && grow_interned(set))
		return 0;
	at = (uint32_t)hash & (set->room - 1);
	for (item = &set->items[at]; item->id; item = &set->items[at]) {
		if (item->hash == hash && item->size == size && !memcmp(item->bytes, bytes, size))
			return item->id;
		at = (at + 1) & (set->room - 1);
	}
	item->bytes = malloc(size ? size : 1);
	if (!item->bytes)
		return 0;
	memcpy(item->bytes, bytes, size);
	item->hash = hash;
	item->size = size;
	item->id = ++set->last_id;
	set->count++;
	*is_new = true;
	return item->id;
}

void gpumon_uprobe_interned_free(struct gpumon_uprobe_interned *set)
{
	for (uint32_t i = 0; i < set->room; i++)
		free(set->items[i].bytes);
	free(set->items);
	*set = (struct gpumon_uprobe_interned){ 0 };
}
