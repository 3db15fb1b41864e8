// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Random results: what is shown is compared with sums that are made here another way, and memory of any
 * content is shown without harm.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/result/result.h"
#include "sample.h"

#define TURNS	     60
#define HOSTILE	     10 /* of each tool */
#define MOST_ENTRIES 50
#define MOST_WORDS   4

static uint64_t seed;

/* splitmix64 */
static uint64_t dice(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
	return dice() % n;
}

/* Sums by index and word of what was put in, of all GPUs and SMs. */
struct sums {
	uint64_t words[MOST_ENTRIES][GPUMON_GPUPROG_BUCKETS];
	bool used[MOST_ENTRIES];
	uint32_t n;
};

static void fill(struct sample *sample, uint32_t map, uint32_t words, struct sums *sums)
{
	uint32_t entries = sample->maps[map].max_entries;

	memset(sums, 0, sizeof(*sums));
	for (uint64_t i = below(200); i-- > 0;) {
		uint32_t device = (uint32_t)below(sample->result.devices_n);
		uint32_t shard = (uint32_t)below(sample->devices[device].shards);
		uint64_t index = below(entries), amount = 1 + below(1000);
		uint32_t word = (uint32_t)below(words);

		sample_add(sample, device, map, shard, index, word, amount);
		sums->words[index][word] += amount;
		sums->n += !sums->used[index];
		sums->used[index] = true;
	}
}

static void check_array(struct json_object *rows, const struct sums *sums, uint32_t words)
{
	char key[16];

	assert_int_equal(json_object_array_length(rows), sums->n);
	for (size_t row = 0; row < sums->n; row++) {
		uint64_t index = row_number(rows, row, "index");

		assert_true(sums->used[index]);
		for (uint32_t word = 0; word < words; word++) {
			snprintf(key, sizeof(key), words > 1 ? "u64[%u]" : "sums", word);
			assert_int_equal(row_number(rows, row, key), sums->words[index][word]);
		}
	}
}

static void check_histogram(struct json_object *rows, const struct sums *sums)
{
	uint64_t all = 0, shown = 0, index, from;

	for (uint32_t i = 0; i < MOST_ENTRIES; i++)
		for (uint32_t bucket = 0; bucket < GPUMON_GPUPROG_BUCKETS; bucket++)
			all += sums->words[i][bucket];
	for (size_t row = 0; row < json_object_array_length(rows); row++) {
		index = row_number(rows, row, "index");
		from = row_number(rows, row, "from");
		shown += row_number(rows, row, "count");
		assert_int_equal(row_number(rows, row, "count"),
				 sums->words[index][from ? __builtin_ctzll(from) : 0]);
	}
	assert_int_equal(shown, all);
}

static void sums_are_right(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint32_t words = 1 + (uint32_t)below(MOST_WORDS);
		uint32_t entries = 1 + (uint32_t)below(MOST_ENTRIES);
		struct sums sums, counts;
		struct json_object *document;
		struct sample sample;

		sample_init(&sample);
		sample_map(&sample, "sums", GPUMON_GPUPROG_MAP_SM_ARRAY, 4, words * 8, entries);
		sample_map(&sample, "counts", GPUMON_GPUPROG_MAP_HISTOGRAM, 4, 512, entries);
		for (uint64_t i = 1 + below(SAMPLE_DEVICES); i-- > 0;)
			sample_device(&sample, 1u << below(6));
		fill(&sample, 0, words, &sums);
		fill(&sample, 1, GPUMON_GPUPROG_BUCKETS, &counts);
		document = sample_json(&sample);
		check_array(sample_rows(document, "sums"), &sums, words);
		check_histogram(sample_rows(document, "counts"), &counts);
		sample_clear(&sample);
	}
}

/* Keys of several GPUs are rows of their own, deleted ones none. */
static void hashes_are_whole(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint64_t values[SAMPLE_DEVICES][MOST_ENTRIES] = { { 0 } }, n = 0, key;
		struct json_object *document, *rows;
		struct sample sample;
		char gpu[16];

		sample_init(&sample);
		sample_map(&sample, "keys", GPUMON_GPUPROG_MAP_HASH, 8, 8, MOST_ENTRIES);
		sample_device(&sample, 8);
		sample_device(&sample, 8);
		for (uint64_t i = below(80); i-- > 0;) {
			uint32_t device = (uint32_t)below(2);
			uint64_t *value;

			key = below(MOST_ENTRIES);
			value = sample_put(&sample, device, 0, &key);
			n += !values[device][key];
			*value = values[device][key] = 1 + below(1000);
			if (below(4))
				continue;
			sample_delete(&sample, device, 0, &key);
			values[device][key] = 0;
			n--;
		}
		document = sample_json(&sample);
		rows = sample_rows(document, "keys");
		assert_int_equal(json_object_array_length(rows), n);
		for (size_t row = 0; row < n; row++) {
			uint32_t device = row_text(rows, row, "gpu")[4] - '0';

			snprintf(gpu, sizeof(gpu), "GPU %u", device);
			assert_string_equal(row_text(rows, row, "gpu"), gpu);
			assert_int_equal(row_number(rows, row, "keys"),
					 values[device][row_number(rows, row, "key")]);
		}
		sample_clear(&sample);
	}
}

