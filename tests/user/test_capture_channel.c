// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The channel between a target and its recorder: what was written is what was read and what was
 * lost, whoever is slow, interrupted, killed or hostile.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/channel_reader.h"
#include "capture/channel_writer.h"
#include "capture_maker.h"
#include "common.h"

#define THREADS 8

/* A channel and the file that it is emptied into. */
struct lane {
	char *directory;
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
};

static void lane_open(struct lane *lane, uint32_t blocks)
{
	lane->directory = capture_maker_directory();
	assert_int_equal(gpumon_capture_create(lane->directory, "x", &lane->writer), 0);
	assert_int_equal(gpumon_capture_add_file(lane->writer, "process-1-1", &lane->file), 0);
	assert_int_equal(gpumon_channel_create(blocks, &lane->reader), 0);
	assert_int_equal(gpumon_channel_map(&lane->map, gpumon_channel_descriptor(lane->reader)),
			 0);
}

static void lane_close(struct lane *lane)
{
	gpumon_channel_unmap(&lane->map);
	gpumon_channel_free(lane->reader);
	capture_maker_remove(lane->directory);
}

/* A string record whose contents and length follow from thread and number: torn ones are seen. */
static uint32_t make_payload(unsigned char *to, uint32_t tid, uint64_t number)
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

/* What came out at the other end. */
struct result {
	uint64_t read[THREADS];
	uint64_t last[THREADS];
	uint64_t records;
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint64_t other;
	struct gpumon_record_totals totals;
};

/* End the capture and look at all of it. With @gapless, each thread's numbers have no gap. */
static struct result lane_read(struct lane *lane, bool gapless)
{
	struct result result = { 0 };
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	unsigned char expected[16384];

