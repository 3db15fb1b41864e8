// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Maps and helpers, by many threads: in lock-step, and in any order. Nothing is lost but what is counted,
 * nothing is there twice, nothing is half written.
 */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "corpus_run.h"
#include "dice.h"
#include "gpuprog/object/map_memory.h"

static void test_counters(void **state)
{
	struct sample sample;
	uint32_t i;

	(void)state;
	EACH_RUN(sample, "counter", 300, NULL)
	{
		assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 3), 300);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	}
	EACH_RUN(sample, "lookup", 300, NULL)
	assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 3), 300);
	EACH_RUN(sample, "lookup_lane", 64, NULL)
	for (i = 0; i < corpus_maps[CORPUS_SM_ARRAY].max_entries; i++)
		assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, i),
				 i < 32 ? 2 * (1 + i % 2) : 0);
	EACH_RUN(sample, "thread_counter", 300, NULL)
	{
		for (i = 0; i < 256; i++)
			assert_int_equal(corpus_number(&sample, CORPUS_THREADS, i), 1);
		corpus_lost(&sample, GPUMON_GPUPROG_LOST_THREADS, 44);
	}
	EACH_RUN(sample, "word_counter", 96, NULL)
	{
		uint32_t value;

		for (i = 0; i < 16; i++) {
			gpumon_gpuprog_read_value(&corpus_maps[CORPUS_WORDS], 1,
						  sample.images[CORPUS_WORDS], i, &value);
			assert_int_equal(value, 3);
		}
		corpus_lost(&sample, GPUMON_GPUPROG_LOST_OUTSIDE, 48);
	}
	EACH_RUN(sample, "either_map", 96, NULL)
	{
		uint32_t value;

		gpumon_gpuprog_read_value(&corpus_maps[CORPUS_WORDS], 1,
					  sample.images[CORPUS_WORDS], 3, &value);
		assert_int_equal(value, 3 * 65);
		assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 1), 3);
		assert_int_equal(corpus_number(&sample, CORPUS_ARRAY, 2), 3 * 462);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	}
	EACH_RUN(sample, "either_value", 96, NULL)
	{
		assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 5), 48 * 7);
		assert_int_equal(corpus_number(&sample, CORPUS_ARRAY, 5), 48 * 7);
	}
	EACH_RUN(sample, "large_value", 64, NULL)
	{
		const char *large = (const char *)sample.images[CORPUS_LARGE] + 2 * 70008;
		uint64_t lanes[33];

		memcpy(lanes, large + CORPUS_LARGE_OFFSET, sizeof(lanes));
		for (i = 0; i < 33; i++)
			assert_int_equal(lanes[i], i < 32 ? 2 : 0);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	}
	EACH_RUN(sample, "leaves", 64, NULL)
	assert_int_equal(corpus_number(&sample, CORPUS_ARRAY, 0), 2);
}

/* Thread n ends after 2^n - 1 ns, and one of the last after none. */
static void set_times(struct ptx_lane *lane, uint32_t thread)
{
	lane->special[PTX_GLOBALTIMER] = 1ULL << 63;
	lane->special[PTX_KEPT] = (1ULL << 63) - ((1ULL << thread % 64) - 1);
	lane->special[PTX_KERNEL] = 7 + 64 * (thread >= 64);
}

static void test_histogram(void **state)
{
	uint64_t buckets[GPUMON_GPUPROG_BUCKETS];
	struct sample sample;
	uint32_t i;

	(void)state;
	EACH_RUN(sample, "exit_histogram", 70, set_times)
	{
		gpumon_gpuprog_read_value(&corpus_maps[CORPUS_HISTOGRAM], sample.target.shards,
					  sample.images[CORPUS_HISTOGRAM], 7, buckets);
		/* 0 and 1 are both in the first one. */
		assert_int_equal(buckets[0], 2);
		for (i = 1; i < 63; i++)
			assert_int_equal(buckets[i], 1);
		assert_int_equal(buckets[63], 0);
		corpus_lost(&sample, GPUMON_GPUPROG_LOST_OUTSIDE, 6);
	}
}

