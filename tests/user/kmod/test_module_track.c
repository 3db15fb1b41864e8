// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The module's tables of objects under way, kmod/core/track.c and table.c, against a model: what has
 * begun is found until it ends, in whichever part of a table that grows it is.
 */
#include "shim/nofault.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <linux/atomic.h>

/* In place of core/gpumon.h and core/memory.h, which are the kernel's. */
#define GPUMON_H
#define GPUMON_MEMORY_H
#define GPUMON_NONE			    (~0U)
#define NUMA_NO_NODE			    (-1)
#define noinline			    __attribute__((noinline))
#define kzalloc(size, flags)		    calloc(1, size)
#define gpumon_memory_ask()		    ((void)__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED))
#define gpumon_memory_held(memory, bytes)   ((memory) ? (size_t)(bytes) : 0)
#define gpumon_memory_zalloc(n, size, node) calloc(n, size)

static unsigned int asked;

#include "core/table.c"
#include "core/track.c"

/* A table of each kind: one part, and four times as much as the first part has. */
#define ONE_PART 512
#define PARTS	 4096

/* What an entry holds here. */
struct object {
	u64 key;
	u64 number;
};
GPUMON_TRACKED_TYPE(struct object);

/* Objects of one size have such addresses. */
static u64 key_of(u32 object)
{
	return 0xffff888012345000 + 448 * (u64)object;
}

static void none_counted_beyond_the_first_part(const struct gpumon_track *track)
{
	if (!track->more)
		return;
	for (u32 i = 0; i < spilled_length(track); i++)
		assert_int_equal(atomic_read(&track->more->spilled[i]), 0);
}

static u32 parts(const struct gpumon_track *track)
{
	u32 count = 0;

	for (; track; track = track->more)
		count++;
	return count;
}

static u32 keys(const struct gpumon_track *track)
{
	u32 count = 0;

	for (; track; track = track->more)
		count += gpumon_table_used(&track->table);
	return count;
}

static struct object *begin(struct gpumon_track *track, u64 *number_of, u32 object, u64 number)
{
	bool known;
	struct object *entry = gpumon_track_begin(track, key_of(object), &known);

	if (!entry) {
		assert_int_equal(number_of[object], 0);
		return NULL;
	}
	/* The entry of the object whose end was not seen, with all that was in it. */
	assert_int_equal(known, number_of[object] != 0);
	if (known) {
		assert_int_equal(entry->key, key_of(object));
		assert_int_equal(entry->number, number_of[object]);
	}
	entry->key = key_of(object);
	entry->number = number_of[object] = number;
	return entry;
}

#define OPERATIONS 60000

/* Of so many objects, each begins and ends at random, some without an end that is seen. */
static void as_the_model(u32 capacity, u32 objects, u32 wanted_parts)
{
	struct gpumon_track track = { .capacity = capacity };
	u64 *number_of = calloc(objects, sizeof(*number_of));
	u32 refused = 0, live = 0;
	struct object *entry;

	assert_non_null(number_of);
	assert_int_equal(gpumon_track_init(&track), 0);
	for (u64 number = 1; number <= OPERATIONS; number++) {
		const u32 object = (u32)rand() % objects;

		if (number % 256 == 0)
			gpumon_track_supply(&track);
		entry = gpumon_track_find(&track, key_of(object));
		assert_int_equal(entry != NULL, number_of[object] != 0);
		if (entry)
			assert_int_equal(entry->number, number_of[object]);
		if (!entry || rand() % 16 == 0) {
			live += !number_of[object];
			if (!begin(&track, number_of, object, number)) {
				refused++;
				live--;
			}
		} else if (rand() % 2 && gpumon_track_take(&track, entry, key_of(object))) {
			/* The slot is neither free nor found until the end. */
			assert_null(gpumon_track_find(&track, key_of(object)));
			assert_false(gpumon_track_take(&track, entry, key_of(object)));
			gpumon_track_end(&track, entry);
			number_of[object] = 0;
			live--;
		} else {
			gpumon_track_end(&track, entry);
			number_of[object] = 0;
			live--;
		}
	}
	assert_int_equal(keys(&track), live);
	assert_int_equal(parts(&track), wanted_parts);
	/* Hardly one finds all its places taken. */
	assert_true(objects > capacity || refused < OPERATIONS / 100);
	for (u32 object = 0; object < objects; object++) {
		entry = gpumon_track_find(&track, key_of(object));
		assert_int_equal(entry != NULL, number_of[object] != 0);
		if (entry)
			gpumon_track_end(&track, entry);
	}
	assert_int_equal(keys(&track), 0);
	none_counted_beyond_the_first_part(&track);
	gpumon_track_clear(&track);
	assert_int_equal(parts(&track), 1);
	gpumon_track_exit(&track);
	free(number_of);
}

