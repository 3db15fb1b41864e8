// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol_mappings.h"

/* vm.max_map_count is 65530, and unmapped intervals count here as well. */
#define INTERVALS_MAX (256u << 10)

/* Number of items that begin at or before an address. */
static size_t count_until(const struct gpumon_symbol_intervals *intervals, uint64_t address)
{
	size_t low = 0, high = intervals->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int grow_intervals(struct gpumon_symbol_intervals *intervals)
{
	size_t room = intervals->room ? intervals->room * 2 : 64;
	void *p = realloc(intervals->items, room * sizeof(*intervals->items));

	if (!p)
		return -1;
	intervals->items = p;
	p = realloc(intervals->reach, room * sizeof(*intervals->reach));
	if (!p)
		return -1;
	intervals->reach = p;
	intervals->room = room;
	return 0;
}

static int insert_mapping(struct gpumon_symbol_intervals *intervals,
			  const struct gpumon_symbol_mapping *item)
{
	size_t at = count_until(intervals, item->start);

	if (intervals->count == intervals->room && grow_intervals(intervals))
		return -1;
	memmove(intervals->items + at + 1, intervals->items + at,
		(intervals->count - at) * sizeof(*intervals->items));
	memmove(intervals->reach + at + 1, intervals->reach + at,
		(intervals->count - at) * sizeof(*intervals->reach));
	intervals->items[at] = *item;
	intervals->reach[at] =
		at && intervals->reach[at - 1] > item->end ? intervals->reach[at - 1] : item->end;
	intervals->count++;
	for (size_t i = at + 1; i < intervals->count && intervals->reach[i] < item->end; i++)
		intervals->reach[i] = item->end;
	return 0;
}

typedef bool each_t(void *data, struct gpumon_symbol_mapping *item);

/* Call @each with all items that overlap [start, end), last first, until it returns false. */
static void visit_all_over(const struct gpumon_symbol_intervals *intervals, uint64_t start,
			   uint64_t end, each_t *each, void *data)
{
	for (size_t i = count_until(intervals, end - 1); i-- && intervals->reach[i] > start;) {
		if (intervals->items[i].end > start && !each(data, &intervals->items[i]))
			break;
	}
}

struct same {
	const struct gpumon_symbol_mapping *wanted;
	struct gpumon_symbol_mapping *found;
	bool other;
};

static bool is_same(void *data, struct gpumon_symbol_mapping *item)
{
	struct same *same = data;

	if (!same->found && item->start == same->wanted->start && item->end == same->wanted->end &&
	    item->offset == same->wanted->offset && item->object == same->wanted->object)
		same->found = item;
	else
		same->other = true;
	return !same->other;
}

int gpumon_symbol_mappings_add(struct gpumon_symbol_mappings *mappings,
			       const struct gpumon_symbol_mapping *mapping)
{
	struct same same = { .wanted = mapping };

	if (mapping->start >= mapping->end)
		return 0;
	visit_all_over(&mappings->mapped, mapping->start, mapping->end, is_same, &same);
	if (same.found && !same.other)
		visit_all_over(&mappings->unmapped, mapping->start, mapping->end, is_same, &same);
	/* A recorder reports all mappings repeatedly. That should not use more memory. */
	if (same.found && !same.other) {
		if (same.found->first_ns > mapping->first_ns)
			same.found->first_ns = mapping->first_ns;
		if (same.found->last_ns < mapping->last_ns)
			same.found->last_ns = mapping->last_ns;
		return 0;
	}
	if (mappings->mapped.count >= INTERVALS_MAX) {
		mappings->refused++;
		return 0;
	}
	return insert_mapping(&mappings->mapped, mapping);
}

int gpumon_symbol_mappings_remove(struct gpumon_symbol_mappings *mappings, uint64_t start,
				  uint64_t end, uint64_t time_ns)
{
	struct gpumon_symbol_mapping item = {
		.start = start, .end = end, .first_ns = time_ns, .last_ns = time_ns
	};

	if (start >= end)
		return 0;
	if (mappings->unmapped.count >= INTERVALS_MAX) {
		mappings->refused++;
		return 0;
	}
	return insert_mapping(&mappings->unmapped, &item);
}

struct choice {
	uint64_t time_ns;
	uint64_t before_ns;			    /* time when @before was seen */
	const struct gpumon_symbol_mapping *before; /* last seen before or at @time_ns */
	const struct gpumon_symbol_mapping *after;  /* first seen after it */
	const struct gpumon_symbol_mapping *any;
	bool differ;
};

static bool choose_mapping(void *data, struct gpumon_symbol_mapping *item)
{
	struct choice *choice = data;

	if (choice->any && (choice->any->object != item->object ||
			    choice->any->offset - choice->any->start != item->offset - item->start))
		choice->differ = true;
	choice->any = item;

	if (item->first_ns > choice->time_ns) {
		if (!choice->after || item->first_ns < choice->after->first_ns)
			choice->after = item;
	} else {
		uint64_t seen = item->last_ns <= choice->time_ns ? item->last_ns : item->first_ns;

		/* Of two seen at the same time, the one added later counts. It comes first here. */
		if (!choice->before || seen > choice->before_ns) {
			choice->before = item;
			choice->before_ns = seen;
		}
	}
	return true;
}

struct gone {
	uint64_t after_ns;
	uint64_t until_ns;
	bool gone;
};

static bool is_gone(void *data, struct gpumon_symbol_mapping *item)
{
	struct gone *gone = data;

	gone->gone = item->first_ns > gone->after_ns && item->first_ns <= gone->until_ns;
	return !gone->gone;
}

static bool unmapped_between(const struct gpumon_symbol_mappings *mappings, uint64_t address,
			     uint64_t after_ns, uint64_t until_ns)
{
	struct gone gone = { after_ns, until_ns, false };

	visit_all_over(&mappings->unmapped, address, address + 1, is_gone, &gone);
	return gone.gone;
}

const struct gpumon_symbol_mapping *
gpumon_symbol_mappings_find(const struct gpumon_symbol_mappings *mappings, uint64_t address,
			    uint64_t time_ns)
{
	struct choice choice = { .time_ns = time_ns };

	if (address == UINT64_MAX)
		return NULL;
	visit_all_over(&mappings->mapped, address, address + 1, choose_mapping, &choice);
	if (!time_ns)
		return choice.differ ? NULL : choice.any;
	if (choice.before && !unmapped_between(mappings, address, choice.before_ns, time_ns))
		return choice.before;
	if (choice.after && !unmapped_between(mappings, address, time_ns, choice.after->first_ns))
		return choice.after;
	return NULL;
}

void gpumon_symbol_mappings_free(struct gpumon_symbol_mappings *mappings)
{
	free(mappings->mapped.items);
	free(mappings->mapped.reach);
	free(mappings->unmapped.items);
	free(mappings->unmapped.reach);
	*mappings = (struct gpumon_symbol_mappings){ 0 };
}
