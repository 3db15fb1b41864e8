// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads the ranges of the API's code while they change, like the BPF program: ranges that stay are
 * found at every moment.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "record/uprobe_internal.h"
#include "record/uprobe_program.h"

#define CHANGES 1000000

static const struct uprobe_range stays = { 1000, 2000, 1 }, comes = { 3000, 4000, 2 };

/* In .bss, as in the BPF program. */
static struct uprobe_ranges tables[2];
static uint32_t now;

/* As look_up_range() in bpf/uprobe.bpf.c. */
static uint64_t file_of(uint64_t pc)
{
	const struct uprobe_ranges *table = &tables[__atomic_load_n(&now, __ATOMIC_ACQUIRE)];
	uint64_t count = __atomic_load_n(&table->count, __ATOMIC_RELAXED);

	for (uint64_t i = 0; i < count; i++) {
		const struct uprobe_range *range = &table->all[i];

		if (pc >= __atomic_load_n(&range->start, __ATOMIC_RELAXED) &&
		    pc < __atomic_load_n(&range->end, __ATOMIC_RELAXED))
			return __atomic_load_n(&range->file, __ATOMIC_RELAXED);
	}
	return 0;
}

struct reader {
	pthread_t thread;
	unsigned long looked;
	unsigned long missed;
	bool stop;
};

static void *look(void *data)
{
	struct reader *reader = data;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
		unsigned long looked = reader->looked + 1;

		reader->missed += file_of(1500) != 1;
		__atomic_store_n(&reader->looked, looked, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void what_stays_is_always_found(void **state)
{
	const struct uprobe_range both[] = { stays, comes };
	struct reader reader = {};

	(void)state;
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, both, 1));
	assert_int_equal(pthread_create(&reader.thread, NULL, look, &reader), 0);
	/* On a single CPU, too: continue until the reader has run long enough. */
	for (unsigned int i = 0;
	     i < CHANGES || __atomic_load_n(&reader.looked, __ATOMIC_RELAXED) < CHANGES; i++)
		gpumon_uprobe_ranges_replace(tables, &now, both, 1 + i % 2);
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.missed, 0);
}

static void what_changes_holds(void **state)
{
	const struct uprobe_range both[] = { stays, comes };
	uint32_t before;

	(void)state;
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, both, 2));
	assert_int_equal(file_of(1000), 1);
	assert_int_equal(file_of(1999), 1);
	assert_int_equal(file_of(2000), 0);
	assert_int_equal(file_of(3999), 2);
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, both + 1, 1));
	assert_int_equal(file_of(1500), 0);
	assert_int_equal(file_of(3500), 2);
	before = now;
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, both + 1, 1));
	assert_int_equal(now, before);
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, both, 0));
	assert_int_equal(file_of(3500), 0);
}

static void what_has_no_room_is_left_out(void **state)
{
	struct uprobe_range many[UPROBE_RANGES + 1];

	(void)state;
	for (uint64_t i = 0; i <= UPROBE_RANGES; i++)
		many[i] = (struct uprobe_range){ 10 * i, 10 * i + 10, i + 1 };
	assert_true(gpumon_uprobe_ranges_replace(tables, &now, many, UPROBE_RANGES));
	assert_false(gpumon_uprobe_ranges_replace(tables, &now, many, UPROBE_RANGES + 1));
	assert_int_equal(file_of(0), 1);
	assert_int_equal(file_of(10 * UPROBE_RANGES - 1), UPROBE_RANGES);
	assert_int_equal(file_of(10 * UPROBE_RANGES), 0);
}

/* There are never enough places. */
bool __wrap_gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
					 const struct uprobe_range *ranges, unsigned int count);
bool __wrap_gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
					 const struct uprobe_range *ranges, unsigned int count)
{
	(void)program;
	(void)ranges;
	(void)count;
	return false;
}

static void count_notes(void *data, uint32_t tid, const struct gpumon_record *record)
{
	unsigned int *notes = data;

	(void)tid;
	*notes += record->type == GPUMON_RECORD_NOTE;
}

static void too_many_are_told_once(void **state)
{
	unsigned int notes = 0;
	struct gpumon_uprobes uprobes = { .root = "", .tap = count_notes, .tap_data = &notes };
	struct gpumon_error err;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(gpumon_uprobes_probe(&uprobes, &err), 0);
	assert_int_equal(notes, 1);
	gpumon_intern_clear(&uprobes.strings);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_is_always_found),
		cmocka_unit_test(what_changes_holds),
		cmocka_unit_test(what_has_no_room_is_left_out),
		cmocka_unit_test(too_many_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