static void what_has_begun_is_found_until_it_ends(void **state)
{
	(void)state;
	srand(1);
	as_the_model(ONE_PART, ONE_PART, 1);
	as_the_model(ONE_PART, 4 * ONE_PART, 1);
	as_the_model(PARTS, PARTS / 16, 1);
	as_the_model(PARTS, PARTS / 3, 2);
	as_the_model(PARTS, PARTS, 3);
	as_the_model(PARTS, 4 * PARTS, 3);
}

static void a_part_is_asked_for_before_the_first_is_full(void **state)
{
	struct gpumon_track track = { .capacity = PARTS };
	u64 *number_of = calloc(PARTS, sizeof(*number_of));
	u32 object;

	(void)state;
	assert_non_null(number_of);
	assert_int_equal(gpumon_track_init(&track), 0);
	asked = 0;
	for (object = 0; !asked; object++) {
		assert_true(object < first_capacity(&track));
		assert_non_null(begin(&track, number_of, object, 1));
	}
	assert_true(object > first_capacity(&track) / 16);
	gpumon_track_exit(&track);
	free(number_of);
}

#define THREADS 4

struct worker {
	struct gpumon_track *track;
	u32 first;
	u32 objects;
	u32 seed;
	u32 lost;
	u32 *running;
	pthread_t thread;
};

/* Begins and ends objects that no other thread has; the slots are everybody's. */
static void *begin_and_end(void *argument)
{
	struct worker *worker = argument;
	struct gpumon_track *track = worker->track;
	u64 *number_of = calloc(worker->objects, sizeof(*number_of));
	struct object *entry;
	bool known;

	for (u64 number = 1; number <= OPERATIONS; number++) {
		const u32 object = (u32)rand_r(&worker->seed) % worker->objects;
		const u64 key = key_of(worker->first + object);

		entry = gpumon_track_find(track, key);
		if (!!entry != !!number_of[object] || (entry && entry->number != number_of[object]))
			worker->lost++;
		if (entry && rand_r(&worker->seed) % 8) {
			number_of[object] = 0;
			gpumon_track_end(track, entry);
			continue;
		}
		entry = gpumon_track_begin(track, key, &known);
		if (!entry)
			continue;
		if (known != !!number_of[object])
			worker->lost++;
		entry->key = key;
		entry->number = number_of[object] = number;
	}
	for (u32 object = 0; object < worker->objects; object++) {
		entry = gpumon_track_find(track, key_of(worker->first + object));
		if (!!entry != !!number_of[object])
			worker->lost++;
		if (entry)
			gpumon_track_end(track, entry);
	}
	free(number_of);
	__atomic_fetch_sub(worker->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void threads_do_not_lose_each_others_objects(void **state)
{
	struct gpumon_track track = { .capacity = PARTS };
	struct worker workers[THREADS];
	u32 running = THREADS;

	(void)state;
	assert_int_equal(gpumon_track_init(&track), 0);
	for (u32 i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .track = &track,
					      .first = i * PARTS / THREADS,
					      .objects = PARTS / THREADS,
					      .seed = i,
					      .running = &running };
		assert_int_equal(
			pthread_create(&workers[i].thread, NULL, begin_and_end, &workers[i]), 0);
	}
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		gpumon_track_supply(&track);
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].lost, 0);
	}
	assert_int_equal(keys(&track), 0);
	none_counted_beyond_the_first_part(&track);
	gpumon_track_exit(&track);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_begun_is_found_until_it_ends),
		cmocka_unit_test(a_part_is_asked_for_before_the_first_is_full),
		cmocka_unit_test(threads_do_not_lose_each_others_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