/* The keys of a hash of numbers, each once: @counts is set to its value. */
static uint32_t read_hash(const struct sample *sample, uint64_t *counts, uint32_t keys)
{
	const void *key, *value;
	uint64_t place = 0, k;
	uint32_t n = 0;
	bool *seen = calloc(keys, sizeof(*seen));

	while (gpumon_gpuprog_hash_next(&corpus_maps[CORPUS_HASH], sample->images[CORPUS_HASH],
					&place, &key, &value)) {
		memcpy(&k, key, sizeof(k));
		assert_true(k < keys);
		assert_false(seen[k]);
		seen[k] = true;
		memcpy(&counts[k], value, sizeof(*counts));
		n++;
	}
	free(seen);
	return n;
}

static void test_hash(void **state)
{
	uint64_t counts[512];
	struct sample sample;
	uint32_t i, n;

	(void)state;
	EACH_RUN(sample, "hash_count", 400, NULL)
	{
		assert_int_equal(read_hash(&sample, counts, 40), 40);
		for (i = 0; i < 40; i++)
			assert_int_equal(counts[i], 10);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	}
	EACH_RUN(sample, "hash_delete", 400, NULL)
	{
		memset(counts, 0xff, sizeof(counts));
		read_hash(&sample, counts, 40);
		for (i = 0; i < 40; i++)
			assert_true(counts[i] == UINT64_MAX || counts[i] % 40 == i);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
		/* Each slot is one of 40 keys'. */
		corpus_run(&sample, 40, 0, NULL);
		assert_int_equal(read_hash(&sample, counts, 40), 0);
	}
	EACH_RUN(sample, "hash_fill", 512, NULL)
	{
		n = read_hash(&sample, counts, 512);
		assert_in_range(n, 64, 128);
		corpus_lost(&sample, GPUMON_GPUPROG_LOST_HASH_FULL, 512 - n);
	}
}

static void test_long_keys(void **state)
{
	const void *key, *value;
	uint32_t words[5], n, i;
	struct sample sample;
	uint64_t place;
	bool seen[50];

	(void)state;
	EACH_RUN(sample, "long_hash", 200, NULL)
	{
		memset(seen, 0, sizeof(seen));
		for (n = 0, place = 0; gpumon_gpuprog_hash_next(&corpus_maps[CORPUS_LONG_HASH],
								sample.images[CORPUS_LONG_HASH],
								&place, &key, &value);
		     n++) {
			assert_memory_equal(key, value, 20);
			memcpy(words, key, sizeof(words));
			for (i = 0; i < 5; i++)
				assert_int_equal(words[i], words[0]);
			assert_false(seen[words[0]]);
			seen[words[0]] = true;
		}
		assert_int_equal(n, 50);
	}
}

/* What was drained of the ring, and how it is given back. */
struct drained {
	struct sample *sample;
	uint32_t n;
	bool seen[4096];
};

static void take_record(void *arg, const void *data, uint32_t size)
{
	struct drained *drained = arg;
	uint64_t record[2];

	assert_int_equal(size, sizeof(record));
	memcpy(record, data, sizeof(record));
	assert_true(record[0] < COUNT(drained->seen));
	assert_int_equal(record[1], 1000000000 + record[0]);
	assert_false(drained->seen[record[0]]);
	drained->seen[record[0]] = true;
	drained->n++;
}

static void clear_memory(void *arg, uint64_t offset, uint64_t size)
{
	struct drained *drained = arg;

	memset(drained->sample->images[CORPUS_RING] + offset, 0, size);
}

