// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Finds the mapping of an address at a time. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "capture/symbol_mappings.h"

/* Objects are only compared here. */
#define A ((struct gpumon_symbol_object *)0x1000)
#define B ((struct gpumon_symbol_object *)0x2000)
#define C ((struct gpumon_symbol_object *)0x3000)

static void add(struct gpumon_symbol_mappings *mappings, uint64_t start, uint64_t end,
		uint64_t offset, uint64_t time_ns, struct gpumon_symbol_object *object)
{
	struct gpumon_symbol_mapping mapping = {
		.start = start,
		.end = end,
		.offset = offset,
		.time_ns = time_ns,
		.object = object,
	};

	assert_int_equal(gpumon_symbol_mappings_add(mappings, &mapping), 0);
}

static struct gpumon_symbol_object *find(const struct gpumon_symbol_mappings *mappings,
					 uint64_t address, uint64_t time_ns)
{
	const struct gpumon_symbol_mapping *mapping =
		gpumon_symbol_mappings_find(mappings, address, time_ns);

	return mapping ? mapping->object : NULL;
}

static void ends(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	assert_null(find(&m, 100, 1));
	add(&m, 100, 200, 0, 1, A);
	add(&m, 200, 300, 0, 1, B);
	assert_null(find(&m, 99, 1));
	assert_ptr_equal(find(&m, 100, 1), A);
	assert_ptr_equal(find(&m, 199, 1), A);
	assert_ptr_equal(find(&m, 200, 1), B);
	assert_ptr_equal(find(&m, 299, 1), B);
	assert_null(find(&m, 300, 1));
	/* An empty range, or one in reverse. */
	add(&m, 400, 400, 0, 1, C);
	add(&m, 500, 450, 0, 1, C);
	assert_int_equal(m.mapped.count, 2);
	/* Up to the last possible address. */
	add(&m, UINT64_MAX - 10, UINT64_MAX, 0, 1, C);
	assert_ptr_equal(find(&m, UINT64_MAX - 1, 1), C);
	assert_null(find(&m, UINT64_MAX, 1));
	gpumon_symbol_mappings_free(&m);
}

static void one_after_the_other(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	add(&m, 100, 200, 0, 10, A);
	gpumon_symbol_mappings_remove(&m, 100, 200, 20);
	add(&m, 150, 250, 0, 30, B);
	gpumon_symbol_mappings_remove(&m, 0, 1000, 40);

	assert_ptr_equal(find(&m, 160, 10), A);
	assert_ptr_equal(find(&m, 160, 19), A);
	/* It was unmapped. The next mapping may have existed before it was seen. */
	assert_ptr_equal(find(&m, 160, 20), B);
	assert_ptr_equal(find(&m, 160, 25), B);
	assert_ptr_equal(find(&m, 160, 39), B);
	assert_null(find(&m, 160, 40));
	assert_null(find(&m, 110, 25));
	/* Before anything was seen. */
	assert_ptr_equal(find(&m, 160, 5), A);
	assert_ptr_equal(find(&m, 210, 5), B);
	gpumon_symbol_mappings_free(&m);
}

/* An unmapping in between means that there was another mapping, which was not seen. */
static void not_seen(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	gpumon_symbol_mappings_remove(&m, 100, 200, 20);
	add(&m, 100, 200, 0, 30, A);
	assert_null(find(&m, 150, 10));
	assert_ptr_equal(find(&m, 150, 25), A);
	gpumon_symbol_mappings_free(&m);
}

/* mmap() over a mapping removes it without a record. */
static void over_another(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	add(&m, 100, 400, 0, 10, A);
	add(&m, 200, 300, 0, 20, B);
	assert_ptr_equal(find(&m, 250, 15), A);
	assert_ptr_equal(find(&m, 250, 20), B);
	assert_ptr_equal(find(&m, 350, 20), A);
	/* Its tail is unmapped. */
	gpumon_symbol_mappings_remove(&m, 350, 400, 30);
	assert_ptr_equal(find(&m, 349, 30), A);
	assert_null(find(&m, 350, 30));
	gpumon_symbol_mappings_free(&m);
}

static void without_a_time(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	add(&m, 100, 200, 0, 10, A);
	assert_ptr_equal(find(&m, 150, 0), A);
	/* The same offset of the same file in another mapping. */
	gpumon_symbol_mappings_remove(&m, 100, 200, 20);
	add(&m, 140, 200, 40, 30, A);
	assert_ptr_equal(find(&m, 150, 0), A);
	add(&m, 140, 200, 50, 40, A);
	assert_null(find(&m, 150, 0));
	assert_ptr_equal(find(&m, 120, 0), A);
	gpumon_symbol_mappings_free(&m);
}