	gpumon_channel_finish(lane->reader, lane->file);
	assert_int_equal(gpumon_capture_close(lane->writer), 0);
	assert_int_equal(gpumon_capture_open(lane->directory, &capture), 0);
	while ((record = gpumon_capture_next(capture, &cursor))) {
		const struct gpumon_record_string *string = (const void *)record;
		const struct gpumon_record_loss *loss = (const void *)record;
		uint64_t number;

		assert_int_equal(result.totals.head.size, 0); /* they are the last one */
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
		assert_true(cursor.tid < THREADS);
		assert_int_equal(make_payload(expected, cursor.tid, number), record->size);
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

static void one_thread(void **state)
{
	struct lane lane;
	struct gpumon_channel_writer writer;
	unsigned char record[16384];
	struct result result;

	(void)state;
	lane_open(&lane, 4);
	gpumon_channel_writer_begin(&writer, &lane.map, 3);
	assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
	for (uint64_t i = 1; i <= 5000; i++) {
		make_payload(record, 3, i);
		assert_true(gpumon_channel_write(&writer, record));
		/* It can be read right after, in a block that is not full yet. */
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
	/* Everything of it is free again: three times as much as there is room would not be. */
	gpumon_channel_drain(lane.reader, NULL);
	assert_int_equal(gpumon_channel_account(lane.reader)->busy, 0);
	lane_close(&lane);
}

struct thread {
	struct gpumon_channel_map *map;
	uint32_t tid;
	uint64_t records;
	uint64_t written;
	uint64_t refused;
	unsigned int end_every; /* give the block back now and then, as a thread that ends */
	pthread_t thread;
};

static void *write_records(void *data)
{
	struct thread *thread = data;
	struct gpumon_channel_writer writer;
	unsigned char record[16384];

	gpumon_channel_writer_begin(&writer, thread->map, thread->tid);
	for (uint64_t i = 1; i <= thread->records; i++) {
		uint32_t size = make_payload(record, thread->tid, i);

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

static void many_threads(uint32_t blocks, uint64_t records, unsigned int pause_us,
			 unsigned int end_every, bool losses)
{
	struct thread threads[THREADS] = { 0 };
	struct lane lane;
	struct result result;
	uint64_t refused = 0;
	bool running = true;

	lane_open(&lane, blocks);
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){
			.map = &lane.map, .tid = i, .records = records, .end_every = end_every
		};
		pthread_create(&threads[i].thread, NULL, write_records, &threads[i]);
	}
	while (running) {
		running = false;
		gpumon_channel_drain(lane.reader, lane.file);
		if (pause_us)
			usleep(pause_us);
		for (uint32_t i = 0; i < THREADS; i++) {
			if (threads[i].thread && pthread_tryjoin_np(threads[i].thread, NULL) == 0)
				threads[i].thread = 0;
			running = running || threads[i].thread;
		}
	}
	result = lane_read(&lane, false);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(threads[i].written + threads[i].refused, records);
		assert_int_equal(result.read[i], threads[i].written);
		refused += threads[i].refused;
	}
	assert_int_equal(result.lost[GPUMON_LOSS_CHANNEL_FULL], refused);
	assert_int_equal(gpumon_channel_account(lane.reader)->lost[GPUMON_LOSS_CHANNEL_FULL],
			 refused);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 0);
	assert_true(gpumon_channel_account(lane.reader)->busy_max <= blocks);
	/* With room for all, none is; without, some have to be; else it depends on the machine. */
	if (losses)
		assert_true(refused > 0 && refused < THREADS * records);
	else if (blocks >= THREADS * records * 200 / GPUMON_BLOCK_SIZE)
		assert_int_equal(refused, 0);
	lane_close(&lane);
}

static void threads_and_a_slow_reader(void **state)
{
	(void)state;
	many_threads(THREADS + 4, 20000, 10000, 0, true);
}

static void threads_and_too_few_blocks(void **state)
{
	(void)state;
	many_threads(THREADS / 2, 20000, 2000, 0, true);
}

static void threads_and_room_for_all(void **state)
{
	(void)state;
	many_threads(600, 20000, 100, 0, false);
}

static void threads_that_end(void **state)
{
	(void)state;
	many_threads(THREADS * 6, 20000, 0, 50, false);
}

/* Killed at any moment: all that was there is read, nothing is torn. */
static void a_target_that_is_killed(void **state)
{
	uint64_t total = 0;

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		struct lane lane;
		uint64_t random = round;
		pid_t child;

		lane_open(&lane, 64);
		child = fork();
		if (child == 0) {
			struct thread threads[4];
			struct gpumon_channel_map map;

			/* As a target does it: mapped in its own process. */
			if (gpumon_channel_map(&map, gpumon_channel_descriptor(lane.reader)))
				_exit(1);
			for (uint32_t i = 0; i < 4; i++) {
				threads[i] = (struct thread){ .map = &map,
							      .tid = i,
							      .records = UINT64_MAX };
				pthread_create(&threads[i].thread, NULL, write_records,
					       &threads[i]);
			}
			pause();
		}
		for (unsigned int i = 0; i < 3; i++) {
			usleep((useconds_t)(test_random(&random) % 4000));
			gpumon_channel_drain(lane.reader, lane.file);
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		total += lane_read(&lane, false).records;
		assert_int_equal(gpumon_channel_account(lane.reader)->broken, 0);
		lane_close(&lane);
	}
	assert_true(total > 1000);
}

static struct gpumon_channel_writer interrupted_writer;
static volatile sig_atomic_t handler_wrote, handler_refused;

/* A signal handler that launches something, amid whatever the thread was at. */
static void handler(int signal)
{
	unsigned char record[16384];
	static uint64_t number = 1000000000;

	(void)signal;
	number++;
	make_payload(record, 2, number);
	if (gpumon_channel_write(&interrupted_writer, record))
		handler_wrote++;
	else
		handler_refused++;
}

static void signals_amid_a_record(void **state)
{
	struct itimerval timer = { .it_interval.tv_usec = 50, .it_value.tv_usec = 50 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction old;
	unsigned char record[16384];
	struct result result;
	struct lane lane;
	uint64_t wrote = 0, refused = 0;
	uint32_t size;

	(void)state;
	handler_wrote = 0;
	handler_refused = 0;
	lane_open(&lane, 512);
	gpumon_channel_writer_begin(&interrupted_writer, &lane.map, 2);
	sigaction(SIGPROF, &action, &old);
	setitimer(ITIMER_PROF, &timer, NULL);
	for (uint64_t i = 1; handler_wrote + handler_refused < 200 && i < 50000000; i++) {
		void *room;

		/* Its number has to stay below the next one's. */
		size = make_payload(record, 2, 1);
		room = gpumon_channel_reserve(&interrupted_writer, size);
		if (room) {
			memset(room, 0xee, size);
			/* Nothing of it: the room is given up. */
			gpumon_channel_commit(&interrupted_writer, 0);
			wrote++;
		} else {
			refused++;
		}
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_PROF, &timer, NULL);
	/* One that comes amid for certain. */
	assert_non_null(gpumon_channel_reserve(&interrupted_writer, 16));
	size = (uint32_t)handler_refused;
	raise(SIGPROF);
	assert_int_equal(handler_refused, size + 1);
	gpumon_channel_commit(&interrupted_writer, 0);
	sigaction(SIGPROF, &old, NULL);
	result = lane_read(&lane, false);
	assert_int_equal(refused, 0);
	assert_true(wrote > 0);
	assert_int_equal(result.read[2], handler_wrote);
	assert_int_equal(result.lost[GPUMON_LOSS_INTERRUPTED], handler_refused);
	lane_close(&lane);
}

/* A child without exec has the parent's blocks, and would write over what the parent writes. */
static void a_forked_child_is_inert(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[16384];
	struct result result;
	struct lane lane;
	pid_t child;
	int status;

	(void)state;
	lane_open(&lane, 8);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	make_payload(record, 1, 1);
	assert_true(gpumon_channel_write(&writer, record));
	child = fork();
	if (child == 0) {
		struct gpumon_channel_writer other;
		bool wrote;

		make_payload(record, 1, 77);
		wrote = gpumon_channel_write(&writer, record);
		gpumon_channel_writer_end(&writer);
		gpumon_channel_writer_begin(&other, &lane.map, 1);
		wrote = gpumon_channel_write(&other, record) || wrote;
		gpumon_channel_lose(&lane.map, GPUMON_LOSS_WITHHELD, 5);
		_exit(wrote);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	make_payload(record, 1, 2);
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, true);
	assert_int_equal(result.read[1], 2);
	for (unsigned int i = 0; i < GPUMON_LOSS_CAUSES; i++)
		assert_int_equal(result.lost[i], 0);
	lane_close(&lane);
}

static void records_of_any_size(void **state)
{
	struct gpumon_record *record = calloc(1, 1 << 17);
	struct gpumon_channel_writer writer;
	struct result result;
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

/* Nobody empties it any more: writers go on, count, and write again when somebody does. */
static void a_recorder_that_stopped(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[16384];
	uint64_t wrote = 0;
	struct result result;
	struct lane lane;

	(void)state;
	lane_open(&lane, 2);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	for (uint64_t i = 1; i <= 100000; i++) {
		make_payload(record, 1, i);
		wrote += gpumon_channel_write(&writer, record);
	}
	assert_true(wrote < 100000);
	gpumon_channel_drain(lane.reader, lane.file);
	make_payload(record, 1, 100001);
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, false);
	assert_int_equal(result.read[1], wrote + 1);
	assert_int_equal(result.last[1], 100001);
	assert_int_equal(result.lost[GPUMON_LOSS_CHANNEL_FULL], 100000 - wrote);
	lane_close(&lane);
}

static void what_is_no_channel(void **state)
{
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
	struct gpumon_channel *channel;
	int fd = memfd_create("x", MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(gpumon_channel_map(&map, -1), -EBADF);
	assert_int_equal(ftruncate(fd, 4 * GPUMON_BLOCK_SIZE), 0);
	assert_int_equal(gpumon_channel_map(&map, fd), -EPERM);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(gpumon_channel_map(&map, fd), -EPROTO);
	close(fd);

	assert_int_equal(gpumon_channel_create(0, &reader), -1);
	assert_int_equal(gpumon_channel_create(GPUMON_CHANNEL_BLOCKS_MAX + 1, &reader), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "blocks"));
	assert_int_equal(gpumon_channel_create(2, &reader), 0);
	fd = gpumon_channel_descriptor(reader);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(gpumon_channel_map(&map, fd), 0);
	channel = map.channel;
	assert_int_equal(channel->command, GPUMON_CHANNEL_RUN);
	gpumon_channel_set_command(reader, GPUMON_CHANNEL_STOP);
	assert_int_equal(channel->command, GPUMON_CHANNEL_STOP);
	assert_false(gpumon_channel_stopped(reader));
	channel->stopped = 1;
	assert_true(gpumon_channel_stopped(reader));
	channel->blocks = 3;
	{
		struct gpumon_channel_map other;

		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
		channel->blocks = 0;
		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
		channel->blocks = 2;
		channel->version++;
		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
	}
	gpumon_channel_unmap(&map);
	gpumon_channel_free(reader);
}

static volatile bool scribbling;

/* A target that has lost its mind, or has one of its own. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *data)
{
	struct gpumon_channel_map *map = data;
	uint64_t random = 99;
	uint64_t *words = (uint64_t *)map->channel;

	while (scribbling) {
		uint64_t value = test_random(&random);
		size_t block = 1 + test_random(&random) % map->blocks;
		size_t at = block * GPUMON_BLOCK_SIZE / 8;
		volatile uint32_t *head = (volatile uint32_t *)(words + at);

		switch (value % 6) {
		case 0:
			head[0] = (uint32_t)(value >> 32) % 4;
			break;
		case 1:
			head[1] = (uint32_t)(value >> 32) % (GPUMON_BLOCK_SIZE + 16);
			break;
		case 2:
			words[at + 2] = value;
			break;
		case 3:
			((volatile uint64_t *)
				 words)[value / 6 % (sizeof(struct gpumon_channel) / 8)] = value;
			break;
		case 4: {
			/* Something like a record. */
			size_t place = at + 8 + value / 6 % 8000;

			((volatile uint64_t *)words)[place] = (value / 48000 % 90) |
							      (value >> 40 & 0x1ff8) << 32;
			break;
		}
		default:
			((volatile uint64_t *)words)[at + 8 + value / 6 % 8000] = value;
		}
	}
	return NULL;
}