static void test_ring(void **state)
{
	const struct gpumon_gpuprog_map *ring = &corpus_maps[CORPUS_RING];
	struct gpumon_gpuprog_drain drain = { .record = take_record, .clear = clear_memory };
	struct drained *drained = calloc(1, sizeof(*drained));
	struct sample sample;
	uint32_t round;

	(void)state;
	drained->sample = &sample;
	drain.arg = drained;
	EACH_RUN(sample, "record", 1024, NULL)
	{
		/* 512 slots: all of them are taken, and the others are counted. */
		gpumon_gpuprog_drain_init(&drain, ring, sample.target.shards);
		drained->n = 0;
		memset(drained->seen, 0, sizeof(drained->seen));
		gpumon_gpuprog_ring_drain(&drain, ring, sample.target.shards,
					  sample.images[CORPUS_RING], false);
		assert_int_equal(drained->n, 0);
		gpumon_gpuprog_ring_drain(&drain, ring, sample.target.shards,
					  sample.images[CORPUS_RING], false);
		assert_int_equal(drained->n, 512);
		corpus_lost(&sample, GPUMON_GPUPROG_LOST_RING_FULL, 512);
		/* Each round fits. */
		sample.control.lost[GPUMON_GPUPROG_LOST_RING_FULL] = 0;
		for (round = 0; round < 6; round++) {
			uint32_t threads =
				1 + (uint32_t)(corpus_seed + 37 * order + 11 * round) % 90;

			memset(drained->seen, 0, sizeof(drained->seen));
			drained->n = 0;
			corpus_run(&sample, threads, order, NULL);
			gpumon_gpuprog_ring_drain(&drain, ring, sample.target.shards,
						  sample.images[CORPUS_RING], true);
			assert_int_equal(drained->n +
						 sample.control.lost[GPUMON_GPUPROG_LOST_RING_FULL],
					 threads);
			/* A group that is not full is kept: the next turn of the ring meets it. */
			if (round < 1)
				corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
			sample.control.lost[GPUMON_GPUPROG_LOST_RING_FULL] = 0;
		}
		gpumon_gpuprog_drain_clear(&drain);
	}
	free(drained);
}

struct watched {
	struct gpumon_gpuprog_drain drain;
	struct drained drained;
};

static void drain_now(void *arg)
{
	struct watched *watched = arg;
	const struct sample *sample = watched->drained.sample;

	gpumon_gpuprog_ring_drain(&watched->drain, &corpus_maps[CORPUS_RING], sample->target.shards,
				  sample->images[CORPUS_RING], true);
}

/* What is marked as written is complete at each time. */
static void test_ring_while_it_runs(void **state)
{
	struct watched *watched = calloc(1, sizeof(*watched));
	struct sample sample;

	(void)state;
	for (uint32_t target = 0; target < CORPUS_TARGETS; target++) {
		corpus_make(&sample, "record", &corpus_targets[target]);
		memset(watched, 0, sizeof(*watched));
		watched->drain = (struct gpumon_gpuprog_drain){ .record = take_record,
								.clear = clear_memory,
								.arg = &watched->drained };
		watched->drained.sample = &sample;
		gpumon_gpuprog_drain_init(&watched->drain, &corpus_maps[CORPUS_RING],
					  sample.target.shards);
		sample.machine.watch = drain_now;
		sample.machine.watcher = watched;
		corpus_run(&sample, 70, 3, NULL);
		assert_int_equal(watched->drained.n, 70);
		corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
		gpumon_gpuprog_drain_clear(&watched->drain);
		sample_clear(&sample);
	}
	free(watched);
}

static void count_record(void *arg, const void *data, uint32_t size)
{
	const uint8_t *bytes = data;

	assert_int_equal(size, 12);
	assert_int_equal(bytes[4], 7);
	++*(uint32_t *)arg;
}

static void no_clear(void *arg, uint64_t offset, uint64_t size)
{
	(void)arg;
	(void)offset;
	(void)size;
}