/* Reporting all mappings again and again takes no more memory. There is another one in between. */
static void told_again(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	for (uint64_t time = 1000; time > 0; time--)
		add(&m, 100, 200, 0, time, A);
	assert_int_equal(m.mapped.count, 1);
	assert_ptr_equal(find(&m, 150, 1), A);
	gpumon_symbol_mappings_remove(&m, 100, 200, 1500);
	add(&m, 100, 200, 0, 1600, B);
	gpumon_symbol_mappings_remove(&m, 100, 200, 1700);
	add(&m, 100, 200, 0, 1800, A);
	assert_ptr_equal(find(&m, 150, 1499), A);
	assert_ptr_equal(find(&m, 150, 1650), B);
	assert_ptr_equal(find(&m, 150, 1800), A);
	gpumon_symbol_mappings_free(&m);
}

/*
 * The rule without any ordering: the mapping last seen before that time that was not unmapped
 * since, or otherwise the next one seen that was not unmapped before.
 */
struct event {
	uint64_t start, end, time;
	struct gpumon_symbol_object *object; /* NULL: unmapped */
};

static bool gone(const struct event *events, size_t count, uint64_t address, uint64_t after,
		 uint64_t until)
{
	for (size_t i = 0; i < count; i++) {
		if (!events[i].object && events[i].start <= address && address < events[i].end &&
		    events[i].time > after && events[i].time <= until)
			return true;
	}
	return false;
}

static struct gpumon_symbol_object *expected(const struct event *events, size_t count,
					     uint64_t address, uint64_t time)
{
	const struct event *before = NULL, *after = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		if (!e->object || e->start > address || e->end <= address)
			continue;
		if (e->time <= time && (!before || e->time > before->time))
			before = e;
		if (e->time > time && (!after || e->time < after->time))
			after = e;
	}
	if (before && !gone(events, count, address, before->time, time))
		return before->object;
	if (after && !gone(events, count, address, time, after->time))
		return after->object;
	return NULL;
}

static void any_order(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct gpumon_symbol_mappings m = { 0 };
		struct event events[24];

		/*
		 * Times are unique, since the result is undefined for equal ones. Each object has
		 * its own address.
		 */
		for (size_t i = 0; i < 24; i++) {
			uint64_t start = test_random(&seed) % 64;

			events[i] = (struct event){
				start,
				start + 1 + test_random(&seed) % 32,
				0,
				NULL,
			};
			events[i].time = (i * 7 + (uint64_t)round) % 24 + 1;
			if (test_random(&seed) % 3)
				events[i].object =
					(struct gpumon_symbol_object *)(0x1000 * (i + 1));
			if (events[i].object)
				add(&m, events[i].start, events[i].end, 0, events[i].time,
				    events[i].object);
			else
				gpumon_symbol_mappings_remove(&m, events[i].start, events[i].end,
							      events[i].time);
		}
		for (uint64_t address = 0; address < 100; address++) {
			for (uint64_t time = 1; time < 27; time++)
				assert_ptr_equal(find(&m, address, time),
						 expected(events, 24, address, time));
		}
		gpumon_symbol_mappings_free(&m);
	}
}

/* A plug-in that is loaded and unloaded at one place again and again, among many other files. */
static void many_in_turn(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };
	const uint64_t turns = 5000;

	(void)state;
	for (uint64_t i = 0; i < turns; i++) {
		/* Any order, and each once. */
		uint64_t turn = i * 1237 % turns, time = 10 * turn + 10;

		add(&m, 100, 200, 0, time, turn % 2 ? A : B);
		gpumon_symbol_mappings_remove(&m, 100, 200, time + 5);
		add(&m, 1000 + 8 * (turns - i), 1004 + 8 * (turns - i), 0, 1, C);
	}
	assert_int_equal(m.mapped.count, 2 * turns);
	for (uint64_t turn = 0; turn < turns; turn++) {
		assert_ptr_equal(find(&m, 150, 10 * turn + 14), turn % 2 ? A : B);
		assert_ptr_equal(find(&m, 1011 + 8 * turn, 1), C);
		assert_null(find(&m, 1012 + 8 * turn, 1));
	}
	assert_null(find(&m, 150, 10 * turns + 5));
	gpumon_symbol_mappings_free(&m);
}

/* A broken or hostile capture: bounded, and earlier results stay. */
static void too_many(void **state)
{
	struct gpumon_symbol_mappings m = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 300000; i++) {
		add(&m, i * 16, i * 16 + 16, 0, 1, A);
		gpumon_symbol_mappings_remove(&m, i * 16, i * 16 + 16, 2);
	}
	assert_true(m.mapped.count < 300000);
	assert_int_equal(m.unmapped.count, m.mapped.count);
	assert_ptr_equal(find(&m, 100, 1), A);
	gpumon_symbol_mappings_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),		  cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(not_seen),	  cmocka_unit_test(over_another),
		cmocka_unit_test(without_a_time), cmocka_unit_test(told_again),
		cmocka_unit_test(any_order),	  cmocka_unit_test(many_in_turn),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
