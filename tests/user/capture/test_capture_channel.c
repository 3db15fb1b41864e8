// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The channel between a target and its recorder: every written record is either read or counted as
 * lost, and each thread's records stay in order, whichever side is slow.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_lane.h"

static void one_thread(void **state)
{
	struct lane lane;
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	struct lane_result result;

	(void)state;
	lane_open(&lane, 4);
	gpumon_channel_writer_begin(&writer, &lane.map, 3);
	assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
	for (uint64_t i = 1; i <= 5000; i++) {
		lane_record(record, 3, i);
		assert_true(gpumon_channel_write(&writer, record));
		/* It can be read at once, in a block that is not full yet. */
		if (i % 7 == 0)
			assert_true(gpumon_channel_drain(lane.reader, lane.file) > 0);
	}
	gpumon_channel_writer_end(&writer);
	lane.map.channel->launches = 11;
	lane.map.channel->captured = 12;
	lane.map.channel->kernels = 13;
	lane.map.channel->copies = 14;
	lane.map.channel->sets = 15;
	lane.map.channel->device_bytes = 16;
	result = lane_read(&lane, true);
	assert_int_equal(result.read[3], 5000);
	assert_int_equal(gpumon_channel_account(lane.reader)->records, 5000);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 0);
	assert_int_equal(result.totals.launches, 11);
	assert_int_equal(result.totals.captured, 12);
	assert_int_equal(result.totals.kernels, 13);
	assert_int_equal(result.totals.copies, 14);
	assert_int_equal(result.totals.sets, 15);
	assert_int_equal(result.totals.device_bytes, 16);
	assert_true(result.totals.time_ns > 0);
	/* Everything is free again: three times as much as fits could not be written otherwise. */
	gpumon_channel_drain(lane.reader, NULL);
	assert_int_equal(gpumon_channel_account(lane.reader)->busy, 0);
	lane_close(&lane);
}

static void many_threads(uint32_t blocks, uint64_t records, unsigned int pause_us,
			 unsigned int end_every, bool losses)
{
	struct lane_thread threads[LANE_THREADS] = { 0 };
	struct lane lane;
	struct lane_result result;
	uint64_t refused = 0;
	bool running = true;

	lane_open(&lane, blocks);
	for (uint32_t i = 0; i < LANE_THREADS; i++) {
		threads[i] = (struct lane_thread){
			.map = &lane.map, .tid = i, .records = records, .end_every = end_every
		};
		pthread_create(&threads[i].thread, NULL, lane_thread, &threads[i]);
	}
	while (running) {
		running = false;
		gpumon_channel_drain(lane.reader, lane.file);
		if (pause_us)
			usleep(pause_us);
		for (uint32_t i = 0; i < LANE_THREADS; i++) {
			if (threads[i].thread && pthread_tryjoin_np(threads[i].thread, NULL) == 0)
				threads[i].thread = 0;
			running = running || threads[i].thread;
		}
	}
	result = lane_read(&lane, false);
	for (uint32_t i = 0; i < LANE_THREADS; i++) {
		assert_int_equal(threads[i].written + threads[i].refused, records);
		assert_int_equal(result.read[i], threads[i].written);
		refused += threads[i].refused;
	}
	assert_int_equal(result.lost[GPUMON_LOSS_CHANNEL_FULL], refused);
	assert_int_equal(gpumon_channel_account(lane.reader)->lost[GPUMON_LOSS_CHANNEL_FULL],
			 refused);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 0);
	assert_true(gpumon_channel_account(lane.reader)->busy_max <= blocks);
	/*
	 * With enough room nothing may be lost, and with too little something must be. In between
	 * it depends on the machine.
	 */
	if (losses)
		assert_true(refused > 0 && refused < LANE_THREADS * records);
	else if (blocks >= LANE_THREADS * records * 200 / GPUMON_BLOCK_SIZE)
		assert_int_equal(refused, 0);
	lane_close(&lane);
}

static void threads_and_a_slow_reader(void **state)
{
	(void)state;
	many_threads(LANE_THREADS + 4, 20000, 10000, 0, true);
}

static void threads_and_too_few_blocks(void **state)
{
	(void)state;
	many_threads(LANE_THREADS / 2, 20000, 2000, 0, true);
}

static void threads_and_room_for_all(void **state)
{
	(void)state;
	many_threads(600, 20000, 100, 0, false);
}

static void threads_that_end(void **state)
{
	(void)state;
	many_threads(LANE_THREADS * 6, 40000, 0, 3, false);
}

/* A block that was freed and taken again is empty until something is written. */
static void a_block_that_is_used_again(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	struct lane_result result;
	struct lane lane;

	(void)state;
	lane_open(&lane, 1);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	for (uint64_t i = 1; i <= 30; i += 3) {
		void *room;
		uint32_t size;

		for (uint64_t j = i; j < i + 2; j++) {
			lane_record(record, 1, j);
			assert_true(gpumon_channel_write(&writer, record));
		}
		gpumon_channel_writer_end(&writer);
		assert_true(gpumon_channel_drain(lane.reader, lane.file) > 0);
		size = lane_record(record, 1, i + 2);
		room = gpumon_channel_reserve(&writer, size);
		assert_non_null(room);
		assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
		memcpy(room, record, size);
		assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
		gpumon_channel_commit(&writer, size);
	}
	result = lane_read(&lane, true);
	assert_int_equal(result.read[1], 30);
	lane_close(&lane);
}

static void records_of_any_size(void **state)
{
	struct gpumon_record *record = calloc(1, 1 << 17);
	struct gpumon_channel_writer writer;
	struct lane_result result;
	struct lane lane;

	(void)state;
	lane_open(&lane, 4);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	record->type = GPUMON_RECORD_KERNEL;
	record->size = GPUMON_CHANNEL_RECORD_MAX;
	assert_true(gpumon_channel_write(&writer, record));
	assert_true(gpumon_channel_write(&writer, record));
	record->size = GPUMON_CHANNEL_RECORD_MAX + 8;
	assert_false(gpumon_channel_write(&writer, record));
	assert_null(gpumon_channel_reserve(&writer, 1 << 17));
	record->size = 8;
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, false);
	assert_int_equal(result.other, 3);
	assert_int_equal(result.lost[GPUMON_LOSS_TOO_LONG], 1);
	free(record);
	lane_close(&lane);
}

/* The recorder stops draining: writers continue, count losses, and write again when it resumes. */
static void a_recorder_that_stopped(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	uint64_t wrote = 0;
	struct lane_result result;
	struct lane lane;

	(void)state;
	lane_open(&lane, 2);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	for (uint64_t i = 1; i <= 100000; i++) {
		lane_record(record, 1, i);
		wrote += gpumon_channel_write(&writer, record);
	}
	assert_true(wrote < 100000);
	gpumon_channel_drain(lane.reader, lane.file);
	lane_record(record, 1, 100001);
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, false);
	assert_int_equal(result.read[1], wrote + 1);
	assert_int_equal(result.last[1], 100001);
	assert_int_equal(result.lost[GPUMON_LOSS_CHANNEL_FULL], 100000 - wrote);
	lane_close(&lane);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(threads_and_a_slow_reader),
		cmocka_unit_test(threads_and_too_few_blocks),
		cmocka_unit_test(threads_and_room_for_all),
		cmocka_unit_test(threads_that_end),
		cmocka_unit_test(a_block_that_is_used_again),
		cmocka_unit_test(records_of_any_size),
		cmocka_unit_test(a_recorder_that_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
