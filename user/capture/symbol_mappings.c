// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "symbol_mappings.h"

/* vm.max_map_count is 65530, and unmapped intervals count here as well. */
#define INTERVALS_MAX (256u << 10)
#define BLOCK_MAX     256u

/* Place of an item. */
struct place {
	uint32_t block;
	uint32_t item;
};

static struct gpumon_symbol_mapping *item_at(const struct gpumon_symbol_intervals *intervals,
					     struct place place)
{
	return &intervals->blocks[place.block].items[place.item];
}

static bool is_after(const struct gpumon_symbol_mapping *item,
		     const struct gpumon_symbol_mapping *key)
{
	if (item->start != key->start)
		return item->start > key->start;
	if (item->end != key->end)
		return item->end > key->end;
	return item->time_ns > key->time_ns;
}

static bool is_range(const struct gpumon_symbol_mapping *a, const struct gpumon_symbol_mapping *b)
{
	return a->start == b->start && a->end == b->end;
}

/* The last item that is not after @key. False if there is none. */
static bool find_last(const struct gpumon_symbol_intervals *intervals,
		      const struct gpumon_symbol_mapping *key, struct place *place)
{
	const struct gpumon_symbol_block *block;
	uint32_t low = 0, high = intervals->used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_after(&intervals->blocks[middle].items[0], key))
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return false;
	place->block = low - 1;
	block = &intervals->blocks[place->block];
	low = 1;
	high = block->used;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_after(&block->items[middle], key))
			high = middle;
		else
			low = middle + 1;
	}
	place->item = low - 1;
	return true;
}

/* The item before, NULL if there is none. */
static struct gpumon_symbol_mapping *step_back(const struct gpumon_symbol_intervals *intervals,
					       struct place *place)
{
	if (!place->item) {
		if (!place->block)
			return NULL;
		place->block--;
		place->item = intervals->blocks[place->block].used;
	}
	place->item--;
	return item_at(intervals, *place);
}

/* The item after, NULL if there is none. */
static struct gpumon_symbol_mapping *step_on(const struct gpumon_symbol_intervals *intervals,
					     struct place *place)
{
	if (++place->item == intervals->blocks[place->block].used) {
		place->item = 0;
		if (++place->block == intervals->used)
			return NULL;
	}
	return item_at(intervals, *place);
}

/* --- adding */

static void set_reach(struct gpumon_symbol_block *block, uint32_t from)
{
	for (uint32_t i = from; i < block->used; i++) {
		struct gpumon_symbol_mapping *item = &block->items[i];

		item->reach = i && item[-1].reach > item->end ? item[-1].reach : item->end;
	}
}

static int add_block(struct gpumon_symbol_intervals *intervals, uint32_t at)
{
	struct gpumon_symbol_block *block;

	if (!GPUMON_ARRAY_ADD(intervals->blocks, intervals->used, intervals->room))
		return -1;
	block = &intervals->blocks[at];
	memmove(block + 1, block, (intervals->used - 1 - at) * sizeof(*block));
	*block = (struct gpumon_symbol_block){ 0 };
	return 0;
}

/* Move the second half of a full block to a new one. @place moves with it. */
static int split_block(struct gpumon_symbol_intervals *intervals, struct place *place)
{
	const uint32_t half = BLOCK_MAX / 2;
	struct gpumon_symbol_mapping *items = malloc(half * sizeof(*items));
	struct gpumon_symbol_block *block;

	if (!items || add_block(intervals, place->block + 1)) {
		free(items);
		return -1;
	}
	block = &intervals->blocks[place->block];
	memcpy(items, block->items + half, half * sizeof(*items));
	block->used = half;
	block[1] = (struct gpumon_symbol_block){ .items = items, .used = half, .room = half };
	set_reach(&block[1], 0);
	if (place->item > half) {
		place->block++;
		place->item -= half;
	}
	return 0;
}