static void a_hostile_target(void **state)
{
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;
	struct lane lane;
	pthread_t thread;
	uint64_t n = 0;

	(void)state;
	lane_open(&lane, 16);
	scribbling = true;
	pthread_create(&thread, NULL, scribble, &lane.map);
	alarm(100);
	for (unsigned int i = 0; i < 2000; i++)
		gpumon_channel_drain(lane.reader, lane.file);
	gpumon_channel_finish(lane.reader, lane.file);
	scribbling = false;
	pthread_join(thread, NULL);
	assert_int_equal(gpumon_capture_close(lane.writer), 0);
	/* What got into the capture can be read by anybody. */
	assert_int_equal(gpumon_capture_open(lane.directory, &capture), 0);
	while (gpumon_capture_next(capture, &cursor))
		n++;
	alarm(0);
	assert_true(n > 0);
	assert_true(gpumon_channel_account(lane.reader)->broken > 0);
	assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 0);
	assert_int_equal(gpumon_capture_damage(capture)->broken_records, 0);
	assert_int_equal(gpumon_capture_damage(capture)->missing_chunks, 0);
	gpumon_capture_free(capture);
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
		cmocka_unit_test(a_target_that_is_killed),
		cmocka_unit_test(signals_amid_a_record),
		cmocka_unit_test(a_forked_child_is_inert),
		cmocka_unit_test(records_of_any_size),
		cmocka_unit_test(a_recorder_that_stopped),
		cmocka_unit_test(what_is_no_channel),
		cmocka_unit_test(a_hostile_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
