// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "capture_lane.h"

void lane_open(struct lane *lane, uint32_t blocks)
{
	lane->directory = capture_maker_directory();
	assert_int_equal(gpumon_capture_create(lane->directory, "x", &lane->writer), 0);
	assert_int_equal(gpumon_capture_add_file(lane->writer, "process-1-1", &lane->file), 0);
	assert_int_equal(gpumon_channel_create(blocks, &lane->reader), 0);
	assert_int_equal(gpumon_channel_map(&lane->map, gpumon_channel_descriptor(lane->reader)),
			 0);
}

void lane_close(struct lane *lane)
{
	gpumon_channel_unmap(&lane->map);
	gpumon_channel_free(lane->reader);
	capture_maker_remove(lane->directory);
}

uint32_t lane_record(unsigned char *to, uint32_t tid, uint64_t number)
{
	struct gpumon_record_string *record = (void *)to;
	uint64_t random = number * 1000003 + tid;
	uint32_t words = (uint32_t)(test_random(&random) % 24);

	if (test_random(&random) % 512 == 0)
		words += 1000;
	record->head.type = GPUMON_RECORD_STRING;
	record->head.flags = 0;
	record->head.size = (uint32_t)sizeof(*record) + 8 + 8 * words;
	record->id = tid;
	record->length = 8 + 8 * words;
	memcpy(record->text, &number, 8);
	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = test_random(&random);

		memcpy(record->text + 8 + 8 * (size_t)i, &word, 8);
	}
	return record->head.size;
}

struct lane_result lane_read(struct lane *lane, bool gapless)
{
	struct lane_result result = { 0 };
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	unsigned char expected[LANE_RECORD_MAX];

	gpumon_channel_finish(lane->reader, lane->file);
	assert_int_equal(gpumon_capture_close(lane->writer), 0);
	assert_int_equal(gpumon_capture_open(lane->directory, &capture), 0);
	while ((record = gpumon_capture_next(capture, &cursor))) {
		const struct gpumon_record_string *string = (const void *)record;
		const struct gpumon_record_loss *loss = (const void *)record;
		uint64_t number;

		assert_int_equal(result.totals.head.size, 0); /* totals are the last record */
		switch (record->type) {
		case GPUMON_RECORD_LOSS:
			assert_true(loss->cause < GPUMON_LOSS_CAUSES);
			result.lost[loss->cause] += loss->count;
			continue;
		case GPUMON_RECORD_TOTALS:
			gpumon_record_copy(&result.totals, sizeof(result.totals), record);
			continue;
		case GPUMON_RECORD_STRING:
			break;
		default:
			result.other++;
			continue;
		}
		memcpy(&number, string->text, 8);
		assert_true(cursor.tid < LANE_THREADS);
		assert_int_equal(lane_record(expected, cursor.tid, number), record->size);
		assert_memory_equal(record, expected, record->size);
		if (gapless)
			assert_int_equal(number, result.last[cursor.tid] + 1);
		assert_true(number > result.last[cursor.tid]);
		result.last[cursor.tid] = number;
		result.read[cursor.tid]++;
		result.records++;
	}
	assert_int_equal(gpumon_capture_damage(capture)->broken_records, 0);
	assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 0);
	assert_int_equal(gpumon_capture_damage(capture)->missing_chunks, 0);
	assert_int_equal(gpumon_capture_damage(capture)->truncated_bytes, 0);
	gpumon_capture_free(capture);
	return result;
}

void *lane_thread(void *data)
{
	struct lane_thread *thread = data;
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];

	gpumon_channel_writer_begin(&writer, thread->map, thread->tid);
	for (uint64_t i = 1; i <= thread->records; i++) {
		uint32_t size = lane_record(record, thread->tid, i);

		if (i % 2) {
			if (gpumon_channel_write(&writer, record))
				thread->written++;
			else
				thread->refused++;
		} else {
			void *room = gpumon_channel_reserve(&writer, size);

			if (room) {
				memcpy(room, record, size);
				gpumon_channel_commit(&writer, size);
				thread->written++;
			} else {
				gpumon_channel_lose(thread->map, gpumon_channel_why(&writer, size),
						    1);
				thread->refused++;
			}
		}
		if (thread->end_every && i % thread->end_every == 0)
			gpumon_channel_writer_end(&writer);
	}
	gpumon_channel_writer_end(&writer);
	return NULL;
}