static int insert_item(struct gpumon_symbol_intervals *intervals,
		       const struct gpumon_symbol_mapping *item)
{
	struct gpumon_symbol_block *block;
	struct place place = { 0 };

	if (find_last(intervals, item, &place))
		place.item++;
	else if (!intervals->used && add_block(intervals, 0))
		return -1;
	if (intervals->blocks[place.block].used == BLOCK_MAX && split_block(intervals, &place))
		return -1;
	block = &intervals->blocks[place.block];
	if (!GPUMON_ARRAY_ADD(block->items, block->used, block->room)) {
		/* No block is empty. */
		if (!block->used)
			intervals->used = 0;
		return -1;
	}
	memmove(block->items + place.item + 1, block->items + place.item,
		(block->used - 1 - place.item) * sizeof(*item));
	block->items[place.item] = *item;
	set_reach(block, place.item);
	intervals->count += !item->again;
	return 0;
}

/* Called with the last item of a range. */
typedef bool each_t(void *data, const struct gpumon_symbol_intervals *intervals,
		    const struct place *last);

/* Call @each with all ranges that overlap [start, end), last first, until it returns false. */
static void visit_all_over(const struct gpumon_symbol_intervals *intervals, uint64_t start,
			   uint64_t end, each_t *each, void *data)
{
	struct gpumon_symbol_mapping key = { .start = end - 1,
					     .end = UINT64_MAX,
					     .time_ns = UINT64_MAX };
	struct place place;
	bool found = find_last(intervals, &key, &place);

	while (found) {
		const struct gpumon_symbol_mapping *item = item_at(intervals, place), *before;

		/* Neither this one nor those before it in its block. */
		if (item->reach <= start) {
			place.item = 0;
			found = step_back(intervals, &place);
			continue;
		}
		if (item->end > start && !each(data, intervals, &place))
			break;
		if (place.item && !is_range(item - 1, item)) {
			place.item--;
			continue;
		}
		before = step_back(intervals, &place);
		found = before;
		if (!before || !is_range(before, item))
			continue;
		key = (struct gpumon_symbol_mapping){ .start = item->start,
						      .end = item->end - 1,
						      .time_ns = UINT64_MAX };
		found = find_last(intervals, &key, &place);
	}
}

/* Whether a range has only one mapping, and where. @again: that it was seen again, or NULL. */
static bool is_alone(const struct gpumon_symbol_intervals *intervals, struct place place,
		     struct gpumon_symbol_mapping **first, struct gpumon_symbol_mapping **again)
{
	struct gpumon_symbol_mapping *item = item_at(intervals, place), *before;

	*again = item->again ? item : NULL;
	before = step_back(intervals, &place);
	if (*again) {
		item = before;
		before = step_back(intervals, &place);
	}
	*first = item;
	return !before || !is_range(before, item);
}

struct same {
	const struct gpumon_symbol_mapping *wanted;
	struct gpumon_symbol_mapping *found;
	struct gpumon_symbol_mapping *again;
	bool other;
};

static bool is_same(void *data, const struct gpumon_symbol_intervals *intervals,
		    const struct place *last)
{
	const struct gpumon_symbol_mapping *item = item_at(intervals, *last);
	struct same *same = data;

	same->other = same->found || !is_range(item, same->wanted) ||
		      !is_alone(intervals, *last, &same->found, &same->again) ||
		      same->found->offset != same->wanted->offset ||
		      same->found->object != same->wanted->object;
	return !same->other;
}

/* The address was seen earlier or later than the mapping was known to be there. */
static int see_again(struct gpumon_symbol_intervals *intervals, const struct same *same)
{
	struct gpumon_symbol_mapping again = *same->found;
	uint64_t time_ns = same->wanted->time_ns;

	again.again = true;
	if (time_ns < same->found->time_ns) {
		same->found->time_ns = time_ns;
		return same->again ? 0 : insert_item(intervals, &again);
	}
	if (same->again) {
		if (same->again->time_ns < time_ns)
			same->again->time_ns = time_ns;
		return 0;
	}
	again.time_ns = time_ns;
	return time_ns > same->found->time_ns ? insert_item(intervals, &again) : 0;
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
	if (same.found && !same.other)
		return see_again(&mappings->mapped, &same);
	if (mappings->mapped.count >= INTERVALS_MAX)
		return 0;
	return insert_item(&mappings->mapped, mapping);
}

int gpumon_symbol_mappings_remove(struct gpumon_symbol_mappings *mappings, uint64_t start,
				  uint64_t end, uint64_t time_ns)
{
	struct gpumon_symbol_mapping item = { .start = start, .end = end, .time_ns = time_ns };

	if (start >= end)
		return 0;
	if (mappings->unmapped.count >= INTERVALS_MAX)
		return 0;
	return insert_item(&mappings->unmapped, &item);
}