static void test_events(void **state)
{
	struct sample sample;
	uint32_t n;

	(void)state;
	EACH_RUN(sample, "event", 100, NULL)
	{
		struct gpumon_gpuprog_drain drain = { .record = count_record,
						      .clear = no_clear,
						      .arg = &n };

		n = 0;
		gpumon_gpuprog_drain_init(&drain, &corpus_maps[CORPUS_RING], sample.target.shards);
		gpumon_gpuprog_ring_drain(&drain, &corpus_maps[CORPUS_RING], sample.target.shards,
					  sample.images[CORPUS_RING], true);
		assert_int_equal(n, 100);
		gpumon_gpuprog_drain_clear(&drain);
	}
}

static void check_print(void *arg, const void *data, uint32_t size)
{
	uint32_t *n = arg;
	struct gpumon_gpuprog_print print;

	assert_int_equal(size, sizeof(print));
	memcpy(&print, data, sizeof(print));
	assert_int_equal(print.map, CORPUS_RODATA);
	assert_true(print.offset == 0 || print.offset == 17);
	if (print.offset == 0) {
		assert_true(print.arguments[0] < 32);
		assert_int_equal(print.arguments[1], 9);
	} else {
		assert_int_equal(print.arguments[0], 0);
	}
	n[print.offset == 0]++;
}

static void test_print(void **state)
{
	struct sample sample;
	uint32_t n[2];

	(void)state;
	EACH_RUN(sample, "print", 40, NULL)
	{
		struct gpumon_gpuprog_drain drain = { .record = check_print,
						      .clear = no_clear,
						      .arg = n };

		n[0] = n[1] = 0;
		assert_true(gpumon_gpuprog_prints(&sample.program));
		gpumon_gpuprog_drain_init(&drain, &gpumon_gpuprog_print_map, sample.target.shards);
		gpumon_gpuprog_ring_drain(&drain, &gpumon_gpuprog_print_map, sample.target.shards,
					  sample.print, true);
		assert_int_equal(n[0], 40);
		assert_int_equal(n[1], 40);
		gpumon_gpuprog_drain_clear(&drain);
	}
}

static void at_lane_20(struct ptx_lane *lane, uint32_t thread)
{
	(void)thread;
	lane->special[PTX_LANEID] = 20;
}

static void test_array_update(void **state)
{
	struct sample sample;

	(void)state;
	EACH_RUN(sample, "array_update", 1, NULL)
	{
		assert_int_equal(corpus_number(&sample, CORPUS_ARRAY, 0), 77);
		assert_int_equal(corpus_shown(&sample, 0), 0);
		corpus_run(&sample, 1, order, at_lane_20);
		assert_int_equal(corpus_shown(&sample, 0), -7);
	}
}

static void test_fuel(void **state)
{
	struct sample sample;

	(void)state;
	corpus_make(&sample, "counting_loop", &corpus_targets[0]);
	sample.images[CORPUS_BSS][0] = 200;
	corpus_run(&sample, 32, 0, NULL);
	assert_int_equal(corpus_shown(&sample, 8), 200);
	corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	/* 1000 jumps back are the turns 2 to 1001. */
	memcpy(sample.images[CORPUS_BSS], &(uint64_t){ 1001 }, 8);
	corpus_run(&sample, 32, 0, NULL);
	assert_int_equal(corpus_shown(&sample, 8), 1001);
	corpus_lost(&sample, GPUMON_GPUPROG_LOSS_CAUSES, 0);
	memcpy(sample.images[CORPUS_BSS], &(uint64_t){ 1002 }, 8);
	corpus_run(&sample, 32, 5, NULL);
	assert_int_equal(corpus_shown(&sample, 8), 1001);
	corpus_lost(&sample, GPUMON_GPUPROG_LOST_FUEL, 32);
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),     cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_hash),	     cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_ring),	     cmocka_unit_test(test_ring_while_it_runs),
		cmocka_unit_test(test_events),	     cmocka_unit_test(test_print),
		cmocka_unit_test(test_array_update), cmocka_unit_test(test_fuel),
	};

	corpus_seed = dice_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
