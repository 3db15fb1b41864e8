// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Contexts that have ended are added up. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpuprog/server/memory.h"

#define ENTRIES	 65536
#define CONTEXTS 4
#define CONTENT	 7

static void end_context(struct gpumon_gpuprog_contexts *contexts)
{
	int fd, number = gpumon_gpuprog_contexts_add(contexts, "GPU 0", 0, &fd);

	assert_true(number >= 0);
	close(fd);
	gpumon_gpuprog_contexts_ended(contexts, (uint32_t)number);
}

/* The memory of a shared array is the kernel's. What contexts have in its place is nothing. */
static void shared_arrays_are_not_added(void **state)
{
	static const uint64_t content = CONTENT;
	static const uint64_t memory = CONTENT + 1;
	struct gpumon_gpuprog_map map = { .name = "shared",
					  .kind = GPUMON_GPUPROG_MAP_ARRAY,
					  .key_size = 4,
					  .value_size = 8,
					  .max_entries = 1,
					  .data = (const uint8_t *)&content };
	const struct gpumon_gpuprog_object object = { .maps = &map, .maps_n = 1 };
	static struct gpumon_gpuprog_contexts contexts;
	struct gpumon_gpuprog_layout layout;
	struct gpumon_error err;
	uint64_t sum = 0, value;

	(void)state;
	assert_int_equal(gpumon_gpuprog_layout_make(&object, 1, 0, 1, &layout, &err), 0);
	gpumon_gpuprog_contexts_init(&contexts, &object, &layout);
	for (int i = 0; i < GPUMON_GPUPROG_ENDED_CONTEXTS + 4; i++)
		end_context(&contexts);
	assert_true(contexts.sum >= 0);
	gpumon_gpuprog_contexts_share(&contexts, 0, &memory);
	for (uint32_t i = 0; i < contexts.contexts_n; i++) {
		if (!contexts.contexts[i].images)
			continue;
		memcpy(&value, contexts.contexts[i].images[0], sizeof(value));
		sum += value;
	}
	assert_int_equal(sum, memory);
	gpumon_gpuprog_contexts_clear(&contexts);
	gpumon_gpuprog_layout_clear(&layout);
}

/* Keys from @first on in all slots of a hash. */
static void fill_hash(const struct gpumon_gpuprog_map *map, uint64_t *memory, uint64_t first)
{
	struct gpumon_gpuprog_hash hash = gpumon_gpuprog_hash_layout(map);

	for (uint64_t i = 0; i < hash.slots; i++) {
		uint64_t *slot = memory + i * hash.slot_bytes / sizeof(*memory);

		slot[0] = GPUMON_GPUPROG_SLOT_READY;
		slot[hash.key / sizeof(*slot)] = first + i;
		slot[hash.value / sizeof(*slot)] = 1;
	}
}

static uint64_t sum_hash(const struct gpumon_gpuprog_map *map, const void *memory)
{
	uint64_t place = 0, sum = 0, number;
	const void *key, *value;

	while (gpumon_gpuprog_hash_next(map, memory, &place, &key, &value)) {
		memcpy(&number, value, sizeof(number));
		sum += number;
	}
	return sum;
}

/*
 * A sum that is full takes the values of its keys, and counts the other keys. Looking at all slots for each
 * of these would take minutes.
 */
static void full_hashes_count_what_is_left_out(void **state)
{
	struct gpumon_gpuprog_map map = { .name = "full",
					  .kind = GPUMON_GPUPROG_MAP_HASH,
					  .key_size = 8,
					  .value_size = 8,
					  .max_entries = ENTRIES };
	const struct gpumon_gpuprog_object object = { .maps = &map, .maps_n = 1 };
	uint64_t slots = gpumon_gpuprog_hash_layout(&map).slots, place;
	struct gpumon_gpuprog_control control;
	struct gpumon_gpuprog_layout layout;
	struct gpumon_error err;
	uint8_t *to, *from;

	(void)state;
	assert_int_equal(gpumon_gpuprog_layout_make(&object, 1, 0, 0, &layout, &err), 0);
	to = calloc(1, layout.settings.bytes);
	from = calloc(1, layout.settings.bytes);
	assert_true(to && from);
	place = layout.settings.places[1];
	for (uint64_t i = 0; i < CONTEXTS; i++) {
		fill_hash(&map, (uint64_t *)(from + place), i * slots);
		gpumon_gpuprog_add_up(&object, &layout, to, from);
	}
	memcpy(&control, to + layout.settings.places[0], sizeof(control));
	assert_int_equal(sum_hash(&map, to + place) + control.lost[GPUMON_GPUPROG_LOST_HASH_FULL],
			 CONTEXTS * slots);
	/* Nearly all slots are used. */
	assert_true(sum_hash(&map, to + place) > slots - slots / 8);
	free(to);
	free(from);
	gpumon_gpuprog_layout_clear(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_arrays_are_not_added),
		cmocka_unit_test(full_hashes_count_what_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