/* The largest power of two that so many values reach, found by looking at each. */
static void reached_is_exact(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < 20 * TURNS; turn++) {
		uint64_t values[MOST_ENTRIES], n = below(MOST_ENTRIES), reached = 0, expected = 0;
		uint32_t percent = 1 + (uint32_t)below(100);
		struct gpumon_gpuprog_buckets buckets = { 0 };
		uint64_t found, above, from;

		for (uint64_t i = 0; i < n; i++) {
			values[i] = dice() >> below(64);
			gpumon_gpuprog_buckets_add(&buckets, values[i]);
		}
		for (int power = -1; power < 64; power++) {
			from = power < 1 ? 0 : 1ULL << power;
			above = 0;
			for (uint64_t i = 0; i < n; i++)
				above += values[i] >= from;
			if (n && above * 100 >= n * percent) {
				expected = from;
				reached = above;
			}
		}
		assert_int_equal(gpumon_gpuprog_buckets_reached(&buckets, percent, &found),
				 expected);
		assert_int_equal(found, reached);
	}
}

/* The newest records, whatever the room. */
static void records_are_the_newest(void **state)
{
	static const struct gpumon_gpuprog_map map = { .kind = GPUMON_GPUPROG_MAP_RING,
						       .value_size = 12 };

	(void)state;
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint64_t room = 1 + below(3000), n = below(5000), kept, data[2] = { 0 };
		struct gpumon_gpuprog_records records;
		struct gpumon_gpuprog_record record;

		gpumon_gpuprog_records_init(&records, &map, room * 24);
		for (uint64_t i = 0; i < n; i++) {
			data[0] = i;
			gpumon_gpuprog_records_add(&records, (uint32_t)(i % 3), data,
						   i % 2 ? 12 : 100);
		}
		kept = gpumon_gpuprog_records_kept(&records);
		assert_int_equal(records.added, n);
		assert_int_equal(kept, n < room ? n : room);
		for (uint64_t i = 0; i < kept; i++) {
			record = gpumon_gpuprog_records_at(&records, i);
			assert_int_equal(*(const uint64_t *)record.data, n - kept + i);
			assert_int_equal(record.device, (n - kept + i) % 3);
		}
		gpumon_gpuprog_records_clear(&records);
	}
}

static void scramble(uint8_t *bytes, uint64_t size)
{
	uint64_t word;

	for (uint64_t i = 0; i + 8 <= size; i += 8) {
		word = below(3) ? 0 : dice() >> below(64);
		memcpy(bytes + i, &word, sizeof(word));
	}
}

/*
 * A program under test can write over the maps: no content of them does harm, and the document can
 * always be read.
 */
static void any_memory_can_be_shown(void **state)
{
	static const char *const tools[] = { "kernelretsnoop", "threadhist", "launchlate",
					     "memtrace", "directly-run" };

	(void)state;
	for (uint32_t turn = 0; turn < HOSTILE * COUNT(tools); turn++) {
		struct json_object *document;
		struct sample sample;
		uint64_t record[3];

		sample_init_tool(&sample, tools[turn % COUNT(tools)]);
		for (uint32_t i = 0; i < sample.object.maps_n; i++)
			if (sample.maps[i].max_entries > 4096 &&
			    sample.maps[i].kind != GPUMON_GPUPROG_MAP_RING)
				sample.maps[i].max_entries = 4096;
		sample_device(&sample, 2);
		if (below(2))
			sample_kernel(&sample, "_Z1fv", GPUMON_GPUPROG_WAY_PTX);
		sample.devices[0].clock = (struct gpumon_gpuprog_clock){
			.known = below(2), .offset_ns = (int64_t)dice(), .error_ns = dice()
		};
		for (uint32_t i = 0; i < sample.object.maps_n; i++) {
			if (sample.images[0][i])
				scramble(sample.images[0][i],
					 gpumon_gpuprog_map_bytes(&sample.maps[i], 2));
			for (uint32_t n = 0;
			     sample.maps[i].kind == GPUMON_GPUPROG_MAP_RING && n < 9; n++) {
				scramble((uint8_t *)record, sizeof(record));
				sample_record(&sample, (uint32_t)below(2), i, record,
					      (uint32_t)below(sizeof(record) + 1));
			}
		}
		for (uint32_t i = 0; i < 6; i++)
			sample_launch(&sample, (uint32_t)below(2), (uint32_t)below(3), dice());
		sample_print(&sample, true);
		document = sample_json(&sample);
		sample_rows(document, "lost");
		sample_clear(&sample);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_right),	   cmocka_unit_test(hashes_are_whole),
		cmocka_unit_test(reached_is_exact),	   cmocka_unit_test(records_are_the_newest),
		cmocka_unit_test(any_memory_can_be_shown),
	};
	const char *given = getenv("SEED");

	seed = given ? strtoull(given, NULL, 0) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