/* --- finding */

/*
 * The last item of a range that is not later than a time, NULL if all are, and the next mapping
 * after it. @place: the last item of the range, which is later.
 */
static const struct gpumon_symbol_mapping *
around_time(const struct gpumon_symbol_intervals *intervals, struct place place, uint64_t time_ns,
	    const struct gpumon_symbol_mapping **next)
{
	const struct gpumon_symbol_mapping *last = item_at(intervals, place), *before, *after;
	const struct gpumon_symbol_mapping key = { .start = last->start,
						   .end = last->end,
						   .time_ns = time_ns };

	before = find_last(intervals, &key, &place) ? item_at(intervals, place) : NULL;
	if (before) {
		after = step_on(intervals, &place);
	} else {
		place = (struct place){ 0 };
		after = item_at(intervals, place);
	}
	if (after->again)
		after = step_on(intervals, &place);
	*next = after && is_range(after, last) ? after : NULL;
	return before && is_range(before, last) ? before : NULL;
}

struct choice {
	uint64_t time_ns;
	const struct gpumon_symbol_mapping *before; /* last seen before or at @time_ns */
	const struct gpumon_symbol_mapping *after;  /* first seen after it */
};

static bool choose_mapping(void *data, const struct gpumon_symbol_intervals *intervals,
			   const struct place *last)
{
	const struct gpumon_symbol_mapping *before = item_at(intervals, *last), *after = NULL;
	struct choice *choice = data;

	if (before->time_ns > choice->time_ns)
		before = around_time(intervals, *last, choice->time_ns, &after);
	if (before && (!choice->before || before->time_ns > choice->before->time_ns))
		choice->before = before;
	if (after && (!choice->after || after->time_ns < choice->after->time_ns))
		choice->after = after;
	return true;
}

struct agreed {
	const struct gpumon_symbol_mapping *any;
	bool differ;
};

static bool agree(void *data, const struct gpumon_symbol_intervals *intervals,
		  const struct place *last)
{
	const struct gpumon_symbol_mapping *range = item_at(intervals, *last);
	struct place place = *last;
	struct agreed *agreed = data;

	for (const struct gpumon_symbol_mapping *item = range; item && is_range(item, range);
	     item = step_back(intervals, &place)) {
		if (agreed->any &&
		    (agreed->any->object != item->object ||
		     agreed->any->offset - agreed->any->start != item->offset - item->start)) {
			agreed->differ = true;
			return false;
		}
		agreed->any = item;
	}
	return true;
}

struct gone {
	uint64_t after_ns;
	uint64_t until_ns;
	bool gone;
};

static bool is_gone(void *data, const struct gpumon_symbol_intervals *intervals,
		    const struct place *last)
{
	const struct gpumon_symbol_mapping *item = item_at(intervals, *last), *next;
	struct gone *gone = data;

	if (item->time_ns > gone->until_ns)
		item = around_time(intervals, *last, gone->until_ns, &next);
	gone->gone = item && item->time_ns > gone->after_ns;
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
	struct agreed agreed = { 0 };

	if (address == UINT64_MAX)
		return NULL;
	if (!time_ns) {
		visit_all_over(&mappings->mapped, address, address + 1, agree, &agreed);
		return agreed.differ ? NULL : agreed.any;
	}
	visit_all_over(&mappings->mapped, address, address + 1, choose_mapping, &choice);
	if (choice.before && !unmapped_between(mappings, address, choice.before->time_ns, time_ns))
		return choice.before;
	if (choice.after && !unmapped_between(mappings, address, time_ns, choice.after->time_ns))
		return choice.after;
	return NULL;
}

static void free_intervals(struct gpumon_symbol_intervals *intervals)
{
	for (uint32_t i = 0; i < intervals->used; i++)
		free(intervals->blocks[i].items);
	free(intervals->blocks);
}

void gpumon_symbol_mappings_free(struct gpumon_symbol_mappings *mappings)
{
	free_intervals(&mappings->mapped);
	free_intervals(&mappings->unmapped);
	*mappings = (struct gpumon_symbol_mappings){ 0 };
}
